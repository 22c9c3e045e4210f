//===- Matrix.cpp - Matrix fragments of a warp ----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts are those of the PTX ISA: lane 4g + t has row g of A and C and column
// g of B.
//
//===----------------------------------------------------------------------===//

#include "Matrix.h"

#include "Machine.h"
#include "SmallFloats.h"

#include <array>
#include <cmath>
#include <cstring>

using namespace mlir::kvq::emulator;

static constexpr unsigned kRows = 16, kColumns = 8, kMaxDepth = 32;

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

static unsigned getBits(MatrixElement element) {
  switch (element) {
  case MatrixElement::TF32:
    return 32;
  case MatrixElement::F16:
  case MatrixElement::BF16:
    return 16;
  default:
    return 8;
  }
}

using ByteTable = std::array<float, 256>;

static ByteTable makeTable(const SmallFloat &format) {
  ByteTable table;
  for (unsigned i = 0; i != 256; ++i)
    table[i] = decode(format, i);
  return table;
}

static float decodeElement(MatrixElement element, uint32_t bits) {
  static const ByteTable e4m3 = makeTable(SmallFloats::e4m3);
  static const ByteTable e5m2 = makeTable(SmallFloats::e5m2);
  switch (element) {
  case MatrixElement::F16:
    return decodeHalf(bits);
  case MatrixElement::BF16:
    return decodeBFloat(bits);
  case MatrixElement::TF32:
    // Its lower bits are ignored.
    return llvm::bit_cast<float>(bits & ~0x1FFFu);
  case MatrixElement::E4M3:
    return e4m3[bits];
  case MatrixElement::E5M2:
    return e5m2[bits];
  case MatrixElement::S8:
    return int8_t(bits);
  case MatrixElement::U8:
    return bits;
  }
  llvm_unreachable("unknown element");
}

namespace {
/// The factors of a product. Integers of 8 bits are exact as f32.
struct Factors {
  float a[kRows][kMaxDepth], b[kMaxDepth][kColumns];
};
} // namespace

/// Calls `visit` with the depth and the bits of each element of register
/// `index` of lane `t` in its group of four.
template <typename Visit>
static void forEachElement(unsigned bits, unsigned t, unsigned index,
                           uint32_t value, Visit visit) {
  unsigned perRegister = 32 / bits;
  uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  for (unsigned i = 0; i != perRegister; ++i)
    visit(perRegister * t + i + index * 4 * perRegister,
          value >> i * bits & mask);
}

static void gatherFactors(const Gathering &gathering,
                          const MatrixProduct &product, unsigned numA,
                          unsigned numB, Factors &factors) {
  for (unsigned lane = 0; lane != kWarpSize; ++lane) {
    const Slot *arguments = gathering.arguments[lane];
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i != numA; ++i)
      forEachElement(getBits(product.a), t, i / 2, arguments[i],
                     [&](unsigned depth, uint32_t bits) {
                       factors.a[g + 8 * (i % 2)][depth] =
                           decodeElement(product.a, bits);
                     });
    for (unsigned i = 0; i != numB; ++i)
      forEachElement(getBits(product.b), t, i, arguments[numA + i],
                     [&](unsigned depth, uint32_t bits) {
                       factors.b[depth][g] = decodeElement(product.b, bits);
                     });
  }
}

/// The sums of products. Sums of 8-bit integers are exact in f32: at most
/// 32 · 255 · 255 < 2^24.
static void multiply(const Factors &factors, unsigned depth,
                     float (&sums)[kRows][kColumns]) {
  for (unsigned row = 0; row != kRows; ++row) {
    float sum[kColumns] = {};
    for (unsigned k = 0; k != depth; ++k)
      for (unsigned column = 0; column != kColumns; ++column)
        sum[column] += factors.a[row][k] * factors.b[k][column];
    std::memcpy(sums[row], sum, sizeof(sum));
  }
}

static uint32_t addInteger(uint32_t addend, float sum, bool saturates) {
  int64_t exact = int64_t(int32_t(addend)) + int64_t(sum);
  if (saturates)
    exact = std::min<int64_t>(std::max<int64_t>(exact, INT32_MIN), INT32_MAX);
  return uint32_t(exact);
}

/// Rounds toward zero, as sums of tensor cores were found to be (Fasi, Higham,
/// Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ Computer
/// Science 7:e330, 2021; of V100, T4 and A100).
static float truncateToFloat(double exact) {
  float nearest = exact;
  bool isAway = std::abs(nearest) > std::abs(exact);
  return llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(nearest) - isAway);
}

