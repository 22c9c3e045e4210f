//===- Mutator.cpp - Damage to text and bytes -----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutator.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace llvm;

static bool isWord(char c) {
  return isAlnum(c) || c == '_' || c == '.' || c == '$';
}

/// Words with their sigil, text between quotes, spaces and single signs.
static std::vector<std::string> splitTokens(StringRef text) {
  std::vector<std::string> tokens;
  while (!text.empty()) {
    size_t length = 1;
    if (text[0] == '"')
      length = std::min(text.find('"', 1), text.size() - 1) + 1;
    else if (isSpace(text[0]))
      length = text.size() - text.ltrim().size();
    else if (isWord(text[0]) || StringRef("#!%@^-").contains(text[0]))
      length += text.drop_front().take_while(isWord).size();
    tokens.push_back(text.take_front(length).str());
    text = text.drop_front(length);
  }
  return tokens;
}

static bool hasDigit(StringRef token) {
  return any_of(token, [](char c) { return isDigit(c); });
}

/// Borders of sizes, widths and counts.
static const std::vector<std::string> kNumbers = {"0",
                                                  "1",
                                                  "-1",
                                                  "2",
                                                  "3",
                                                  "4",
                                                  "5",
                                                  "6",
                                                  "7",
                                                  "8",
                                                  "9",
                                                  "16",
                                                  "31",
                                                  "32",
                                                  "33",
                                                  "63",
                                                  "64",
                                                  "65",
                                                  "127",
                                                  "128",
                                                  "255",
                                                  "256",
                                                  "257",
                                                  "512",
                                                  "4096",
                                                  "65536",
                                                  "2147483647",
                                                  "4294967296",
                                                  "9223372036854775807",
                                                  "18446744073709551615",
                                                  "18446744073709551616",
                                                  "-9223372036854775808",
                                                  "1.0",
                                                  "-0.0",
                                                  "1.0e-45",
                                                  "1.0e+39",
                                                  "0x7FC00000"};

/// Whether it is one of several results of an op, %x#1, of which MLIR's parser
/// makes room for as many.
static bool isResultNumber(StringRef token) {
  return token.size() > 1 && token[0] == '#' && isDigit(token[1]);
}

/// The token with one of its runs of digits replaced.
static std::string replaceNumber(fuzz::Random &random, StringRef token) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t i = 0; i < token.size(); ++i)
    if (isDigit(token[i])) {
      size_t length = token.drop_front(i)
                          .take_while([](char c) { return isDigit(c); })
                          .size();
      runs.push_back({i, length});
      i += length;
    }
  auto [begin, length] = random.pick(runs);
  std::string number = isResultNumber(token) ? std::to_string(random.below(9))
                                             : random.pick(kNumbers);
  return (token.take_front(begin) + number + token.drop_front(begin + length))
      .str();
}

/// A token that starts as `token` does, which so often has its meaning too.
static std::string pickAlike(fuzz::Random &random, StringRef token,
                             const std::vector<std::string> &tokens) {
  std::vector<std::string> alike;
  for (const std::string &candidate : tokens)
    if (!candidate.empty() && candidate[0] == token[0])
      alike.push_back(candidate);
  return alike.empty() ? token.str() : random.pick(alike);
}

static void damageToken(fuzz::Random &random, std::vector<std::string> &tokens,
                        const std::vector<std::string> &others) {
  std::vector<size_t> solid;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (!tokens[i].empty() && !isSpace(tokens[i][0]))
      solid.push_back(i);
  if (solid.empty())
    return;
  std::string &token = tokens[random.pick(solid)];
  switch (random.below(10)) {
  case 0:
    token.clear();
    return;
  case 1:
    token += " " + token;
    return;
  case 2:
    token = tokens[random.pick(solid)];
    return;
  case 3:
    std::swap(token, tokens[random.pick(solid)]);
    return;
  case 4:
    token = random.pick(others);
    return;
  case 5:
    token = pickAlike(random, token, others);
    return;
  case 6:
    token = pickAlike(random, token, tokens);
    return;
  default: {
    std::vector<size_t> numbers;
    copy_if(solid, std::back_inserter(numbers),
            [&](size_t i) { return hasDigit(tokens[i]); });
    if (numbers.empty())
      return;
    std::string &number = tokens[random.pick(numbers)];
    number = replaceNumber(random, number);
  }
  }
}

std::string fuzz::damageText(Random &random, StringRef text, StringRef other) {
  std::vector<std::string> tokens = splitTokens(text);
  std::vector<std::string> others = splitTokens(other);
  for (size_t count = 1 + random.below(3); count > 0; --count)
    damageToken(random, tokens, others);
  return join(tokens, "");
}

std::string fuzz::damageBytes(Random &random, StringRef bytes) {
  std::string damaged = bytes.str();
  for (size_t count = 1 + random.below(4); count > 0 && !damaged.empty();
       --count) {
    size_t at = random.below(damaged.size());
    switch (random.below(6)) {
    case 0:
      damaged[at] ^= char(1 << random.below(8));
      break;
    case 1:
      damaged[at] = char(random.below(256));
      break;
    case 2:
      damaged[at] = damaged[random.below(damaged.size())];
      break;
    case 3:
      damaged.erase(at, 1 + random.below(8));
      break;
    case 4:
      damaged.insert(at, damaged.substr(random.below(damaged.size()),
                                        1 + random.below(8)));
      break;
    default:
      if (random.oneIn(4))
        damaged.resize(at);
      else
        damaged[at] = char(damaged[at] + (random.oneIn(2) ? 1 : -1));
    }
  }
  return damaged;
}
