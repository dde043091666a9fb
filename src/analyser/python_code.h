// SPDX-License-Identifier: Apache-2.0
// What the parts of the analysis of a Python program share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyser/facts.h"
#include "analyser/inside.h"
#include "analyser/lines.h"
#include "analyser/python_tree.h"
#include "analyser/python_values.h"

namespace glovebox::analyser {

// Whether an attribute's name, or part of it, may lead from an object to what must not be reached.
bool leads_out(std::string_view attribute);

// Looks at the nodes of a tree.
class PythonVisitor {
 public:
  PythonVisitor(Values& values, const Lines& lines, Facts& facts)
      : values_(values), lines_(lines), facts_(facts) {}
  void visit(const PythonNode* node);

 private:
  void add(Kind kind, std::string_view name, const PythonNode& node) {
    facts_.add(kind, name, lines_.place(node.at));
  }
  void pattern(std::string_view name, const PythonNode& node) { add(Kind::kPattern, name, node); }
  void visit_parts(const PythonNode& node);
  void visit_import(const PythonNode& node);
  void visit_name(const PythonNode& node);
  void visit_attribute(const PythonNode& node);
  void visit_subscript(const PythonNode& node);
  void visit_constant(const PythonNode& node);
  void visit_operation(const PythonNode& node);
  void visit_while(const PythonNode& node);
  void visit_call(const PythonNode& node);
  void report(const PythonNode& node);
  void secret(std::string_view name, const PythonNode* value);
  bool is_huge(const PythonNode* node);

  // Calls (python_calls.cc)
  struct Call;
  void called(std::string_view name, const PythonNode& node);
  void settings(std::string_view name, const Call& call);
  void code(const PythonNode& node, const PythonNode* first);
  void looked_up(const PythonNode& node);
  void shell_command(const PythonNode& node, const PythonNode* command);
  void argv_command(std::string_view name, const Call& call);
  void command(const PythonNode& node,
               std::span<const std::string_view> texts,
               const std::vector<std::vector<std::string>>& lists,
               bool shell,
               const PythonNode* first);
  void shell(std::string_view text, const PythonNode& node);
  std::vector<std::vector<std::string>> word_lists(const PythonNode* node);
  std::string word(const PythonNode* node);
  std::string partial(const PythonNode* node);
  void file(const PythonNode* node, bool writes, const PythonNode& at);
  void opened(const Call& call, const PythonNode* first);
  void connected(const PythonNode& node, const PythonNode* first);
  void method(const PythonNode& node);

  Values& values_;
  const Lines& lines_;
  Facts& facts_;
};

}  // namespace glovebox::analyser
