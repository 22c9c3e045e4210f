// What a compiler writes so that kvq-raise-attention takes its attention op.

#include "host.h"

#include "kvq/IR/AttentionLike.h"

using namespace mlir;

namespace {

struct AttentionModel
    : kvq::AttentionLikeOpInterface::ExternalModel<AttentionModel,
                                                   host::AttentionOp> {
  Value getQuery(Operation *op) const { return op->getOperand(0); }
  Value getKey(Operation *op) const { return op->getOperand(1); }
  Value getValue(Operation *op) const { return op->getOperand(2); }
  double getScale(Operation *op) const {
    return op->getAttrOfType<FloatAttr>("scale").getValueAsDouble();
  }
  StringRef getQueryAxes(Operation *op) const { return "bihc"; }
  StringRef getResultAxes(Operation *op) const { return "bihc"; }
  Value getMask(Operation *op) const {
    return op->getNumOperands() > 3 ? op->getOperand(3) : Value();
  }
  StringRef getMaskAxes(Operation *op) const { return "it"; }
  bool isCausal(Operation *op) const { return op->hasAttr("causal"); }
  std::optional<double> getSoftcap(Operation *op) const {
    auto softcap = op->getAttrOfType<FloatAttr>("softcap");
    return softcap ? std::optional(softcap.getValueAsDouble()) : std::nullopt;
  }
};

} // namespace

void host::registerAttentionLike(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HostDialect *) {
    AttentionOp::attachInterface<AttentionModel>(*context);
  });
}
