//===- Fiber.cpp - Threads of control on stacks of their own --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fiber.h"

#include <cstdint>
#include <sys/mman.h>

using namespace mlir::kvq::emulator;

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

static constexpr size_t kGuardBytes = 64 << 10; // a page, of whatever size
static constexpr size_t kStride = Stacks::kBytes + kGuardBytes;

Stacks::Stacks(size_t count) : count(count) {
  void *mapped = mmap(nullptr, count * kStride, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return;
  memory = static_cast<char *>(mapped);
  for (size_t i = 0; i != count; ++i)
    mprotect(memory + i * kStride, kGuardBytes, PROT_NONE);
}

Stacks::~Stacks() {
  if (memory)
    munmap(memory, count * kStride);
}

char *Stacks::get(size_t index) const {
  return memory + index * kStride + kGuardBytes;
}

//===----------------------------------------------------------------------===//
// Fiber
//===----------------------------------------------------------------------===//

#ifdef __x86_64__

// Saves the registers that a called function must keep, and takes the other
// side's. swapcontext would make two system calls.
extern "C" void kvq_emulator_switch(void **save, void *load);
extern "C" void kvq_emulator_start();
asm(R"(
.text
.globl kvq_emulator_switch
.hidden kvq_emulator_switch
.type kvq_emulator_switch,@function
kvq_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size kvq_emulator_switch, .-kvq_emulator_switch

.globl kvq_emulator_start
.hidden kvq_emulator_start
.type kvq_emulator_start,@function
kvq_emulator_start:
  movq %rbx, %rdi
  callq *%r12
  ud2
.size kvq_emulator_start, .-kvq_emulator_start
)");

void Fiber::start(char *stack, void (*function)(void *), void *argument) {
  this->stack = stack;
  auto *top = reinterpret_cast<void **>(stack + Stacks::kBytes);
  // As kvq_emulator_switch pops them. After `ret` the stack is aligned to 16
  // bytes, as before a call.
  *--top = nullptr;
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(&kvq_emulator_start);
  *--top = nullptr;                            // rbp
  *--top = argument;                           // rbx
  *--top = reinterpret_cast<void *>(function); // r12
  *--top = nullptr;                            // r13
  *--top = nullptr;                            // r14
  *--top = nullptr;                            // r15
  stackPointer = top;
}

void Fiber::switchTo(Fiber &from, Fiber &to) {
  kvq_emulator_switch(&from.stackPointer, to.stackPointer);
}

#else

void Fiber::enter(unsigned high, unsigned low) {
  auto *fiber = reinterpret_cast<Fiber *>(uintptr_t(high) << 32 | low);
  fiber->function(fiber->argument);
}

void Fiber::start(char *stack, void (*function)(void *), void *argument) {
  this->stack = stack;
  this->function = function;
  this->argument = argument;
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = Stacks::kBytes;
  context.uc_link = nullptr;
  // makecontext passes integers.
  auto address = reinterpret_cast<uintptr_t>(this);
  makecontext(&context, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
              unsigned(uint64_t(address) >> 32), unsigned(address));
}

void Fiber::switchTo(Fiber &from, Fiber &to) {
  swapcontext(&from.context, &to.context);
}

#endif
