//===- threads.c - Appends and attention on several threads ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, HEADS = 2, QUERIES = 4, TOKENS = 64, NEW = 40, DIM = 64 };

/// A memref of up to four axes, as the C interface takes it.
typedef struct {
  void *base, *data;
  int64_t offset, extents[4], strides[4];
} Tensor;
typedef struct {
  void *base, *data;
  int64_t offset, extents[1], strides[1];
} Vector;

static Tensor make(size_t size, int64_t a, int64_t b, int64_t c, int64_t d) {
  void *data = malloc(size * a * b * c * d);
  memset(data, 0xff, size * a * b * c * d);
  return (Tensor){data, data, 0, {a, b, c, d}, {b * c * d, c * d, d, 1}};
}

static Vector counts(int64_t count) {
  int64_t *data = malloc(BATCH * sizeof(*data));
  for (int i = 0; i < BATCH; ++i)
    data[i] = count;
  return (Vector){data, data, 0, {BATCH}, {1}};
}

void _mlir_ciface_append(Tensor *tokens, Vector *lengths, Tensor *codes,
                         Tensor *scales);
void _mlir_ciface_attend(Tensor *query, Tensor *keys, Tensor *key_scales,
                         Tensor *values, Tensor *value_scales, Vector *lengths,
                         Tensor *out);

int main(void) {
  Tensor query = make(4, BATCH, QUERIES, 1, DIM),
         out = make(4, BATCH, QUERIES, 1, DIM);
  Tensor tokens = make(4, BATCH, HEADS, NEW, DIM);
  Tensor codes[2], scales[2];
  Vector before = counts(0), after = counts(NEW);
  for (int64_t i = 0; i < BATCH * HEADS * NEW * DIM; ++i)
    ((float *)tokens.data)[i] = sinf(i);
  for (int64_t i = 0; i < BATCH * QUERIES * DIM; ++i)
    ((float *)query.data)[i] = cosf(i);
  for (int side = 0; side < 2; ++side) {
    codes[side] = make(1, BATCH, HEADS, TOKENS, DIM);
    scales[side] = make(2, BATCH, HEADS, TOKENS, DIM / 32);
    _mlir_ciface_append(&tokens, &before, &codes[side], &scales[side]);
  }
  _mlir_ciface_attend(&query, &codes[0], &scales[0], &codes[1], &scales[1],
                      &after, &out);
  float sum = 0;
  for (int64_t i = 0; i < BATCH * QUERIES * DIM; ++i)
    sum += fabsf(((float *)out.data)[i]);
  printf("finite: %d, not zero: %d\n", isfinite(sum) != 0, sum > 0);
  return 0;
}
