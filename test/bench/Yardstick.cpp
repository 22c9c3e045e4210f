//===- Yardstick.cpp - Decode attention over ggml blocks, by hand ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What compiled kernels are measured against (`python -m kvq_mlir bench cpu`):
// attention of a query token, with a causal cache of ggml's q8_0 or q4_0 blocks
// on both sides, written in AVX2 for head_dim 128 and up to four query heads a
// KV head. It is compiled with clang -O3 -march=native.
//
// The query heads of a KV head share one reading of its rows. A query is
// rounded to i16, one scale for each head, so that a block of keys costs two
// vpmaddwd a head; scores are in the log2 domain, a tile of 64 tokens at a
// time. Values are widened to f32 once for all heads, and the accumulators of a
// few channels stay in registers over the tile. Work items are pairs of a
// sequence and a KV head, on as many threads as asked for.
//
//===----------------------------------------------------------------------===//

#include <cstdint>

namespace {

/// Rows of one side: those of token t of a sequence and KV head begin at
/// `sequence * sequenceStride + head * headStride + t * tokenStride` bytes.
struct Side {
  const char *rows;
  int64_t sequenceStride, headStride, tokenStride;
};

constexpr int kHeadDim = 128;
/// Elements of a block.
constexpr int kBlock = 32;
constexpr int kBlocks = kHeadDim / kBlock;
constexpr int kTileTokens = 64;
/// Query heads that are worked on together.
constexpr int kMostHeads = 4;

} // namespace

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include <algorithm>
#include <cmath>
#include <immintrin.h>
#include <limits>

namespace {

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// 32 codes of 8 bits.
struct Q8 {
  uint16_t scale; // f16
  int8_t codes[kBlock];

  /// Codes 16 * half to 16 * half + 15, as bytes.
  __m128i load(int half) const {
    return _mm_loadu_si128(
        reinterpret_cast<const __m128i *>(codes + 16 * half));
  }
};

/// 32 codes of 4 bits, stored with 8 added: elements 0 to 15 in the low halves
/// of the bytes, 16 to 31 in the high ones.
struct Q4 {
  uint16_t scale; // f16
  uint8_t pairs[kBlock / 2];

  __m128i load(int half) const {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(pairs));
    if (half == 1)
      bytes = _mm_srli_epi16(bytes, 4);
    bytes = _mm_and_si128(bytes, _mm_set1_epi8(15));
    return _mm_sub_epi8(bytes, _mm_set1_epi8(8));
  }
};

static_assert(sizeof(Q8) == 34 && sizeof(Q4) == 18, "ggml's blocks");

/// The scale in all lanes.
inline __m256 broadcastScale(uint16_t scale) {
  return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(scale)));
}

