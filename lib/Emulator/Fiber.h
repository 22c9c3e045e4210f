//===- Fiber.h - Threads of control on stacks of their own ---- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_FIBER_H
#define KVQ_LIB_EMULATOR_FIBER_H

#include <cstddef>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace mlir::kvq::emulator {

/// Stacks for fibers, with a page below each that may not be touched.
class Stacks {
public:
  /// What the local variables of generated code may take of a stack.
  static constexpr size_t kMaxFrame = 128 << 10;
  static constexpr size_t kBytes = 256 << 10;

  explicit Stacks(size_t count);
  ~Stacks();
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;

  /// Whether the memory was there to be had.
  bool isValid() const { return memory; }
  /// The lowest address of a stack.
  char *get(size_t index) const;

private:
  size_t count;
  char *memory = nullptr;
};

/// A thread of control: of a stack, or the caller's own.
class Fiber {
public:
  /// Makes the fiber call `function(argument)` at the next switch to it. The
  /// function must not return.
  void start(char *stack, void (*function)(void *), void *argument);

  /// Goes on with `to`; returns when somebody switches back to `from`.
  static void switchTo(Fiber &from, Fiber &to);

  char *getStack() const { return stack; }

private:
  char *stack = nullptr;
#ifdef __x86_64__
  void *stackPointer = nullptr;
#else
  static void enter(unsigned high, unsigned low);
  ucontext_t context;
  void (*function)(void *) = nullptr;
  void *argument = nullptr;
#endif
};

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_FIBER_H
