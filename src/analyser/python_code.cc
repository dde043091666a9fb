// SPDX-License-Identifier: Apache-2.0
#include "analyser/python.h"

#include <algorithm>
#include <array>
#include <string>

#include "analyser/python_code.h"
#include "analyser/python_lexer.h"
#include "analyser/python_magics.h"
#include "analyser/python_parser.h"
#include "analyser/secrets.h"
#include "analyser/shell.h"

namespace glovebox::analyser {
namespace {

constexpr std::array<std::string_view, 38> kInnocent = {"__init__",     "__name__",
                                                        "__doc__",      "__file__",
                                                        "__version__",  "__len__",
                                                        "__class__",    "__eq__",
                                                        "__hash__",     "__repr__",
                                                        "__str__",      "__iter__",
                                                        "__next__",     "__enter__",
                                                        "__exit__",     "__call__",
                                                        "__getitem__",  "__setitem__",
                                                        "__contains__", "__post_init__",
                                                        "__all__",      "__annotations__",
                                                        "__add__",      "__sub__",
                                                        "__mul__",      "__lt__",
                                                        "__gt__",       "__new__",
                                                        "__module__",   "__qualname__",
                                                        "__main__",     "__author__",
                                                        "__path__",     "__dataclass_fields__",
                                                        "__members__",  "__slots__",
                                                        "__setattr__",  "__delattr__"};
constexpr std::array<std::string_view, 11> kFrames = {
    "f_globals", "f_locals", "f_builtins", "f_back",   "f_code",      "gi_frame",
    "gi_code",   "tb_frame", "cr_frame",   "ag_frame", "func_globals"};

template <typename List>
bool among(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool is_text(const PythonNode* node) {
  return node->kind == Ast::kConstant &&
         (node->value->is_text() || node->value->kind == Value::Kind::kUnknown);
}

bool is_large(const Value& value, std::int64_t most) {
  return value.is_int() && (value.large || value.number > most);
}

}  // namespace

bool leads_out(std::string_view attribute) {
  const bool hidden = attribute.starts_with("__") && attribute.ends_with("__");
  return (hidden && !among(kInnocent, attribute)) || among(kFrames, attribute);
}

// NOLINTNEXTLINE(misc-no-recursion): the parser bounds the depth of a tree.
void PythonVisitor::visit(const PythonNode* node) {
  if (node == nullptr || facts_.full()) {
    return;
  }
  switch (node->kind) {
    case Ast::kImport:
    case Ast::kImportFrom:
      return visit_import(*node);
    case Ast::kName:
      return visit_name(*node);
    case Ast::kAttribute:
      return visit_attribute(*node);
    case Ast::kSubscript:
      return visit_subscript(*node);
    case Ast::kExpr:
      return is_text(node->parts[0]) ? void() : visit(node->parts[0]);
    case Ast::kConstant:
      return visit_constant(*node);
    case Ast::kBinOp:
      return visit_operation(*node);
    case Ast::kAssign:
      for (std::size_t i = 0; i < node->split; ++i) {
        const PythonNode& target = *node->parts[i];
        const bool named = target.kind == Ast::kName || target.kind == Ast::kAttribute;
        secret(named ? target.name : "", node->parts[node->split]);
      }
      break;
    case Ast::kKeyword:
      secret(node->name, node->parts[0]);
      break;
    case Ast::kWhile:
      visit_while(*node);
      break;
    case Ast::kCall:
      visit_call(*node);
      break;
    case Ast::kMagic:
      analyse_magic(node->name, lines_.inside(node->at), facts_);
      break;
    default:
      break;
  }
  visit_parts(*node);
}

// NOLINTNEXTLINE(misc-no-recursion)
void PythonVisitor::visit_parts(const PythonNode& node) {
  for (const PythonNode* const part : node.parts) {
    visit(part);
  }
}

void PythonVisitor::visit_import(const PythonNode& node) {
  for (const PythonNode* const alias : node.parts) {
    if (node.kind == Ast::kImport) {
      add(Kind::kModule, alias->name, node);
    } else if (node.other.empty()) {
      const std::string module(node.name);
      add(Kind::kModule, module, node);
      const std::string name =
          alias->name == "*" ? module : module + "." + std::string(alias->name);
      add(Kind::kName, std::string(values_.canonical(name)), node);
    }
  }
}

void PythonVisitor::visit_name(const PythonNode& node) {
  if (node.use == Use::kLoad) {
    report(node);
    if (node.name == "__builtins__" || node.name == "__loader__" || node.name == "__spec__") {
      add(Kind::kAttribute, node.name, node);
    }
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
void PythonVisitor::visit_attribute(const PythonNode& node) {
  report(node);
  const auto look = [this](const PythonNode& attribute) {
    if (leads_out(attribute.name)) {
      add(Kind::kAttribute, attribute.name, attribute);
    }
  };
  look(node);
  const PythonNode* inner = node.parts[0];
  if (values_.is_named(inner)) {
    // The parts of a chain are not uses of their own.
    while (inner->kind == Ast::kAttribute) {
      look(*inner);
      inner = inner->parts[0];
    }
    if (inner->kind == Ast::kName) {
      return;
    }
  }
  visit(inner);
}

void PythonVisitor::report(const PythonNode& node) {
  for (const std::string_view name : values_.names(&node)) {
    add(Kind::kName, name, node);
    std::string_view root = name.substr(0, name.find('.'));
    root.remove_suffix(root.ends_with("()") ? 2 : 0);
    if (!values_.imports(root) && !Values::is_builtin(root)) {
      add(Kind::kModule, root, node);  // Reached through another module.
    }
  }
}

void PythonVisitor::visit_subscript(const PythonNode& node) {
  constexpr std::array<std::string_view, 6> kNamespaces = {
      "globals()", "locals()", "vars()", "__builtins__", "builtins", "sys.modules"};
  constexpr std::array<std::string_view, 4> kHidden = {"__builtins__", "__import__",
                                                       "__subclasses__", "__globals__"};
  report(node);
  for (const std::string_view name : values_.names(node.parts[0])) {
    if (among(kNamespaces, name) && values_.constant(node.parts[1]) == nullptr &&
        node.use == Use::kLoad) {
      pattern("dynamic-attribute", node);
    }
  }
  for (const std::string_view text : values_.texts(node.parts[1])) {
    if (among(kHidden, text)) {
      add(Kind::kAttribute, text, node);
    }
  }
  visit_parts(node);
}

// Constants

void PythonVisitor::visit_constant(const PythonNode& node) {
  if (!is_text(&node)) {
    return;
  }
  const std::string_view text = node.value->text;
  for (const std::string& host : hosts_in(text)) {
    if (host.find_first_of("{%") == std::string::npos) {
      add(Kind::kHost, host, node);
    }
  }
  if (has_token(text)) {
    pattern("credential", node);
  }
}

void PythonVisitor::visit_operation(const PythonNode& node) {
  const PythonNode* const left = node.parts[0];
  const PythonNode* const right = node.parts[1];
  if (node.op == 'p') {
    const auto powers = values_.constants(right);
    const bool tower = right->kind == Ast::kBinOp && right->op == 'p';
    if (tower ||
        std::ranges::any_of(powers, [](const Value* power) { return is_large(*power, 100'000); })) {
      pattern("resource-bomb", node);
    }
  }
  if (node.op == '*') {
    const auto repeats = [](const PythonNode* side) {
      return side->kind == Ast::kList || side->kind == Ast::kJoined ||
             (side->kind == Ast::kConstant && !side->value->is_int() &&
              side->value->kind != Value::Kind::kFloat &&
              side->value->kind != Value::Kind::kComplex);
    };
    if ((repeats(left) && is_huge(right)) || (repeats(right) && is_huge(left))) {
      pattern("resource-bomb", node);
    }
  }
  visit_parts(node);
}

bool PythonVisitor::is_huge(const PythonNode* node) {
  if (node->kind == Ast::kBinOp && node->op == 'p') {
    const auto powers = values_.constants(node->parts[1]);
    for (const Value* const base : values_.constants(node->parts[0])) {
      for (const Value* const power : powers) {
        if (!is_large(*base, 1) || !power->is_int()) {
          continue;
        }
        int bits = 0;
        for (std::int64_t rest = base->number; rest != 0; rest >>= 1U) {
          ++bits;
        }
        if (base->large || power->large || power->number > 32 / bits) {
          return true;
        }
      }
    }
    return false;
  }
  return std::ranges::any_of(values_.constants(node), [](const Value* value) {
    return is_large(*value, std::int64_t{1} << 31U);
  });
}

void PythonVisitor::secret(std::string_view name, const PythonNode* value) {
  if (value->kind == Ast::kConstant && value->value->is_text() && names_secret(name) &&
      may_be_secret(value->value->text)) {
    pattern("credential", *value);
  }
}

void PythonVisitor::visit_while(const PythonNode& node) {
  constexpr std::array<std::string_view, 6> kEnds = {"sys.exit", "os._exit", "exit",
                                                     "quit",     "input",    "time.sleep"};
  const Value* const test = values_.constant(node.parts[0]);
  const bool forever =
      test != nullptr && Constants::equal(*test, {.kind = Value::Kind::kInt, .number = 1});
  if (!forever) {
    return;
  }
  bool forks = false;
  bool ends = false;
  std::vector<const PythonNode*> inside(node.parts.begin() + 1, node.parts.begin() + node.split);
  while (!inside.empty()) {
    const PythonNode* const each = inside.back();
    inside.pop_back();
    if (each == nullptr) {
      continue;
    }
    inside.insert(inside.end(), each->parts.begin(), each->parts.end());
    switch (each->kind) {
      case Ast::kPass:
        ends = ends || each->op == 'b';
        break;
      case Ast::kReturn:
      case Ast::kRaise:
      case Ast::kYield:
      case Ast::kAwait:
        ends = true;
        break;
      case Ast::kCall:
        for (const std::string_view name : values_.names(each->parts[0])) {
          forks = forks || name == "os.fork" || name == "multiprocessing.Process";
          ends = ends || among(kEnds, name);
        }
        break;
      default:
        break;
    }
  }
  if (forks) {
    pattern("fork-bomb", node);
  }
  if (!ends) {
    pattern("endless-loop", node);
  }
}

void PythonVisitor::visit_call(const PythonNode& node) {
  const PythonNode& function = *node.parts[0];
  if (function.kind != Ast::kName && function.kind != Ast::kAttribute &&
      function.kind != Ast::kSubscript) {
    report(function);
  }
  for (const std::string_view name : values_.names(&function)) {
    called(name, node);
  }
  if (function.kind == Ast::kAttribute) {
    method(node);
  }
}

// NOLINTNEXTLINE(misc-no-recursion): kMostInside bounds it.
void analyse_python(std::string_view code, std::optional<Inside> inside, Facts& facts) {
  const Place beginning = inside ? inside->at : Place{};
  if (inside && inside->depth > kMostInside) {
    facts.add(Kind::kUnparsed, "code is nested too deeply to follow", beginning);
    return;
  }
  const std::string text = with_plain_lines(code);
  if (const std::string encoding = strange_encoding(text); !encoding.empty()) {
    facts.add(Kind::kUnparsed, "it is in the encoding '" + encoding + "', not UTF-8", beginning);
    return;
  }
  const Lines lines(text, inside);
  if (is_foreign_cell(text)) {
    analyse_foreign_cell(text, lines.inside(0), facts);
    return;
  }
  Arena arena;
  const PythonTree tree = parse_python(text, arena);
  if (tree.module == nullptr) {
    facts.add(Kind::kUnparsed, "Python cannot parse this: " + tree.problem,
              lines.place(tree.problem_at));
    return;
  }
  Values values(tree, arena);
  PythonVisitor(values, lines, facts).visit(tree.module);
  if (values.entangled()) {
    facts.add(Kind::kUnparsed, "the program is too entangled to follow", beginning);
  }
}

}  // namespace glovebox::analyser
