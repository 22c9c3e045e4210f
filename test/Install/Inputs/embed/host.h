// A dialect of the compiler's own, with an attention op that knows nothing of
// kvq.

#pragma once

#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"

namespace host {

/// "host.attention"(%q, %k, %v[, %mask]) {scale = f32[, softcap = f32][,
/// causal]}: queries batch x tokens x heads x channels, keys and values batch x
/// heads x tokens x channels, a mask query tokens x tokens.
class AttentionOp
    : public mlir::Op<AttentionOp, mlir::OpTrait::AtLeastNOperands<3>::Impl,
                      mlir::OpTrait::OneResult> {
public:
  using Op::Op;
  static llvm::StringRef getOperationName() { return "host.attention"; }
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() {
    static llvm::StringRef names[] = {"scale", "softcap", "causal"};
    return names;
  }
};

class HostDialect : public mlir::Dialect {
public:
  explicit HostDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context,
                mlir::TypeID::get<HostDialect>()) {
    addOperations<AttentionOp>();
  }
  static llvm::StringRef getDialectNamespace() { return "host"; }
};

/// Tells kvq that the op is attention.
void registerAttentionLike(mlir::DialectRegistry &registry);

} // namespace host
