// UNSUPPORTED: asan
// RUN: %compile_c %s -o %t
// RUN: %t build | FileCheck %s
// RUN: %t %decode 'builtin.module(kvq-cpu-pipeline{openmp})' > %t.cpu.mlir
// RUN: kvq-opt %decode --kvq-cpu-pipeline=openmp | diff - %t.cpu.mlir
// RUN: %t %decode 'builtin.module(kvq-nvvm-pipeline{chip=sm_90a})' > %t.gpu.mlir
// RUN: kvq-opt %decode --kvq-nvvm-pipeline=chip=sm_90a | diff - %t.gpu.mlir
// RUN: not %t %decode 'builtin.module(kvq-cpu-pipeline{splits=-1})' | FileCheck %s --check-prefix=FAILS
// FAILS: error at {{.*}}: expected splits from 0 to 1024, got -1
// RUN: not %t %decode 'builtin.module(kvq-cpu-pipeline{tiles=3})' 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: no such option tiles
// RUN: not %t %decode 'builtin.module(kvq-none)' | FileCheck %s --check-prefix=NAME
// NAME: 'kvq-none' does not refer to a registered pass or pass pipeline
// RUN: echo '!c = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = i9>>' > %t.mlir
// RUN: not %t %t.mlir 'builtin.module()' | FileCheck %s --check-prefix=FILE
// FILE: error at loc("{{.*}}.mlir":1:{{[0-9]+}}): expected

// A compiler in C: it builds a module of an op of kvq, and lowers files.

#include "kvq-c/Registration.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/Dialect/Func.h"
#include "mlir-c/Pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "expected %s\n", what);
  exit(1);
}

static void print(MlirStringRef text, void *file) {
  fprintf(file, "%.*s", (int)text.length, text.data);
}

static MlirLogicalResult printDiagnostic(MlirDiagnostic diagnostic,
                                         void *file) {
  fprintf(file, "error at ");
  mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), print, file);
  fprintf(file, ": ");
  mlirDiagnosticPrint(diagnostic, print, file);
  fprintf(file, "\n");
  return mlirLogicalResultSuccess();
}

static MlirStringRef text(const char *characters) {
  return mlirStringRefCreateFromCString(characters);
}

static MlirType parseType(MlirContext context, const char *type) {
  MlirType parsed = mlirTypeParseGet(context, text(type));
  require(!mlirTypeIsNull(parsed), type);
  return parsed;
}

static MlirNamedAttribute name(MlirContext context, const char *key,
                               const char *value) {
  return mlirNamedAttributeGet(mlirIdentifierGet(context, text(key)),
                               mlirAttributeParseGet(context, text(value)));
}

static const char format[] =
    "#kvq.format<codes = i8, group = [1, 32], scale = f16>";

// func.func @dequantize of a `kvq.dequantize` whose format is an attribute of that
// name: the op has one, `format`.
static MlirModule buildModule(MlirContext context, const char *formatName) {
  MlirLocation here =
      mlirLocationFileLineColGet(context, text("built"), /*line=*/7, /*col=*/1);
  MlirModule module = mlirModuleCreateEmpty(here);
  MlirType types[] = {parseType(context, "tensor<2x8x64xi8>"),
                      parseType(context, "tensor<2x8x2xf16>"),
                      parseType(context, "tensor<2x8x64xf32>")};
  MlirLocation locations[] = {here, here, here};
  MlirBlock body = mlirBlockCreate(3, types, locations);

  MlirOperationState state =
      mlirOperationStateGet(text("kvq.dequantize"), here);
  MlirValue operands[] = {mlirBlockGetArgument(body, 0),
                          mlirBlockGetArgument(body, 1),
                          mlirBlockGetArgument(body, 2)};
  MlirNamedAttribute attributes[] = {
      name(context, formatName, format),
      name(context, "operandSegmentSizes", "array<i32: 2, 1>")};
  mlirOperationStateAddOperands(&state, 3, operands);
  mlirOperationStateAddAttributes(&state, 2, attributes);
  mlirOperationStateAddResults(&state, 1, &types[2]);
  MlirOperation dequantize = mlirOperationCreate(&state);
  require(!mlirOperationIsNull(dequantize), "an op");
  mlirBlockAppendOwnedOperation(body, dequantize);

  MlirOperationState end = mlirOperationStateGet(text("func.return"), here);
  MlirValue value = mlirOperationGetResult(dequantize, 0);
  mlirOperationStateAddOperands(&end, 1, &value);
  mlirBlockAppendOwnedOperation(body, mlirOperationCreate(&end));

  MlirOperationState function = mlirOperationStateGet(text("func.func"), here);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  mlirOperationStateAddOwnedRegions(&function, 1, &region);
  MlirNamedAttribute signature[] = {
      name(context, "sym_name", "\"dequantize\""),
      name(context, "function_type",
           "(tensor<2x8x64xi8>, tensor<2x8x2xf16>, tensor<2x8x64xf32>) -> "
           "tensor<2x8x64xf32>")};
  mlirOperationStateAddAttributes(&function, 2, signature);
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(module),
                                mlirOperationCreate(&function));
  return module;
}

// CHECK: func.func @dequantize(%[[CODES:.*]]: tensor<2x8x64xi8>, %[[SCALES:.*]]: tensor<2x8x2xf16>, %[[OUT:.*]]: tensor<2x8x64xf32>)
// CHECK: kvq.dequantize #{{.*}} ins(%[[CODES]], %[[SCALES]] : {{.*}}) outs(%[[OUT]]
// CHECK: error at loc("built":7:1): 'kvq.dequantize' op requires attribute 'format'
static void build(MlirContext context) {
  MlirModule module = buildModule(context, "format");
  MlirOperation op = mlirModuleGetOperation(module);
  require(mlirOperationVerify(op), "a valid module");
  mlirOperationPrint(op, print, stdout);
  mlirModuleDestroy(module);

  module = buildModule(context, "formats");
  require(!mlirOperationVerify(mlirModuleGetOperation(module)),
          "a module that is not valid");
  mlirModuleDestroy(module);
}

// Parses a file, runs a pipeline, and prints what results.
static bool lower(MlirContext context, const char *path, const char *pipeline) {
  MlirModule module = mlirModuleCreateParseFromFile(context, text(path));
  if (mlirModuleIsNull(module))
    return false;
  MlirPassManager passes = mlirPassManagerCreate(context);
  bool succeeded =
      mlirLogicalResultIsSuccess(mlirParsePassPipeline(
          mlirPassManagerGetAsOpPassManager(passes), text(pipeline), print,
          stdout)) &&
      mlirLogicalResultIsSuccess(
          mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module)));
  if (succeeded) {
    mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);
    printf("\n"); // as kvq-opt ends its output
  }
  mlirPassManagerDestroy(passes);
  mlirModuleDestroy(module);
  return succeeded;
}

int main(int argc, char **argv) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  kvqRegisterAllDialects(registry);
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__func__(), registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);
  mlirContextAttachDiagnosticHandler(context, printDiagnostic, stdout, NULL);
  kvqRegisterAllPasses();
  kvqRegisterAllPasses(); // by another part of a program

  bool succeeded = true;
  if (argc == 3)
    succeeded = lower(context, argv[1], argv[2]);
  else
    build(context);
  mlirContextDestroy(context);
  return succeeded ? 0 : 1;
}
