//===- Options.cpp - Options of kvq-compile -------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

namespace cl = llvm::cl;
using namespace mlir;

/// Where the defaults of the pipeline's options come from.
static const kvq::CPUPipelineOptions &getDefaults() {
  static const kvq::CPUPipelineOptions defaults;
  return defaults;
}

cl::OptionCategory category("Options of kvq-compile");

cl::opt<std::string> inputName(cl::Positional, cl::desc("<input .mlir, or - >"),
                               cl::init("-"), cl::cat(category));
cl::opt<std::string> outputName("o", cl::desc("Output file"),
                                cl::value_desc("file"), cl::init("-"),
                                cl::cat(category));
cl::opt<Emit> emitKind(
    "emit", cl::desc("What to write"),
    cl::values(clEnumValN(Emit::LLVM, "llvm", "optimized LLVM IR, as text"),
               clEnumValN(Emit::Assembly, "asm", "assembly of the target"),
               clEnumValN(Emit::Object, "obj", "an object file"),
               clEnumValN(Emit::SharedObject, "so",
                          "a shared object, linked by the C compiler that $CC "
                          "names, or cc"),
               clEnumValN(Emit::PTX, "ptx", "kernels for NVIDIA GPUs, as text"),
               clEnumValN(Emit::Cubin, "cubin",
                          "kernels for NVIDIA GPUs, assembled by ptxas"),
               clEnumValN(Emit::Fatbin, "fatbin",
                          "kernels for several NVIDIA GPUs in one binary, by "
                          "ptxas and fatbinary"),
               clEnumValN(Emit::Header, "header",
                          "a C header that says how functions are called, or "
                          "with --chip how kernels are launched"),
               clEnumValN(Emit::Manifest, "manifest",
                          "how kernels are launched as JSON, by chip")),
    cl::init(Emit::Object), cl::cat(category));

cl::opt<int64_t> splits(
    "splits",
    cl::desc("Token ranges per query token, attended to independently "
             "(default: by the schedules or the cost model; 1 on a GPU)"),
    cl::cat(category));
cl::opt<int64_t>
    tileTokens("tile-tokens",
               cl::desc("Most tokens in a tile (default: by the schedules or "
                        "the cost model; 64 on a GPU)"),
               cl::cat(category));
cl::opt<int64_t> headsInside(
    "heads-inside",
    cl::desc("Tokens of which a work item reads all KV heads in turn, 0 for a "
             "work item for each head (default: by the schedules or the cost "
             "model)"),
    cl::cat(category));
cl::opt<int64_t>
    prefetch("prefetch",
             cl::desc("How many tiles ahead lines are prefetched, 0 for none "
                      "(default: by the schedules or the cost model)"),
             cl::cat(category));
cl::opt<int64_t>
    threads("for-threads",
            cl::desc("Threads that calls run on, which splits are chosen for "
                     "(default: 1)"),
            cl::init(getDefaults().threads), cl::cat(category));
cl::opt<std::string>
    schedules("schedules",
              cl::desc("Schedules that `python -m kvq_mlir tune` has written"),
              cl::value_desc("file"), cl::cat(category));
cl::opt<int64_t> queryTile(
    "query-tile",
    cl::desc("Query tokens in a work item (0: by how many there are; for a GPU "
             "1 where a block's memory holds no more)"),
    cl::init(getDefaults().queryTile), cl::cat(category));
cl::opt<kvq::CodeCopies>
    copies("copies",
           cl::desc("How codes for tensor cores come to a block's memory:"),
           cl::values(clEnumValN(kvq::CodeCopies::Async, "async",
                                 "by cp.async, 16 bytes a lane"),
                      clEnumValN(kvq::CodeCopies::Bulk, "bulk",
                                 "by bulk copies, on chips that have them")),
           cl::init(kvq::CodeCopies::Async), cl::cat(category));
cl::opt<int64_t>
    vectorWidth("vector-width",
                cl::desc("Elements of f32 in a vector register (default: the "
                         "processor's)"),
                cl::init(getDefaults().vectorWidth), cl::cat(category));
cl::opt<bool> openMP(
    "openmp",
    cl::desc("Deal work items out to the threads of OpenMP (link with -lomp)"),
    cl::init(getDefaults().openMP), cl::cat(category));
cl::opt<std::string>
    target("target",
           cl::desc("Triple, such as aarch64-linux-gnu (default: this "
                    "machine's)"),
           cl::value_desc("triple"), cl::cat(category));
cl::opt<std::string>
    cpu("cpu", cl::desc("Processor, as LLVM names it (default: this one)"),
        cl::cat(category));
cl::opt<std::string>
    features("features",
             cl::desc("Features beyond the processor's own, +name or -name"),
             cl::value_desc("list"), cl::cat(category));

const kvq::NVVMPipelineOptions &getGPUDefaults() {
  static const kvq::NVVMPipelineOptions defaults;
  return defaults;
}

cl::list<std::string>
    chips("chip",
          cl::desc("GPUs, as NVIDIA names them; several with --emit=fatbin, "
                   "header or manifest (default: sm_80; header: none)"),
          cl::value_desc("chip,..."), cl::CommaSeparated, cl::cat(category));
cl::opt<unsigned>
    ptxVersion("ptx",
               cl::desc("PTX version, 83 for 8.3 (default: the first that has "
                        "all that the chip can do)"),
               cl::init(getGPUDefaults().ptx), cl::cat(category));
cl::opt<int64_t> blockSize("block-size",
                           cl::desc("Threads in a block of a GPU"),
                           cl::init(getGPUDefaults().blockSize),
                           cl::cat(category));
