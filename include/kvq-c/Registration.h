//===- kvq-c/Registration.h - The dialect and its passes in C --- -*- C -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_C_REGISTRATION_H
#define KVQ_C_REGISTRATION_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `mlirGetDialectHandle__kvq__`: the dialect alone, to read, build and print.
 */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(KVQ, kvq);

/** Registers the dialect and what its pipelines need: interfaces of its ops,
 * and of MLIR's ops that kvq's become. Other dialects of a module (func, say)
 * are the caller's to register. */
MLIR_CAPI_EXPORTED void kvqRegisterAllDialects(MlirDialectRegistry registry);

/** Registers all passes and pipelines by name, for `mlirParsePassPipeline` and
 *  `mlirOpPassManagerAddPipeline`. Once or several times in a process. */
MLIR_CAPI_EXPORTED void kvqRegisterAllPasses(void);

#ifdef __cplusplus
}
#endif

#endif /* KVQ_C_REGISTRATION_H */
