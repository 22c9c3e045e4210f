//===- KVQDialect.td - The kvq dialect ---------------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQDIALECT_TD
#define KVQ_IR_KVQDIALECT_TD

include "mlir/IR/OpBase.td"

def KVQ_Dialect : Dialect {
  let name = "kvq";
  let cppNamespace = "::mlir::kvq";
  let summary = "The quantized KV cache of transformer inference";
  let description = [{
    A decoder keeps the keys and values of all earlier tokens. This dialect
    writes the whole representation of such a cache (code width, grouping,
    range, scale, zero, exact windows) in one type, `!kvq.cache`, and derives
    from it the storage, the append, the attention over it, its exact bytes and
    its error.

    Levels of ops:

    - cache level (`kvq.empty`, `kvq.from_components`, `kvq.append`,
      `kvq.attention`): what a model says;
    - tile level (`kvq.partial_attention`, `kvq.merge_partials`,
      `kvq.load_tile`, `kvq.load_given`): attention as online softmax over token
      ranges;
    - work items (`kvq.forall`) that write to the same tensors;
    - value level (`kvq.quantize`, `kvq.dequantize`, `kvq.count_saturated`,
      `kvq.rotate`, `kvq.pack`, `kvq.unpack`): the arithmetic of one format.

    Keys act before the softmax and values after it, so every op that takes both
    takes two caches with formats of their own.
  }];
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  // By hand, for the names that stand for other attributes.
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter &printer) const override;
  }];
  let hasRegionArgAttrVerify = 1;
}

#endif // KVQ_IR_KVQDIALECT_TD