inline __m256 toFloats(__m128i bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// 2^x for x of at most 0, within 2e-7 of it; 0 from 2^-126 down.
inline __m256 exp2(__m256 x) {
  x = _mm256_max_ps(x, _mm256_set1_ps(-127.f));
  __m256 whole =
      _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 rest = _mm256_sub_ps(x, whole); // within half of 0
  constexpr float kTaylor[] = {1.5403530e-4f,
                               1.3333558e-3f,
                               9.6181291e-3f,
                               5.5504109e-2f,
                               2.4022651e-1f,
                               6.9314718e-1f,
                               1.f};
  __m256 power = _mm256_set1_ps(kTaylor[0]);
  for (int i = 1; i < 7; ++i)
    power = _mm256_fmadd_ps(power, rest, _mm256_set1_ps(kTaylor[i]));
  // 2^-127 has exponent bits of 0: it is the +0 that is wanted.
  __m256i exponent = _mm256_slli_epi32(
      _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(power, _mm256_castsi256_ps(exponent));
}

inline float sumLanes(__m256 x) {
  __m128 sum =
      _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

//===----------------------------------------------------------------------===//
// One KV head
//===----------------------------------------------------------------------===//

/// Attention of `Heads` query heads over one KV head.
template <typename Block, int Heads> class HeadAttention {
public:
  HeadAttention(const float *query, float scale) {
    for (int h = 0; h < Heads; ++h)
      roundQuery(h, query + h * kHeadDim, scale * 1.44269504f /* log2(e) */);
  }

  void run(const char *keys, int64_t keyStride, const char *values,
           int64_t valueStride, int64_t tokens);
  void store(float *out) const;

private:
  void roundQuery(int head, const float *query, float factor);
  void computeScores(const char *keys, int64_t stride, int count);
  void updateMaximum(int count);
  void computeProbabilities(int count);
  void weigh(const char *values, int64_t stride, int count);
  void accumulate(const char *values, int64_t stride, int count);

  /// Vectors of an accumulator that are in registers at a time, so that all
  /// heads together have eight.
  static constexpr int kVectors = 8 / Heads;
  static_assert(Heads == 1 || Heads == 2 || Heads == 4);

  alignas(64) int16_t query[Heads][kHeadDim];
  float queryScale[Heads];
  /// Of the tokens of a tile, and then their probabilities: a token's four
  /// heads side by side, those that are not there -inf.
  alignas(64) float scores[kTileTokens][kMostHeads];
  /// Probabilities times the scales of a block of values.
  alignas(64) float weights[kBlocks][kTileTokens][kMostHeads];
  alignas(64) float acc[Heads][kHeadDim] = {};
  /// Of each head, twice: the lanes of two tokens.
  __m256 maximum = _mm256_set1_ps(-std::numeric_limits<float>::infinity());
  __m256 sum = _mm256_setzero_ps();
};

} // namespace

template <typename Block, int Heads>
void HeadAttention<Block, Heads>::roundQuery(int head, const float *row,
                                             float factor) {
  constexpr float kLargest = 32767;
  float largest = 0;
  for (int c = 0; c < kHeadDim; ++c)
    largest = std::max(largest, std::fabs(row[c]));
  float inverse = largest > 0 ? kLargest / largest : 0;
  queryScale[head] = largest / kLargest * factor;
  for (int c = 0; c < kHeadDim; ++c)
    query[head][c] = static_cast<int16_t>(std::lrintf(row[c] * inverse));
}

template <typename Block, int Heads>
void HeadAttention<Block, Heads>::computeScores(const char *keys,
                                                int64_t stride, int count) {
  for (int t = 0; t < count; ++t) {
    auto *blocks = reinterpret_cast<const Block *>(keys + t * stride);
    __m256 dots[Heads];
    for (__m256 &dot : dots)
      dot = _mm256_setzero_ps();
#pragma clang loop unroll(full)
    for (int b = 0; b < kBlocks; ++b) {
      __m256i low = _mm256_cvtepi8_epi16(blocks[b].load(0));
      __m256i high = _mm256_cvtepi8_epi16(blocks[b].load(1));
      __m256 scale = broadcastScale(blocks[b].scale);
      for (int h = 0; h < Heads; ++h) {
        auto *row = reinterpret_cast<const __m256i *>(query[h] + b * kBlock);
        __m256i dot = _mm256_add_epi32(
            _mm256_madd_epi16(low, _mm256_load_si256(row)),
            _mm256_madd_epi16(high, _mm256_load_si256(row + 1)));
        dots[h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), scale, dots[h]);
      }
    }
    if constexpr (Heads == 4) {
      __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(dots[0], dots[1]),
                                    _mm256_hadd_ps(dots[2], dots[3]));
      __m128 four = _mm_add_ps(_mm256_castps256_ps128(pairs),
                               _mm256_extractf128_ps(pairs, 1));
      _mm_store_ps(scores[t], _mm_mul_ps(four, _mm_loadu_ps(queryScale)));
    } else {
      for (int h = 0; h < kMostHeads; ++h)
        scores[t][h] = h < Heads ? sumLanes(dots[h]) * queryScale[h]
                                 : -std::numeric_limits<float>::infinity();
    }
  }
  if (count % 2 != 0)
    std::fill_n(scores[count], kMostHeads,
                -std::numeric_limits<float>::infinity());
}

