// SPDX-License-Identifier: Apache-2.0
// What an expression of Python may stand for: a constant, or a dotted name that begins at an import
// or a builtin.
//
// Names are followed wherever a program binds them, without regard to order. Only operations on
// constants are computed, with bounded results; nothing of the code is run.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyser/python_constants.h"
#include "analyser/python_parser.h"
#include "analyser/python_tree.h"

namespace glovebox::analyser {

struct Meaning {
  const Value* value = nullptr;  // A constant; or
  std::string_view name{};       // a name. "()" after a part stands for what a call returns.
};
using Meanings = std::span<const Meaning>;

class Values {
 public:
  explicit Values(const PythonTree& tree, Arena& arena);

  // All that `node` may stand for, as far as it can be known.
  Meanings of(const PythonNode* node);
  std::vector<const Value*> constants(const PythonNode* node);
  std::vector<std::string_view> names(const PythonNode* node);
  std::vector<std::string_view> texts(const PythonNode* node);
  // The first constant; null: there is none.
  const Value* constant(const PythonNode* node);
  bool has_name(const PythonNode* node, std::string_view name);
  // Whether it may be a name at all.
  bool is_named(const PythonNode* node);

  static bool is_builtin(std::string_view name);
  // Whether the program imports the module, or binds a name to something in it.
  [[nodiscard]] bool imports(std::string_view module) const;
  // Whether something was left out because there is too much to follow.
  [[nodiscard]] bool entangled() const { return entangled_ || budget_ < 0 || arena_.full(); }
  // One spelling for each function, whatever module it was reached through.
  std::string_view canonical(std::string_view name);

 private:
  static constexpr std::size_t kMostConstants = 8;
  static constexpr std::size_t kMostNames = 64;
  static constexpr std::size_t kMostBindings = 256;  // Of one name.
  static constexpr int kMostDepth = 700;
  static constexpr int kNobody = std::numeric_limits<int>::max();

  struct Bound {
    const PythonNode* node = nullptr;  // An expression; or
    Meaning meaning{};
  };
  struct Known {
    bool known = false;
    Meanings meanings{};
  };
  struct Binding {
    bool bound = false;
    std::vector<Bound> values{};
    int busy = kNobody;  // How many names were being followed when this one was begun.
    Known known{};
  };
  // Names and constants that an expression is found to mean, until all are found.
  class Finding {
   public:
    explicit Finding(Values& values) : values_(values), begin_(values.found_.size()) {}
    ~Finding() { values_.found_.resize(begin_); }
    Finding(const Finding&) = delete;
    Finding& operator=(const Finding&) = delete;
    Meanings kept();

   private:
    Values& values_;
    std::size_t begin_;
  };

  // Bindings
  void bind_statements(const PythonTree& tree);
  void bind_import(const PythonNode& node);
  void bind_parameters(const PythonNode& arguments);
  void bind_names(const PythonNode& node);
  void bind(std::string_view name, Bound bound);
  void know(std::string_view name) { bindings_[name].bound = true; }
  void bind_target(const PythonNode* target, const PythonNode* value);
  void bind_items(const PythonNode* target, const PythonNode* items);

  // Each adds to `found_`.
  void add(Meaning meaning) { found_.push_back(meaning); }
  void add(Meanings meanings) { found_.insert(found_.end(), meanings.begin(), meanings.end()); }
  void add_name(std::string_view name) { add(Meaning{.name = name}); }
  void add(const Constants::Found& value);
  void find(const PythonNode& node);
  void find_name(std::string_view name);
  void find_attribute(const PythonNode* object, std::string_view attribute);
  void find_list(const PythonNode& node);
  void find_joined(const PythonNode& node);
  void find_comprehension(const PythonNode& node);
  void find_operation(const PythonNode& node);
  void find_subscript(const PythonNode& node);
  void find_item(const Value& sequence, const PythonNode* index);
  void find_call(const PythonNode& node);
  void find_called(std::string_view name, const PythonNode& node);
  void find_method(const Value& value, const PythonNode& node);
  // Returns what is known, or finds it now and remembers it, unless it depends on a name that is
  // still being followed.
  template <typename Find>
  Meanings remembered(Known& known, Find find, int busy);
  Meanings meanings_of(std::string_view name);

  Arena& arena_;
  Constants constants_;
  std::unordered_map<std::string_view, Binding> bindings_;
  std::vector<std::string_view> stars_;
  std::vector<std::string_view> imported_;  // Sorted.
  std::vector<Known> known_;                // By the number of a node.
  std::vector<Meaning> found_;
  int names_busy_ = 0;
  int met_ = kNobody;    // The first busy name that was asked for.
  bool trying_ = false;  // A name is being tried with one value after another.
  int depth_ = 0;
  int budget_ = 200'000;
  bool entangled_ = false;
};

}  // namespace glovebox::analyser
