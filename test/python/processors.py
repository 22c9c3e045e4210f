"""Kernels for other processors than this one: run by a lesser processor's instructions here, or by qemu's emulation."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import kvq_mlir as kvq
from kvq_mlir import _kvq, compiler

BIN = Path(os.path.abspath(kvq.__file__)).parents[2] / "bin"  # of the build tree
CLANG, LLD = (shutil.which(name) for name in ("clang-22", "ld.lld-22"))


def find_qemu(architecture: str) -> str | None:
    """An emulator of programs for Linux, and what it takes to make some."""
    found = next(filter(None, (shutil.which(f"qemu-{architecture}{suffix}") for suffix in ("", "-static"))), None)
    return found if CLANG and LLD and (BIN / "kvq-compile").exists() else None


@contextmanager
def compiled_by(compile_kernel) -> Iterator[None]:
    """Within it, every kernel is a new one that `compile_kernel` makes."""
    kernels, compile_here = compiler._kernels, _kvq.compile
    compiler._kernels, _kvq.compile = {}, compile_kernel
    try:
        yield
    finally:
        compiler._kernels, _kvq.compile = kernels, compile_here


def compiled_for(cpu: str, features: str = ""):
    """Kernels for a processor whose instructions this one has, too."""
    compile_here = _kvq.compile
    return compiled_by(lambda text, **options: compile_here(text, cpu=cpu, features=features, **options))


CPUS = {"aarch64": "max", "riscv64": "rv64"}  # as qemu names those that have all
START = r"""
typedef unsigned long size_t;
#if defined(__aarch64__)
static long call(long n, long a, long b, long c) {
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
enum { READ = 63, WRITE = 64, EXIT = 93 };
#else
static long call(long n, long a, long b, long c) {
  register long a7 __asm__("a7") = n, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
  return a0;
}
enum { READ = 63, WRITE = 64, EXIT = 93 };
#endif
void *memset(void *to, int byte, size_t n) {
  for (volatile char *p = to; n; --n)
    *p++ = byte;
  return to;
}
void *memcpy(void *to, const void *from, size_t n) {
  volatile char *p = to;
  for (const char *q = from; n; --n)
    *p++ = *q++;
  return to;
}
void *malloc(size_t n) {
  static char heap[1 << 24] __attribute__((aligned(64)));
  static size_t used;
  void *found = heap + used;
  used += (n + 63) / 64 * 64;
  return used <= sizeof heap ? found : 0;
}
void free(void *memory) { (void)memory; }
static void move(long what, char *data, size_t n) {
  while (n) {
    long done = call(what, what == READ ? 0 : 1, (long)data, n);
    if (done <= 0)
      call(EXIT, 1, 0, 0);
    data += done, n -= done;
  }
}
"""


class EmulatedKernel:
    """Stands for a compiled module: each call is a program that reads all arrays, calls, and writes them."""

    def __init__(self, text: str, folder: Path, architecture: str, features: str, **options) -> None:
        self.folder, self.architecture = folder, architecture
        self.object = folder / f"kernel{len(list(folder.iterdir()))}.o"
        command = [
            BIN / "kvq-compile",
            "-",
            f"--target={architecture}-linux-gnu",
            f"--features={features}",
            "-o",
            self.object,
        ]
        command += [f"--splits={options.get('splits') or 1}"]
        subprocess.run(command, input=text, text=True, check=True)

    def invoke(self, name: str, arrays: Sequence[np.ndarray], threads: int | None = None) -> None:
        types, values, data, moves = [], [], [], {"READ": [], "WRITE": []}
        for i, array in enumerate(arrays):
            shape, strides = list(array.shape), [stride // array.itemsize for stride in array.strides]
            numbers = [f"{n}L" for n in [0, *shape, *strides]]
            types += ["void *", "void *"] + ["long"] * len(numbers)
            values += [f"a{i}", f"a{i}", *numbers]
            data.append(f"static char a{i}[{max(array.nbytes, 1)}] __attribute__((aligned(64)));")
            for what in moves:
                moves[what].append(f"  move({what}, a{i}, {array.nbytes});")
        program = self.object.with_suffix(".exe")
        source = [START, *data, f"void {name}({', '.join(types)});", "static void work(void) {", *moves["READ"]]
        source += [f"  {name}({', '.join(values)});", *moves["WRITE"], "  call(EXIT, 0, 0, 0);", "}"]
        source += ["void _start(void) { work(); }"]
        driver = program.with_suffix(".c")
        driver.write_text("\n".join(source))
        target = f"--target={self.architecture}-linux-gnu"
        extra = ["-march=rv64gc", "-mabi=lp64d"] if "riscv" in self.architecture else []
        subprocess.run(
            [CLANG, target, *extra, "-O1", "-ffreestanding", "-fno-builtin", "-c", driver, "-o", f"{driver}.o"], check=True
        )
        subprocess.run([LLD, "-static", f"{driver}.o", self.object, "-o", program], check=True)
        given = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        found = subprocess.run(
            [find_qemu(self.architecture), "-cpu", CPUS[self.architecture], program],
            input=given,
            capture_output=True,
            check=True,
        )
        at = 0
        for array in arrays:
            if array.flags.writeable:
                array[...] = np.frombuffer(found.stdout, array.dtype, array.size, at).reshape(array.shape)
            at += array.nbytes


def emulated(folder: Path, architecture: str, features: str = ""):
    """Kernels for another architecture, each call of which qemu runs."""
    return compiled_by(lambda text, **options: EmulatedKernel(text, folder, architecture, features, **options))
