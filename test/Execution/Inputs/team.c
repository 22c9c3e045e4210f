//===- team.c - OpenMP's entry points, on plain threads -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Those that compiled kernels call, so that a thread sanitizer sees all that
// orders their threads: Debian's libomp is not instrumented. With RACE every
// thread is given every item, at the same time as the others.
//
//===----------------------------------------------------------------------===//

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>

enum { THREADS = 4 };

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int32_t number;
/// The loop that is dealt out: what comes next, the last, and how many threads
/// have come to it.
static uint64_t next, last;
static int begun;
#ifdef RACE
static _Thread_local uint64_t mine;
/// In turns: a thread that leaves one late is not behind what others did before
/// they came to the next.
static pthread_barrier_t turns[2];
#endif

typedef void (*Body)(int32_t *, int32_t *, void *);
struct Member {
  pthread_t thread;
  int32_t number;
  Body body;
  void *argument;
};

static void *work(void *data) {
  struct Member *member = data;
  number = member->number;
  int32_t zero = 0;
  member->body(&member->number, &zero, member->argument);
  return 0;
}

void __kmpc_fork_call(void *where, int32_t count, Body body, ...) {
  va_list arguments;
  va_start(arguments, body);
  void *argument = count ? va_arg(arguments, void *) : 0;
  va_end(arguments);
  struct Member members[THREADS];
  pthread_barrier_init(&barrier, 0, THREADS);
#ifdef RACE
  pthread_barrier_init(&turns[0], 0, THREADS);
  pthread_barrier_init(&turns[1], 0, THREADS);
#endif
  for (int i = 0; i < THREADS; ++i) {
    members[i].number = i;
    members[i].body = body;
    members[i].argument = argument;
    pthread_create(&members[i].thread, 0, work, &members[i]);
  }
  for (int i = 0; i < THREADS; ++i)
    pthread_join(members[i].thread, 0);
  pthread_barrier_destroy(&barrier);
}

int32_t __kmpc_global_thread_num(void *where) { return number; }

void __kmpc_barrier(void *where, int32_t thread) {
  pthread_barrier_wait(&barrier);
}

void __kmpc_dispatch_init_8u(void *where, int32_t thread, int32_t schedule,
                             uint64_t lower, uint64_t upper, int64_t stride,
                             int64_t chunk) {
#ifdef RACE
  mine = lower;
#endif
  pthread_mutex_lock(&mutex);
  if (begun == 0) {
    next = lower;
    last = upper;
  }
  begun = (begun + 1) % THREADS;
  pthread_mutex_unlock(&mutex);
}

int32_t __kmpc_dispatch_next_8u(void *where, int32_t thread, int32_t *is_last,
                                uint64_t *lower, uint64_t *upper,
                                int64_t *stride) {
#ifdef RACE
  pthread_barrier_wait(&turns[mine % 2]);
  *lower = *upper = mine;
  return mine++ <= last;
#endif
  pthread_mutex_lock(&mutex);
  int32_t found = next <= last;
  *lower = *upper = next;
  *stride = 1;
  *is_last = next == last;
  next += found;
  pthread_mutex_unlock(&mutex);
  return found;
}