/// Moves the state to the maximum of the tile's scores, where that is larger.
template <typename Block, int Heads>
void HeadAttention<Block, Heads>::updateMaximum(int count) {
  __m256 largest = maximum;
  for (int t = 0; t < count; t += 2)
    largest = _mm256_max_ps(largest, _mm256_load_ps(scores[t]));
  largest = _mm256_max_ps(largest, _mm256_permute2f128_ps(largest, largest, 1));
  if (Heads < kMostHeads) // no -inf minus -inf in lanes of no head
    largest = _mm256_max_ps(largest, _mm256_set1_ps(-1e30f));
  __m256 isLarger = _mm256_cmp_ps(largest, maximum, _CMP_GT_OQ);
  if (_mm256_movemask_ps(isLarger) == 0)
    return;
  alignas(32) float factors[8];
  _mm256_store_ps(factors, exp2(_mm256_sub_ps(maximum, largest)));
  sum = _mm256_mul_ps(sum, _mm256_load_ps(factors));
  for (int h = 0; h < Heads; ++h)
    for (float &element : acc[h])
      element *= factors[h];
  maximum = largest;
}

template <typename Block, int Heads>
void HeadAttention<Block, Heads>::computeProbabilities(int count) {
  for (int t = 0; t < count; t += 2) {
    __m256 p = exp2(_mm256_sub_ps(_mm256_load_ps(scores[t]), maximum));
    sum = _mm256_add_ps(sum, p);
    _mm256_store_ps(scores[t], p);
  }
}

template <typename Block, int Heads>
void HeadAttention<Block, Heads>::weigh(const char *values, int64_t stride,
                                        int count) {
  for (int t = 0; t < count; ++t) {
    auto *blocks = reinterpret_cast<const Block *>(values + t * stride);
    __m128 p = _mm_load_ps(scores[t]);
    for (int b = 0; b < kBlocks; ++b) {
      __m128 scale = _mm256_castps256_ps128(broadcastScale(blocks[b].scale));
      _mm_store_ps(weights[b][t], _mm_mul_ps(p, scale));
    }
  }
}

template <typename Block, int Heads>
void HeadAttention<Block, Heads>::accumulate(const char *values, int64_t stride,
                                             int count) {
  for (int begin = 0; begin < kHeadDim; begin += 8 * kVectors) {
    __m256 sums[Heads][kVectors];
    for (int h = 0; h < Heads; ++h)
      for (int v = 0; v < kVectors; ++v)
        sums[h][v] = _mm256_load_ps(acc[h] + begin + 8 * v);
    for (int t = 0; t < count; ++t) {
      auto *blocks = reinterpret_cast<const Block *>(values + t * stride);
#pragma clang loop unroll(full)
      for (int v = 0; v < kVectors; v += 2) {
        int channel = begin + 8 * v, b = channel / kBlock;
        __m128i codes = blocks[b].load(channel / 16 % 2);
        __m256 low = toFloats(codes);
        __m256 high = toFloats(_mm_unpackhi_epi64(codes, codes));
        for (int h = 0; h < Heads; ++h) {
          __m256 weight = _mm256_broadcast_ss(&weights[b][t][h]);
          sums[h][v] = _mm256_fmadd_ps(weight, low, sums[h][v]);
          sums[h][v + 1] = _mm256_fmadd_ps(weight, high, sums[h][v + 1]);
        }
      }
    }
    for (int h = 0; h < Heads; ++h)
      for (int v = 0; v < kVectors; ++v)
        _mm256_store_ps(acc[h] + begin + 8 * v, sums[h][v]);
  }
}

template <typename Block, int Heads>
void HeadAttention<Block, Heads>::run(const char *keys, int64_t keyStride,
                                      const char *values, int64_t valueStride,
                                      int64_t tokens) {
  for (int64_t begin = 0; begin < tokens; begin += kTileTokens) {
    int count = std::min<int64_t>(kTileTokens, tokens - begin);
    computeScores(keys + begin * keyStride, keyStride, count);
    updateMaximum(count);
    computeProbabilities(count);
    weigh(values + begin * valueStride, valueStride, count);
    accumulate(values + begin * valueStride, valueStride, count);
  }
}

