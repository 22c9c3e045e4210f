//===- CUDAStub.cpp - A CUDA driver that only writes down its calls -------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libcuda.so.1 (KVQ_CUDA_DRIVER) where there is no GPU. Memory is
// the host's; kernels are not run. The calls that matter are kept as lines of
// text, which a test reads by kvq_stub_take_log; kvq_stub_fail lets a function
// fail, kvq_stub_set sets what the device says of itself.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

struct Kernel {
  std::string name;
  /// Bytes of each parameter.
  std::vector<unsigned> parameters;
};

struct Module {
  std::map<std::string, Kernel> kernels;
};

struct State {
  std::string log, taken;
  std::map<std::string, int> failures;
  /// By the numbers of CUdevice_attribute.
  std::map<int, int> attributes = {
      {16, 132}, {75, 9}, {76, 0}, {97, 232448}, {115, 1}};
  std::map<uintptr_t, size_t> memory;
  std::set<void *> capturing;
  int staticSharedBytes = 0;
};

State &state() {
  static State instance;
  return instance;
}

/// Writes a call down; the result that it shall have.
int note(const std::string &function, const std::string &line = "") {
  if (!line.empty())
    state().log += function + " " + line + "\n";
  auto found = state().failures.find(function);
  return found == state().failures.end() ? 0 : found->second;
}

std::string text(const void *pointer) {
  return std::to_string(reinterpret_cast<uintptr_t>(pointer));
}

/// The kernels of PTX, and the types of their parameters.
Module *parse(const std::string &ptx) {
  auto *module = new Module();
  std::regex entry("\\.entry ([A-Za-z0-9_]+)\\(([^)]*)\\)"),
      parameter("\\.param [^,]*?\\.[a-z](8|16|32|64) ");
  for (std::sregex_iterator it(ptx.begin(), ptx.end(), entry), end; it != end;
       ++it) {
    Kernel kernel{(*it)[1], {}};
    std::string list = (*it)[2];
    for (std::sregex_iterator p(list.begin(), list.end(), parameter); p != end;
         ++p)
      kernel.parameters.push_back(std::stoi((*p)[1]) / 8);
    module->kernels[kernel.name] = kernel;
  }
  return module;
}

int allocate(uint64_t *address, size_t bytes) {
  // Aligned as the driver does, and full of what nobody may rely on.
  void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  memset(memory, 0xFF, bytes);
  *address = reinterpret_cast<uintptr_t>(memory);
  state().memory[*address] = bytes;
  return 0;
}

int release(uint64_t address) {
  if (!state().memory.erase(address))
    return 1;
  free(reinterpret_cast<void *>(address));
  return 0;
}

} // namespace

#define STUB extern "C" __attribute__((visibility("default")))

//===----------------------------------------------------------------------===//
// For tests
//===----------------------------------------------------------------------===//

STUB const char *kvq_stub_take_log() {
  state().taken = std::move(state().log);
  state().log.clear();
  return state().taken.c_str();
}
STUB void kvq_stub_fail(const char *function, int result) {
  if (result)
    state().failures[function] = result;
  else
    state().failures.erase(function);
}
STUB void kvq_stub_set(int attribute, int value) {
  state().attributes[attribute] = value;
}
STUB void kvq_stub_set_static_shared(int bytes) {
  state().staticSharedBytes = bytes;
}
STUB void kvq_stub_capture(void *stream, int isCapturing) {
  if (isCapturing)
    state().capturing.insert(stream);
  else
    state().capturing.erase(stream);
}
STUB int kvq_stub_num_allocations() { return state().memory.size(); }

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

