//===- Registration.cpp - The dialect and its passes in C -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq-c/Registration.h"

#include "kvq/InitAll.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"

#include <mutex>

using namespace mlir;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(KVQ, kvq, kvq::KVQDialect)

void kvqRegisterAllDialects(MlirDialectRegistry registry) {
  kvq::registerAllDialects(*unwrap(registry));
}

void kvqRegisterAllPasses() {
  static std::once_flag once;
  std::call_once(once, kvq::registerAllPasses);
}
