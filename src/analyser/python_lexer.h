// SPDX-License-Identifier: Apache-2.0
// The tokens of a Python program, as CPython's tokenizer finds them, with f-strings in parts.
//
// A tokenizer that disagrees with the interpreter about where a string or a comment ends hides
// code, so what this one is not sure about is an error and never a guess.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::analyser {

enum class Tok : std::uint8_t {
  // clang-format off
  kEnd, kNewline, kIndent, kDedent, kName, kNumber, kString,
  kFormatStart, kFormatMiddle, kFormatEnd,  // f"…": its parts are in between, fields in braces.
  kMagic,                                   // A line for IPython: "!ls", "%time x".
  // Keywords
  kAnd, kAs, kAssert, kAsync, kAwait, kBreak, kClass, kContinue, kDef, kDel, kElif, kElse, kExcept,
  kFalse, kFinally, kFor, kFrom, kGlobal, kIf, kImport, kIn, kIs, kLambda, kNone, kNonlocal, kNot,
  kOr, kPass, kRaise, kReturn, kTrue, kTry, kWhile, kWith, kYield,
  // Operators
  kLeftParen, kRightParen, kLeftBracket, kRightBracket, kLeftBrace, kRightBrace, kComma, kColon,
  kSemicolon, kDot, kEllipsis, kArrow, kWalrus, kAssign, kAugmented, kBang, kPlus, kMinus, kStar,
  kPower, kSlash, kFloorDivide, kPercent, kAt, kShift, kAmpersand, kBar, kCaret, kTilde, kCompare,
  // clang-format on
};

struct Token {
  Tok kind = Tok::kEnd;
  std::uint32_t begin = 0;  // Offsets in the text.
  std::uint32_t end = 0;
};

struct Tokens {
  std::vector<Token> list{};  // Ends with kEnd.
  // Why the text is not a program, and where; empty: it may be one.
  std::string problem{};
  std::uint32_t problem_at = 0;
};

// The text as CPython reads it: line ends are "\n", and there is no byte order mark.
std::string with_plain_lines(std::string_view text);

// Why the encoding that the first lines of `text` declare could turn it into another program;
// empty: it cannot.
std::string strange_encoding(std::string_view text);

// `text` is UTF-8 with plain lines, of at most 4 GiB.
Tokens tokens_of(std::string_view text);

}  // namespace glovebox::analyser