/// The accumulators over the sums; 0 where there was no token.
template <typename Block, int Heads>
void HeadAttention<Block, Heads>::store(float *out) const {
  alignas(32) float sums[8];
  _mm256_store_ps(sums, sum);
  for (int h = 0; h < Heads; ++h) {
    float total = sums[h] + sums[h + kMostHeads];
    float inverse = total > 0 ? 1 / total : 0;
    for (int c = 0; c < kHeadDim; ++c)
      out[h * kHeadDim + c] = acc[h][c] * inverse;
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

template <typename Block, int Heads>
static void attend(const float *query, const Side &keys, const Side &values,
                   const int64_t *lengths, int64_t batch, int64_t kvHeads,
                   float scale, float *out, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int64_t item = 0; item < batch * kvHeads; ++item) {
    int64_t sequence = item / kvHeads, head = item % kvHeads;
    auto getRows = [&](const Side &side) {
      return side.rows + sequence * side.sequenceStride +
             head * side.headStride;
    };
    HeadAttention<Block, Heads> attention(query + item * Heads * kHeadDim,
                                          scale);
    attention.run(getRows(keys), keys.tokenStride, getRows(values),
                  values.tokenStride, lengths[sequence]);
    attention.store(out + item * Heads * kHeadDim);
  }
}

template <typename Block>
static bool attend(int64_t heads, const float *query, const Side &keys,
                   const Side &values, const int64_t *lengths, int64_t batch,
                   int64_t kvHeads, float scale, float *out, int threads) {
  auto run = heads == 1   ? attend<Block, 1>
             : heads == 2 ? attend<Block, 2>
             : heads == 4 ? attend<Block, 4>
                          : nullptr;
  if (!run)
    return false;
  run(query, keys, values, lengths, batch, kvHeads, scale, out, threads);
  return true;
}

extern "C" bool kvq_yardstick_is_supported() { return true; }

/// out = softmax(scale * query keys^T) values for each sequence, of
/// `lengths[sequence]` tokens. query and out: batch x kvHeads x heads x 128.
/// bits: 8 for q8_0 blocks, 4 for q4_0. heads: query heads of a KV head. False
/// if there is no kernel for these.
extern "C" bool kvq_yardstick_attend(int bits, int64_t heads,
                                     const float *query, const Side *keys,
                                     const Side *values, const int64_t *lengths,
                                     int64_t batch, int64_t kvHeads,
                                     float scale, float *out, int threads) {
  auto run = bits == 8 ? attend<Q8> : bits == 4 ? attend<Q4> : nullptr;
  return run && run(heads, query, *keys, *values, lengths, batch, kvHeads,
                    scale, out, threads);
}

/// Reads `count` vectors of 64 bytes, so that time is that of memory alone.
extern "C" int64_t kvq_yardstick_read(const void *data, int64_t count,
                                      int threads) {
  auto *vectors = static_cast<const __m256i *>(data);
  int64_t total = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total)
  for (int64_t part = 0; part < threads; ++part) {
    __m256i sums[4] = {};
    int64_t end = count * (part + 1) / threads / 2 * 2;
    for (int64_t i = count * part / threads / 2 * 2; i < end; i += 2)
      for (int v = 0; v < 4; ++v)
        sums[v] =
            _mm256_add_epi64(sums[v], _mm256_loadu_si256(vectors + 2 * i + v));
    for (const __m256i &sum : sums)
      total += _mm256_extract_epi64(sum, 0) + _mm256_extract_epi64(sum, 1) +
               _mm256_extract_epi64(sum, 2) + _mm256_extract_epi64(sum, 3);
  }
  return total;
}

#else // no AVX2

extern "C" bool kvq_yardstick_is_supported() { return false; }

extern "C" bool kvq_yardstick_attend(int, int64_t, const float *, const Side *,
                                     const Side *, const int64_t *, int64_t,
                                     int64_t, float, float *, int) {
  return false;
}

extern "C" int64_t kvq_yardstick_read(const void *, int64_t, int) { return 0; }

#endif
