/* Keys and values of 200 tokens go into quantized caches, one after the other,
   and a query attends to them. The result is compared with attention in double
   precision over what was appended.

     kvq-compile step.mlir --emit=header -o step.h
     kvq-compile step.mlir --emit=so -o libstep.so
     cc -std=c99 -O2 -I . step.c -o step -L . -lstep -lm -Wl,-rpath,'$ORIGIN' */

#include "step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { KV_HEADS = 2, HEADS = 8, DIM = 64, TOKENS = 200 };

static float keys[TOKENS][KV_HEADS][DIM], values[TOKENS][KV_HEADS][DIM];
static float query[HEADS][DIM], out[HEADS][DIM];

/* Numbers between -1 and 1. */
static void fill(float *numbers, size_t count) {
  for (size_t i = 0; i < count; ++i)
    numbers[i] = 2 * (float)rand() / (float)RAND_MAX - 1;
}

/* The storage of one cache, as large as the header says. */
static void allocate(append_call *call) {
  call->cache_codes = malloc(append_cache_codes_bytes(call));
  call->cache_scales = malloc(append_cache_scales_bytes(call));
  if (call->cache_codes == NULL || call->cache_scales == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
}

static void release(append_call *call) {
  free(call->cache_codes);
  free(call->cache_scales);
}

/* The output of a query head, exactly. */
static void attend_exactly(int head, double output[DIM]) {
  int kv_head = head / (HEADS / KV_HEADS);
  double sum = 0;
  for (int channel = 0; channel < DIM; ++channel)
    output[channel] = 0;
  for (int token = 0; token < TOKENS; ++token) {
    double score = 0;
    for (int channel = 0; channel < DIM; ++channel)
      score += (double)query[head][channel] * keys[token][kv_head][channel];
    double weight = exp(0.125 * score);
    sum += weight;
    for (int channel = 0; channel < DIM; ++channel)
      output[channel] += weight * values[token][kv_head][channel];
  }
  for (int channel = 0; channel < DIM; ++channel)
    output[channel] /= sum;
}

/* The error of the output, relative to its size. */
static double get_error(void) {
  double error = 0, size = 0;
  for (int head = 0; head < HEADS; ++head) {
    double exact[DIM];
    attend_exactly(head, exact);
    for (int channel = 0; channel < DIM; ++channel) {
      double difference = out[head][channel] - exact[channel];
      error += difference * difference;
      size += exact[channel] * exact[channel];
    }
  }
  return sqrt(error / size);
}

int main(void) {
  fill(&keys[0][0][0], sizeof keys / sizeof(float));
  fill(&values[0][0][0], sizeof values / sizeof(float));
  fill(&query[0][0], sizeof query / sizeof(float));

  int64_t length = 0; /* of the only sequence; the caches do not know it */
  append_call key = {.lengths = &length, .tokens_size2 = 1};
  append_call value = key;
  allocate(&key);
  allocate(&value);
  for (; length < TOKENS; ++length) {
    key.tokens = &keys[length][0][0];
    value.tokens = &values[length][0][0];
    append_invoke(&key);
    append_invoke(&value);
  }

  attend_call call = {.query = &query[0][0],
                      .keys_codes = key.cache_codes,
                      .keys_scales = key.cache_scales,
                      .values_codes = value.cache_codes,
                      .values_scales = value.cache_scales,
                      .lengths = &length,
                      .out = &out[0][0]};
  attend_invoke(&call);

  size_t bytes =
      append_cache_codes_bytes(&key) + append_cache_scales_bytes(&key);
  double error = get_error();
  printf("each cache has %zu bytes, f16 would take %zu\n", bytes,
         (size_t)256 * KV_HEADS * DIM * 2);
  printf("relative error %.2f%%\n", 100 * error);
  release(&key);
  release(&value);
  return error < 0.02 ? 0 : 1;
}
