//===- Diagnostics.cpp - Diagnostics as text ----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvq;

static StringRef getSeverityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("unknown severity");
}

/// `file:line:column: ` where the location has a place in a file.
static void printPlace(llvm::raw_ostream &os, Location location) {
  FileLineColLoc place;
  location->walk([&](Location inner) {
    place = dyn_cast<FileLineColLoc>(inner);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (place)
    os << place.getFilename().getValue() << ":" << place.getLine() << ":"
       << place.getColumn() << ": ";
}

static void print(llvm::raw_ostream &os, Diagnostic &diagnostic, bool places) {
  if (places) {
    printPlace(os, diagnostic.getLocation());
    os << getSeverityName(diagnostic.getSeverity()) << ": ";
  }
  os << diagnostic << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    print(os, note, places);
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context, bool places)
    : handler(context, [this, places](Diagnostic &diagnostic) {
        bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
        llvm::raw_string_ostream os(isError ? errors : warnings);
        print(os, diagnostic, places);
        return success();
      }) {}

llvm::Error DiagnosticCollector::takeError(const llvm::Twine &fallback) {
  if (errors.empty())
    return llvm::createStringError(fallback);
  std::string text = StringRef(errors).rtrim().str();
  errors.clear();
  return llvm::createStringError(text);
}

int kvq::finishTool(llvm::StringRef name, llvm::Error error) {
  if (!error)
    return 0;
  // What comes from the compiler has its place and severity; the rest is ours.
  std::string text = llvm::toString(std::move(error));
  if (llvm::StringRef(text).contains("error: "))
    llvm::errs() << text << "\n";
  else
    llvm::WithColor::error(llvm::errs(), name) << text << "\n";
  return 1;
}
