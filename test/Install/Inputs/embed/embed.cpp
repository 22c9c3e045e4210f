// Lowers a module over caches to the LLVM dialect: `embed FILE PIPELINE`.

#include "host.h"

#include "kvq/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: embed FILE PIPELINE\n";
    return 1;
  }
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, host::HostDialect>();
  host::registerAttentionLike(registry);
  mlir::kvq::registerAllDialects(registry);
  mlir::kvq::registerAllPasses();

  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  auto passes = mlir::PassManager::on<mlir::ModuleOp>(&context);
  if (!module || mlir::failed(mlir::parsePassPipeline(argv[2], passes)) ||
      mlir::failed(passes.run(*module)))
    return 1;
  module->print(llvm::outs());
  llvm::outs() << "\n"; // as mlir-opt ends its output
  return 0;
}
