//===- FloatText.cpp - Floats as they were written ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloatText.h"

#include <cstdio>
#include <cstdlib>

std::string mlir::kvq::toShortestText(float value) {
  constexpr int kMaxDigits = 9; // as many tell any two f32 apart
  char digits[32];
  for (int count = 1; count <= kMaxDigits; ++count) {
    std::snprintf(digits, sizeof(digits), "%.*g", count, value);
    if (std::strtof(digits, nullptr) == value)
      break;
  }
  // A literal without a point would be an integer.
  std::string text = digits;
  if (text.find('.') == std::string::npos)
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}
