// SPDX-License-Identifier: Apache-2.0
// What a program binds names to, wherever it binds them.
#include <algorithm>
#include <string>

#include "analyser/python_values.h"

namespace glovebox::analyser {

Values::Values(const PythonTree& tree, Arena& arena)
    : arena_(arena), constants_(arena), known_(tree.nodes) {
  bind_statements(tree);
  for (const auto& [name, binding] : bindings_) {
    for (const Bound& bound : binding.values) {
      if (bound.node == nullptr) {
        imported_.push_back(bound.meaning.name.substr(0, bound.meaning.name.find('.')));
      }
    }
  }
  for (const std::string_view module : stars_) {
    imported_.push_back(module.substr(0, module.find('.')));
  }
  std::ranges::sort(imported_);
}

void Values::bind(std::string_view name, Bound bound) {
  Binding& binding = bindings_[name];
  binding.bound = true;
  if (binding.values.size() < kMostBindings) {
    binding.values.push_back(bound);
  } else if (bound.node == nullptr || bound.node->kind != Ast::kConstant) {
    entangled_ = true;
  }
}

// In the order of their depth, imports and definitions before the rest.
void Values::bind_statements(const PythonTree& tree) {
  std::vector<const PythonNode*> nodes{tree.module};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const PythonNode* const part : nodes[i]->parts) {
      if (part != nullptr && !part->parts.empty()) {
        nodes.push_back(part);
      }
    }
  }
  for (const PythonNode* const node : nodes) {
    if (node->kind == Ast::kImport || node->kind == Ast::kImportFrom) {
      bind_import(*node);
    } else if (node->kind == Ast::kFunction) {
      know(node->name);
      bind_parameters(*node->parts[0]);
    } else if (node->kind == Ast::kClass) {
      know(node->name);
    }
  }
  for (const PythonNode* const node : nodes) {
    bind_names(*node);
  }
}

void Values::bind_import(const PythonNode& node) {
  if (!node.other.empty()) {
    return;  // From a package that the program is a part of.
  }
  for (const PythonNode* const alias : node.parts) {
    std::string_view name = alias->name;
    if (node.kind == Ast::kImport) {
      name = alias->other.empty() ? name.substr(0, name.find('.')) : name;
      bind(alias->other.empty() ? name : alias->other, {.meaning = {.name = canonical(name)}});
    } else if (name == "*") {
      stars_.push_back(node.name);
    } else {
      const std::string_view full = arena_.keep(std::string(node.name) + "." + std::string(name));
      bind(alias->other.empty() ? name : alias->other, {.meaning = {.name = canonical(full)}});
    }
  }
}

void Values::bind_parameters(const PythonNode& arguments) {
  std::vector<const PythonNode*> named;
  for (const PythonNode* const part : arguments.parts) {
    if (part != nullptr && part->kind == Ast::kArg) {
      if (part->use == Use::kPositional || part->use == Use::kKeywordOnly) {
        know(part->name);
      }
      if (part->use == Use::kKeywordOnly) {
        named.push_back(part);
      }
    }
  }
  const auto defaults = arguments.parts.subspan(arguments.second);
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    bind(arguments.parts[arguments.split - defaults.size() + i]->name, {.node = defaults[i]});
  }
  // Their defaults come after all of them.
  for (std::size_t i = 0; i < named.size(); ++i) {
    const PythonNode* const value = arguments.parts[arguments.split + 1 + named.size() + i];
    if (value != nullptr) {
      bind(named[i]->name, {.node = value});
    }
  }
}

void Values::bind_names(const PythonNode& node) {
  switch (node.kind) {
    case Ast::kAssign:
      for (std::size_t i = 0; i < node.split; ++i) {
        bind_target(node.parts[i], node.parts[node.split]);
      }
      break;
    case Ast::kAnnAssign:
      if (node.parts[2] != nullptr) {
        bind_target(node.parts[0], node.parts[2]);
      }
      break;
    case Ast::kNamedExpr:
      bind_target(node.parts[0], node.parts[1]);
      break;
    case Ast::kFor:
      bind_items(node.parts[0], node.parts[1]);
      break;
    case Ast::kWithItem:
      if (node.parts[1] != nullptr && node.parts[1]->kind == Ast::kName) {
        bind(node.parts[1]->name, {.node = node.parts[0]});
      }
      break;
    default:
      break;
  }
}

void Values::bind_items(const PythonNode* target, const PythonNode* items) {
  if (target->kind != Ast::kName) {
    return;
  }
  know(target->name);
  if (items->kind == Ast::kList || items->kind == Ast::kTuple) {
    for (const PythonNode* const item : items->parts) {
      bind(target->name, {.node = item});
    }
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree.
void Values::bind_target(const PythonNode* target, const PythonNode* value) {
  if (target->kind == Ast::kName) {
    bind(target->name, {.node = value});
  } else if ((target->kind == Ast::kTuple || target->kind == Ast::kList) &&
             (value->kind == Ast::kTuple || value->kind == Ast::kList)) {
    for (std::size_t i = 0; i < target->parts.size() && i < value->parts.size(); ++i) {
      bind_target(target->parts[i], value->parts[i]);
    }
  }
}

}  // namespace glovebox::analyser
