//===- InitAll.cpp - Registers all that kvq brings ----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/InitAll.h"

#include "kvq/TransformOps/KVQTransformOps.h"
#include "kvq/Transforms/Bufferization.h"

using namespace mlir;

void kvq::registerAllDialects(DialectRegistry &registry) {
  registry.insert<KVQDialect>();
  registerTransformExtension(registry);
  registerBufferizableOps(registry);
  registerUpstreamInterfaces(registry);
}

void kvq::registerAllPasses() {
  registerKVQPasses();
  registerKVQConversionPasses();
  registerPipelines();
}
