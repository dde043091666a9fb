// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a Python program, with the kinds and the order of CPython's `ast`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <span>
#include <string_view>

namespace glovebox::analyser {

// Memory that lives as long as one analysis. What is in it needs no destructor.
class Arena {
 public:
  static constexpr std::size_t kMost = std::size_t{192} * 1024 * 1024;

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Whether so much was taken that the analysis should end.
  [[nodiscard]] bool full() const { return taken_ > kMost; }

  template <typename T>
  T* make(T value) {
    return ::new (take(sizeof(T), alignof(T))) T(value);
  }
  template <typename T>
  std::span<const T> keep(std::span<const T> list) {
    if (list.empty()) {
      return {};
    }
    auto* const kept = static_cast<T*>(take(list.size_bytes(), alignof(T)));
    std::uninitialized_copy(list.begin(), list.end(), kept);
    return {kept, list.size()};
  }
  std::string_view keep(std::string_view text) {
    const auto kept = keep(std::span<const char>(text));
    return {kept.data(), kept.size()};
  }

 private:
  void* take(std::size_t size, std::size_t alignment) {
    taken_ += size;
    return memory_.allocate(size, alignment);
  }
  std::pmr::monotonic_buffer_resource memory_{std::size_t{64} * 1024};
  std::size_t taken_ = 0;
};

// The value of an expression that is a constant.
struct Value {
  // clang-format off
  enum class Kind : std::uint8_t {
    kNone, kEllipsis, kBool, kInt, kFloat, kComplex, kText, kBytes, kList,
    kUnknown,  // A text with a character that only a running Python knows.
  };
  // clang-format on
  Kind kind = Kind::kNone;
  bool large = false;  // An integer beyond `number`, which is then the largest or the smallest.
  std::int64_t number = 0;                // kBool, kInt
  double real = 0;                        // kFloat
  std::string_view text{};                // kText, as UTF-8 that may have surrogates; kBytes
  std::span<const Value* const> items{};  // kList

  [[nodiscard]] bool is_text() const { return kind == Kind::kText; }
  [[nodiscard]] bool is_bytes() const { return kind == Kind::kBytes; }
  [[nodiscard]] bool is_list() const { return kind == Kind::kList; }
  [[nodiscard]] bool is_int() const { return kind == Kind::kInt || kind == Kind::kBool; }
};

enum class Ast : std::uint8_t {
  // clang-format off
  // Statements
  kModule, kFunction, kClass, kReturn, kDelete, kAssign, kTypeAlias, kAugAssign, kAnnAssign, kFor,
  kWhile, kIf, kWith, kMatch, kRaise, kTry, kAssert, kImport, kImportFrom, kGlobal, kExpr, kPass,
  kMagic,
  // Expressions
  kBoolOp, kNamedExpr, kBinOp, kUnaryOp, kLambda, kIfExp, kDict, kSet, kListComp, kSetComp, kDictComp,
  kGenerator, kAwait, kYield, kCompare, kCall, kFormatted, kJoined, kConstant, kAttribute, kSubscript,
  kStarred, kName, kList, kTuple, kSlice,
  // Parts of these
  kComprehension, kHandler, kArguments, kArg, kKeyword, kAlias, kWithItem, kCase, kTypeParameter,
  kPatternValue, kPatternSequence, kPatternMapping, kPatternClass, kPatternStar, kPatternAs,
  kPatternOr,
  // clang-format on
};

// How a name, an attribute or a subscript is used; or what kind of parameter it is.
enum class Use : std::uint8_t {
  kLoad,
  kStore,
  kDelete,
  kPositional,
  kRest,
  kKeywordOnly,
  kKeywords
};

// A node. Its parts are those of CPython's node in their order, one list after the other; parts
// that the node lacks are null.
struct PythonNode {
  Ast kind = Ast::kPass;
  Use use = Use::kLoad;
  char op = '\0';            // The operator's first character; 'p' for "**" and 'f' for "//".
  std::uint16_t depth = 1;   // Of the tree from this node down, including it.
  std::uint32_t at = 0;      // Where it begins.
  std::uint32_t number = 0;  // Each node of a tree has its own, below PythonTree::nodes.
  // Where lists within the parts end:
  //   kCall: function and arguments | keywords      kClass: bases and keywords | body | decorators
  //   kDict: keys | values                          kAssign: targets | the value
  //   kWhile, kFor: … and body | orelse             kArguments: see PythonTree
  std::uint32_t split = 0;
  std::uint32_t second = 0;
  std::string_view name{};   // Identifiers are normalized as CPython does it.
  std::string_view other{};  // kAlias: after "as". kImportFrom: the dots before the module.
  const Value* value = nullptr;
  std::span<PythonNode* const> parts{};
};

}  // namespace glovebox::analyser