STUB int cuInit(unsigned) { return note("cuInit"); }
STUB int cuGetErrorName(int result, const char **name) {
  *name = result == 1   ? "CUDA_ERROR_INVALID_VALUE"
          : result == 2 ? "CUDA_ERROR_OUT_OF_MEMORY"
                        : nullptr;
  return *name ? 0 : 1;
}
STUB int cuGetErrorString(int result, const char **string) {
  *string = result == 1   ? "invalid argument"
            : result == 2 ? "out of memory"
                          : nullptr;
  return *string ? 0 : 1;
}
STUB int cuDeviceGetCount(int *count) {
  *count = 1;
  return note("cuDeviceGetCount");
}
STUB int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return note("cuDeviceGet");
}
STUB int cuDeviceGetName(char *name, int size, int) {
  strncpy(name, "Stub", size);
  return 0;
}
STUB int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = state().attributes[attribute];
  return 0;
}
STUB int cuDevicePrimaryCtxRetain(void **context, int) {
  *context = &state();
  return note("cuDevicePrimaryCtxRetain");
}
static thread_local int depth = 0;
STUB int cuCtxPushCurrent_v2(void *) {
  ++depth;
  return note("cuCtxPushCurrent");
}
STUB int cuCtxPopCurrent_v2(void **) { return depth-- > 0 ? 0 : 201; }
STUB int cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                            int *options, void **values) {
  std::string ptx = static_cast<const char *>(image);
  std::smatch target;
  std::regex_search(ptx, target, std::regex("\\.target (\\w+)"));
  int result = note("cuModuleLoadDataEx", target[1]);
  if (result)
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5) // CU_JIT_ERROR_LOG_BUFFER
        strcpy(static_cast<char *>(values[i]), "ptxas: line 7 is odd\n");
  *module = parse(ptx);
  return depth > 0 ? result : 201;
}
STUB int cuModuleUnload(void *module) {
  delete static_cast<Module *>(module);
  return note("cuModuleUnload", "-");
}
STUB int cuModuleGetFunction(void **function, void *module, const char *name) {
  auto &kernels = static_cast<Module *>(module)->kernels;
  auto found = kernels.find(name);
  *function = found == kernels.end() ? nullptr : &found->second;
  return *function ? note("cuModuleGetFunction", name) : 500;
}
STUB int cuFuncGetAttribute(int *value, int, void *) {
  *value = state().staticSharedBytes;
  return 0;
}
STUB int cuFuncSetAttribute(void *function, int attribute, int value) {
  return note("cuFuncSetAttribute", static_cast<Kernel *>(function)->name +
                                        " " + std::to_string(attribute) + " " +
                                        std::to_string(value));
}
STUB int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        void *stream, void **parameters, void **) {
  auto *kernel = static_cast<Kernel *>(function);
  std::string line = kernel->name + " grid";
  for (unsigned extent : {gx, gy, gz})
    line += " " + std::to_string(extent);
  line += " block";
  for (unsigned extent : {bx, by, bz})
    line += " " + std::to_string(extent);
  line += " shared " + std::to_string(shared) + " stream " + text(stream) +
          " arguments";
  for (size_t i = 0; i < kernel->parameters.size(); ++i) {
    uint64_t value = 0;
    memcpy(&value, parameters[i], kernel->parameters[i]);
    line += " " + std::to_string(value);
  }
  return depth > 0 ? note("cuLaunchKernel", line) : 201;
}
STUB int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  int result = note("cuMemAlloc", std::to_string(bytes));
  return result ? result : allocate(address, bytes);
}
STUB int cuMemFree_v2(uint64_t address) { return release(address); }
STUB int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream) {
  int result = note("cuMemAllocAsync",
                    std::to_string(bytes) + " stream " + text(stream));
  return result ? result : allocate(address, bytes);
}
STUB int cuMemFreeAsync(uint64_t address, void *stream) {
  int result = note("cuMemFreeAsync", "stream " + text(stream));
  return result ? result : release(address);
}
STUB int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                              void *stream) {
  memcpy(reinterpret_cast<void *>(to), from, bytes);
  return note("cuMemcpyHtoDAsync",
              std::to_string(bytes) + " stream " + text(stream));
}
STUB int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                              void *stream) {
  memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  return note("cuMemcpyDtoDAsync",
              std::to_string(bytes) + " stream " + text(stream));
}
STUB int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes,
                              void *stream) {
  memcpy(to, reinterpret_cast<void *>(from), bytes);
  return note("cuMemcpyDtoHAsync",
              std::to_string(bytes) + " stream " + text(stream));
}
STUB int cuStreamSynchronize(void *stream) {
  return note("cuStreamSynchronize", text(stream));
}
STUB int cuStreamIsCapturing(void *stream, int *status) {
  *status = state().capturing.count(stream);
  return note("cuStreamIsCapturing");
}
STUB int cuPointerGetAttribute(void *value, int, uint64_t address) {
  auto next = state().memory.upper_bound(address);
  if (next == state().memory.begin())
    return 1;
  auto [begin, bytes] = *std::prev(next);
  if (address >= begin + bytes)
    return 1;
  *static_cast<int *>(value) = 0;
  return 0;
}
