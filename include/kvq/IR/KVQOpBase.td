//===- KVQOpBase.td - What definitions of ops share --------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQOPBASE_TD
#define KVQ_IR_KVQOPBASE_TD

include "kvq/IR/KVQDialect.td"
include "kvq/IR/KVQAttrs.td"
include "kvq/IR/KVQPolicy.td"
include "kvq/IR/KVQTypes.td"
include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"
include "mlir/IR/OpAsmInterface.td"

/// An attribute without a dialect's prefix is one of the op, or a mistake.
def KVQ_KnownAttributes : NativeOpTrait<"KnownAttributes"> {
  let cppNamespace = "::mlir::kvq";
}

class KVQ_Op<string mnemonic, list<Trait> traits = []>
    : Op<KVQ_Dialect, mnemonic, !listconcat(traits, [KVQ_KnownAttributes])>;

def KVQ_FloatTensor : RankedTensorOf<[F16, BF16, F32]>;
def KVQ_CodeTensor : RankedTensorOf<[I8]>;
def KVQ_LengthTensor : 1DTensorOf<[I64]>;
/// positions x frequencies: cosines or sines of the angles of RoPE.
def KVQ_RopeTable : 2DTensorOf<[F32]>;
/// batch x max_pages: the pages of each sequence, in order.
def KVQ_PageTable : 2DTensorOf<[I64]>;
def KVQ_MaskTensor : RankedTensorOf<[F16, BF16, F32, I8]>;

#endif // KVQ_IR_KVQOPBASE_TD
