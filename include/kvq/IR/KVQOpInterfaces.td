//===- KVQOpInterfaces.td - What other dialects' ops may say -*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQOPINTERFACES_TD
#define KVQ_IR_KVQOPINTERFACES_TD

include "mlir/IR/OpBase.td"

def KVQ_AttentionLikeOpInterface : OpInterface<"AttentionLikeOpInterface"> {
  let cppNamespace = "::mlir::kvq";
  let description = [{
    Scaled dot-product attention of another dialect, on tensors: its result is
    softmax(scale * q k^T + mask) v. `kvq-raise-attention` makes a `kvq.attention`
    over exact caches of an op with this interface. A compiler implements it for
    an op of its own as an external model, without a change to the op:

    ```cpp
    struct Model : kvq::AttentionLikeOpInterface::ExternalModel<Model, AttentionOp> {
      Value getQuery(Operation *op) const { return op->getOperand(0); }
      Value getKey(Operation *op) const { return op->getOperand(1); }
      Value getValue(Operation *op) const { return op->getOperand(2); }
      double getScale(Operation *op) const { return cast<AttentionOp>(op).getScale(); }
    };
    AttentionOp::attachInterface<Model>(context);
    ```

    The axes of a tensor are letters, one for each: `b` sequences, `h` heads, `i`
    query tokens, `t` tokens of keys and values, `c` channels. A tensor may lack
    `b` and `h` where there is one of them, and a mask any but `t`. Keys and values
    have as many heads as queries or a divisor of it, KV heads: query head h reads KV head
    floor(h / (query heads / KV heads)). The op has one result.
  }];
  let methods = [
    InterfaceMethod<"Queries, a tensor of floats.", "::mlir::Value", "getQuery">,
    InterfaceMethod<"Keys, a tensor of floats.", "::mlir::Value", "getKey">,
    InterfaceMethod<"Values, a tensor of floats.", "::mlir::Value", "getValue">,
    InterfaceMethod<"What products of queries and keys are multiplied by.",
      "double", "getScale">,
    InterfaceMethod<"The axes of queries.", "::llvm::StringRef", "getQueryAxes",
      (ins), "", [{ return "bhic"; }]>,
    InterfaceMethod<"The axes of keys.", "::llvm::StringRef", "getKeyAxes",
      (ins), "", [{ return "bhtc"; }]>,
    InterfaceMethod<"The axes of values.", "::llvm::StringRef", "getValueAxes",
      (ins), "", [{ return "bhtc"; }]>,
    InterfaceMethod<"The axes of the result.", "::llvm::StringRef",
      "getResultAxes", (ins), "", [{ return "bhic"; }]>,
    InterfaceMethod<"A mask, or null: floats are added to scores, an i1 or i8 is "
                    "not 0 where a query sees a token.",
      "::mlir::Value", "getMask", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"The axes of the mask.", "::llvm::StringRef", "getMaskAxes",
      (ins), "", [{ return "bhit"; }]>,
    InterfaceMethod<"Tokens of each sequence, a tensor<batch x i64>, or null: all "
                    "that keys have.",
      "::mlir::Value", "getLengths", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"True where query i of n sees tokens up to length - n + i "
                    "alone.",
      "bool", "isCausal", (ins), "", [{ return false; }]>,
    InterfaceMethod<"Scores become softcap * tanh(scores / softcap).",
      "::std::optional<double>", "getSoftcap", (ins), "",
      [{ return ::std::nullopt; }]>
  ];
}

#endif // KVQ_IR_KVQOPINTERFACES_TD