/// Adds the products of one lane to its addends.
static void addProducts(const MatrixProduct &product, bool isInteger,
                        const float (&sums)[kRows][kColumns], unsigned lane,
                        const Slot *addends, Slot *results) {
  uint32_t halves = 0;
  for (unsigned i = 0; i != 4; ++i) {
    float sum = sums[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
    if (isInteger) {
      results[i] = addInteger(uint32_t(addends[i]), sum, product.saturates);
      continue;
    }
    float addend = product.halfAddend
                       ? decodeHalf(addends[i / 2] >> 16 * (i % 2))
                       : llvm::bit_cast<float>(uint32_t(addends[i]));
    float result = truncateToFloat(double(addend) + double(sum));
    if (!product.halfResult) {
      results[i] = llvm::bit_cast<uint32_t>(result);
      continue;
    }
    uint32_t half = encode(SmallFloats::half, result, false);
    halves = i % 2 ? halves | half << 16 : half;
    results[i / 2] = halves;
  }
}

static void executeProduct(Warp &warp, const Gathering &gathering) {
  const Operation &operation = gathering.site->operation;
  MatrixProduct product = MatrixProduct::decode(operation.kind);
  unsigned depth = operation.size;
  unsigned numA = kRows * depth * getBits(product.a) / (32 * kWarpSize);
  unsigned numB = kColumns * depth * getBits(product.b) / (32 * kWarpSize);
  Factors factors;
  float sums[kRows][kColumns];
  gatherFactors(gathering, product, numA, numB, factors);
  multiply(factors, depth, sums);
  bool isInteger =
      product.a == MatrixElement::S8 || product.a == MatrixElement::U8;
  for (unsigned lane = 0; lane != kWarpSize; ++lane)
    addProducts(product, isInteger, sums, lane,
                gathering.arguments[lane] + numA + numB,
                gathering.results[lane]);
}

void mlir::kvq::emulator::multiplyMatrices(Thread &thread, const Site &site,
                                           Slot *results,
                                           const Slot *arguments) {
  gatherAll(thread, site, results, arguments, executeProduct);
}

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix, movmatrix
//===----------------------------------------------------------------------===//

static constexpr unsigned kSide = 8;
static constexpr uint32_t kRowBytes = 2 * kSide;

namespace {
using Matrix = uint16_t[kSide][kSide];
} // namespace

/// The two elements of a matrix that a lane has in a register.
static uint32_t getFragment(const Matrix &matrix, unsigned lane,
                            bool transposed) {
  unsigned g = lane / 4, t = lane % 4;
  return transposed ? matrix[2 * t][g] | uint32_t(matrix[2 * t + 1][g]) << 16
                    : matrix[g][2 * t] | uint32_t(matrix[g][2 * t + 1]) << 16;
}

static void setFragment(Matrix &matrix, unsigned lane, bool transposed,
                        uint32_t bits) {
  unsigned g = lane / 4, t = lane % 4;
  for (unsigned i = 0; i != 2; ++i)
    (transposed ? matrix[2 * t + i][g] : matrix[g][2 * t + i]) = bits >> 16 * i;
}

void mlir::kvq::emulator::loadMatrices(Thread &thread, const Site &site,
                                       Slot *results, const Slot *arguments) {
  gatherAll(thread, site, results, arguments,
            [](Warp &warp, const Gathering &gathering) {
              const Operation &operation = gathering.site->operation;
              for (unsigned i = 0; i != operation.size; ++i) {
                Matrix matrix;
                for (unsigned row = 0; row != kSide; ++row) {
                  // A lane gives the address of a row.
                  unsigned lane = kSide * i + row;
                  Thread &owner = *warp.threads[lane];
                  std::memcpy(
                      matrix[row],
                      owner.block->shared.read(owner, *gathering.site,
                                               gathering.arguments[lane][0],
                                               kRowBytes, kRowBytes),
                      kRowBytes);
                }
                for (unsigned lane = 0; lane != kWarpSize; ++lane)
                  gathering.results[lane][i] =
                      getFragment(matrix, lane, operation.flag);
              }
            });
}

void mlir::kvq::emulator::storeMatrices(Thread &thread, const Site &site,
                                        Slot *results, const Slot *arguments) {
  gatherAll(thread, site, results, arguments,
            [](Warp &warp, const Gathering &gathering) {
              const Operation &operation = gathering.site->operation;
              for (unsigned i = 0; i != operation.size; ++i) {
                Matrix matrix;
                for (unsigned lane = 0; lane != kWarpSize; ++lane)
                  setFragment(matrix, lane, operation.flag,
                              uint32_t(gathering.arguments[lane][1 + i]));
                for (unsigned row = 0; row != kSide; ++row) {
                  unsigned lane = kSide * i + row;
                  Thread &owner = *warp.threads[lane];
                  std::memcpy(
                      owner.block->shared.write(owner, *gathering.site,
                                                gathering.arguments[lane][0],
                                                kRowBytes, kRowBytes),
                      matrix[row], kRowBytes);
                }
              }
            });
}

void mlir::kvq::emulator::transposeMatrix(Thread &thread, const Site &site,
                                          Slot *results,
                                          const Slot *arguments) {
  gatherAll(thread, site, results, arguments,
            [](Warp &warp, const Gathering &gathering) {
              Matrix matrix;
              for (unsigned lane = 0; lane != kWarpSize; ++lane)
                setFragment(matrix, lane, /*transposed=*/false,
                            uint32_t(gathering.arguments[lane][0]));
              for (unsigned lane = 0; lane != kWarpSize; ++lane)
                gathering.results[lane][0] =
                    getFragment(matrix, lane, /*transposed=*/true);
            });
}
