// SPDX-License-Identifier: Apache-2.0
// What expressions mean; python_bindings.cc has what names are bound to.
#include "analyser/python_values.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "analyser/python_text.h"

namespace glovebox::analyser {
namespace {

constexpr std::array kBuiltins = std::to_array<std::string_view>({
#include "analyser/python_builtins.inc"
});
static_assert(std::ranges::is_sorted(kBuiltins));

// Modules that others carry as an attribute: `shutil.os.system` is `os.system`.
constexpr std::array<std::string_view, 8> kCarried = {
    "os", "sys", "subprocess", "builtins", "importlib", "ctypes", "socket", "shutil"};
constexpr std::array kSame = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"posix", "os"},
    {"nt", "os"},
    {"_io", "io"},
    {"_socket", "socket"},
    {"_pickle", "pickle"},
    {"cPickle", "pickle"},
    {"_posixsubprocess", "subprocess"},
    {"_ctypes", "ctypes"},
});
// What holds all names of a program or all modules, each under its own name.
constexpr std::array<std::string_view, 6> kNamespaces = {"globals()",    "locals()", "vars()",
                                                         "__builtins__", "builtins", "sys.modules"};
constexpr std::array<std::string_view, 17> kTextMethods = {
    "lower",  "upper",    "strip",        "lstrip",       "rstrip", "replace",
    "title",  "swapcase", "split",        "capitalize",   "join",   "format",
    "encode", "decode",   "removeprefix", "removesuffix", "hex"};
constexpr std::size_t kMostElements = 4096;

template <typename List>
bool among(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

}  // namespace

bool Values::is_builtin(std::string_view name) {
  return std::ranges::binary_search(kBuiltins, name);
}

bool Values::imports(std::string_view module) const {
  return std::ranges::binary_search(imported_, module);
}

std::string_view Values::canonical(std::string_view name) {
  std::size_t dot = name.find('.');
  std::string_view first = name.substr(0, dot);
  const auto* const same =
      std::ranges::find(kSame, first, &std::pair<std::string_view, std::string_view>::first);
  const bool renamed = same != kSame.end();
  first = renamed ? same->second : first;
  std::string_view rest = dot == std::string_view::npos ? "" : name.substr(dot + 1);
  if (!rest.empty() && (first == "builtins" || first == "__builtins__" || first == "__builtin__")) {
    return canonical(rest);
  }
  // The name begins at the last module that is carried.
  for (std::size_t end = name.size(); dot != std::string_view::npos;) {
    const std::size_t begin = name.rfind('.', end - 1) + 1;
    std::string_view part = name.substr(begin, end - begin);
    const bool hidden = part.ends_with("__");
    part.remove_prefix(std::min(part.find_first_not_of('_'), part.size()));
    if (!hidden && among(kCarried, part)) {
      const std::string_view whole =
          name.substr(static_cast<std::size_t>(part.data() - name.data()));
      return part == "builtins" && whole.size() > part.size() ? whole.substr(part.size() + 1)
                                                              : whole;
    }
    if (begin == dot + 1) {
      break;
    }
    end = begin - 1;
  }
  if (!renamed) {
    return name;
  }
  return rest.empty() ? first : arena_.keep(std::string(first) + "." + std::string(rest));
}

// What is asked for

Meanings Values::Finding::kept() {
  auto& all = values_.found_;
  if (all.size() - begin_ > kMostConstants) {
    std::vector<Meaning> names;
    std::vector<Meaning> constants;
    for (std::size_t i = begin_; i < all.size(); ++i) {
      if (all[i].value != nullptr) {
        if (constants.size() < kMostConstants) {
          constants.push_back(all[i]);
        }
      } else if (std::ranges::find(names, all[i].name, &Meaning::name) == names.end()) {
        if (names.size() == kMostNames) {
          values_.entangled_ = true;
          break;
        }
        names.push_back(all[i]);
      }
    }
    all.resize(begin_);
    all.insert(all.end(), names.begin(), names.end());
    all.insert(all.end(), constants.begin(), constants.end());
  }
  return values_.arena_.keep(std::span<const Meaning>(all).subspan(begin_));
}

template <typename Find>
Meanings Values::remembered(Known& known, Find find, int busy) {
  if (!trying_ && known.known) {
    return known.meanings;
  }
  if (--budget_ < 0 || depth_ >= kMostDepth || arena_.full()) {
    entangled_ = true;
    return {};
  }
  const int outer = std::exchange(met_, kNobody);
  ++depth_;
  Finding finding(*this);
  find();
  const Meanings meanings = finding.kept();
  --depth_;
  if (met_ >= busy) {
    met_ = kNobody;
  }
  if (met_ == kNobody && !trying_ && budget_ >= 0) {
    known = {.known = true, .meanings = meanings};
  }
  met_ = std::min(outer, met_);
  return meanings;
}

Meanings Values::of(const PythonNode* node) {
  if (node == nullptr) {
    return {};
  }
  switch (node->kind) {
    case Ast::kConstant: {
      Known& known = known_[node->number];
      if (!known.known) {
        const Meaning meaning{.value = node->value};
        known.meanings = node->value->kind == Value::Kind::kUnknown
                             ? Meanings{}
                             : arena_.keep(std::span<const Meaning>(&meaning, 1));
        known.known = true;
      }
      return known.meanings;
    }
    case Ast::kName:
      return meanings_of(node->name);
    case Ast::kNamedExpr:
    case Ast::kAttribute:
    case Ast::kTuple:
    case Ast::kList:
    case Ast::kSet:
    case Ast::kIfExp:
    case Ast::kBoolOp:
    case Ast::kAwait:
    case Ast::kJoined:
    case Ast::kListComp:
    case Ast::kGenerator:
    case Ast::kUnaryOp:
    case Ast::kBinOp:
    case Ast::kSubscript:
    case Ast::kCall:
      return remembered(
          known_[node->number], [&] { find(*node); }, kNobody);
    default:
      return {};
  }
}

Meanings Values::meanings_of(std::string_view name) {
  Binding& binding = bindings_[name];
  if (binding.busy != kNobody) {
    met_ = std::min(met_, binding.busy);
    return {};
  }
  return remembered(
      binding.known, [&] { find_name(name); }, names_busy_);
}

std::vector<const Value*> Values::constants(const PythonNode* node) {
  std::vector<const Value*> all;
  for (const Meaning& each : of(node)) {
    if (each.value != nullptr) {
      all.push_back(each.value);
    }
  }
  return all;
}

std::vector<std::string_view> Values::names(const PythonNode* node) {
  std::vector<std::string_view> all;
  for (const Meaning& each : of(node)) {
    if (each.value == nullptr) {
      all.push_back(each.name);
    }
  }
  return all;
}

std::vector<std::string_view> Values::texts(const PythonNode* node) {
  std::vector<std::string_view> all;
  for (const Meaning& each : of(node)) {
    if (each.value != nullptr && each.value->is_text()) {
      all.push_back(each.value->text);
    }
  }
  return all;
}

const Value* Values::constant(const PythonNode* node) {
  for (const Meaning& each : of(node)) {
    if (each.value != nullptr) {
      return each.value;
    }
  }
  return nullptr;
}

bool Values::has_name(const PythonNode* node, std::string_view name) {
  return std::ranges::any_of(
      of(node), [&](const Meaning& each) { return each.value == nullptr && each.name == name; });
}

bool Values::is_named(const PythonNode* node) {
  return std::ranges::any_of(of(node), [](const Meaning& each) { return each.value == nullptr; });
}

// How it is found

void Values::add(const Constants::Found& value) {
  if (value) {
    add(Meaning{.value = arena_.make(*value)});
  }
}

// NOLINTNEXTLINE(misc-no-recursion): kMostDepth bounds it.
void Values::find(const PythonNode& node) {
  switch (node.kind) {
    case Ast::kNamedExpr:
      add(of(node.parts[1]));
      break;
    case Ast::kAttribute:
      find_attribute(node.parts[0], node.name);
      break;
    case Ast::kTuple:
    case Ast::kList:
    case Ast::kSet:
      find_list(node);
      break;
    case Ast::kIfExp:
      add(of(node.parts[1]));
      add(of(node.parts[2]));
      break;
    case Ast::kBoolOp:
      for (const PythonNode* const part : node.parts) {
        add(of(part));
      }
      break;
    case Ast::kAwait:
      add(of(node.parts[0]));
      break;
    case Ast::kJoined:
      find_joined(node);
      break;
    case Ast::kListComp:
    case Ast::kGenerator:
      find_comprehension(node);
      break;
    case Ast::kUnaryOp:
      for (const Value* const value : constants(node.parts[0])) {
        add(node.op == '-' ? Constants::negative(*value) : std::nullopt);
      }
      break;
    case Ast::kBinOp:
      find_operation(node);
      break;
    case Ast::kSubscript:
      find_subscript(node);
      break;
    case Ast::kCall:
      find_call(node);
      break;
    default:
      break;
  }
}

void Values::find_name(std::string_view name) {
  Binding& binding = bindings_[name];
  if (binding.bound) {
    binding.busy = names_busy_++;
    for (std::size_t i = 0; i < binding.values.size(); ++i) {
      const Bound bound = binding.values[i];
      if (bound.node != nullptr) {
        add(of(bound.node));
      } else {
        add(bound.meaning);
      }
    }
    --names_busy_;
    binding.busy = kNobody;
    return;
  }
  for (const std::string_view module : stars_) {
    add_name(canonical(arena_.keep(std::string(module) + "." + std::string(name))));
  }
  if (is_builtin(name)) {
    add_name(name);
  }
}

void Values::find_attribute(const PythonNode* object, std::string_view attribute) {
  for (const std::string_view name : names(object)) {
    if (attribute == "__dict__") {
      add_name(name);
    } else if (name == "importlib" && attribute == "util") {
      add_name("importlib.util");
    } else {
      add_name(canonical(arena_.keep(std::string(name) + "." + std::string(attribute))));
    }
  }
}

void Values::find_list(const PythonNode& node) {
  std::vector<const Value*> items;
  for (std::size_t i = 0; i < node.parts.size() && i < kMostElements; ++i) {
    const Value* const item = constant(node.parts[i]);
    if (item == nullptr) {
      return;
    }
    items.push_back(item);
  }
  add(constants_.list(items));
}

void Values::find_joined(const PythonNode& node) {
  std::string text;
  for (const PythonNode* part : node.parts) {
    const bool field = part->kind == Ast::kFormatted;
    // What a conversion or a specification makes of it is not followed.
    if (field && (part->parts[1] != nullptr || part->op == '=' ||
                  (!part->other.empty() && part->other != "s"))) {
      return;
    }
    const Value* const value = constant(field ? part->parts[0] : part);
    const auto written = value != nullptr ? constants_.written(*value) : std::nullopt;
    if (!written || text.size() > Constants::kMostText) {
      return;
    }
    text += *written;
  }
  add(constants_.text(text));
}

void Values::find_comprehension(const PythonNode& node) {
  if (node.parts.size() != 2) {
    return;
  }
  const PythonNode& loop = *node.parts[1];
  if (loop.parts.size() != 2 || loop.parts[0]->kind != Ast::kName) {
    return;
  }
  std::span<const Value* const> items;
  bool known = false;
  for (const Value* const value : constants(loop.parts[1])) {
    if (value->is_list() || value->is_text() || value->is_bytes()) {
      const auto all = constants_.items(*value, kMostElements);
      if (!all) {
        return;
      }
      items = *all;
      known = true;
      break;
    }
  }
  if (!known) {
    return;
  }
  const std::string_view name = loop.parts[0]->name;
  Binding& binding = bindings_[name];
  const bool was_bound = std::exchange(binding.bound, true);
  std::vector<Bound> before = std::exchange(binding.values, {});
  const bool trying = std::exchange(trying_, true);
  std::vector<const Value*> results;
  for (const Value* const item : items) {
    binding.values.assign(1, Bound{.meaning = {.value = item}});
    const Value* const result = constant(node.parts[0]);
    if (result == nullptr) {
      break;
    }
    results.push_back(result);
  }
  trying_ = trying;
  binding.bound = was_bound;
  binding.values = std::move(before);
  if (results.size() == items.size()) {
    add(constants_.list(results));
  }
}

void Values::find_operation(const PythonNode& node) {
  const std::vector<const Value*> left = constants(node.parts[0]);
  if (left.empty()) {
    return;
  }
  const std::vector<const Value*> right = constants(node.parts[1]);
  for (const Value* const one : left) {
    for (const Value* const other : right) {
      add(constants_.binary(node.op, *one, *other));
    }
  }
}

void Values::find_subscript(const PythonNode& node) {
  const PythonNode* const object = node.parts[0];
  const PythonNode* const index = node.parts[1];
  for (const std::string_view name : names(object)) {
    for (const std::string_view key : texts(index)) {
      if (!among(kNamespaces, name)) {
        add_name(canonical(arena_.keep(std::string(name) + "." + std::string(key))));
      } else if (const auto known = bindings_.find(key);
                 known != bindings_.end() && known->second.bound) {
        for (const Meaning& each : meanings_of(key)) {
          add(each);
        }
      } else {
        add_name(canonical(key));
      }
    }
  }
  for (const Value* const value : constants(object)) {
    find_item(*value, index);
  }
  if (object->kind == Ast::kDict) {
    for (const Value* const key : constants(index)) {
      for (std::size_t i = 0; i < object->split; ++i) {
        const PythonNode* const name = object->parts[i];
        if (name != nullptr && std::ranges::any_of(constants(name), [&](const Value* each) {
              return Constants::equal(*each, *key);
            })) {
          add(of(object->parts[object->split + i]));
        }
      }
    }
  }
  if (object->kind == Ast::kList || object->kind == Ast::kTuple) {
    for (std::size_t i = 0; i < object->parts.size() && i < kMostNames; ++i) {
      for (const std::string_view name : names(object->parts[i])) {
        add_name(name);
      }
    }
  }
}

void Values::find_item(const Value& sequence, const PythonNode* index) {
  if (index->kind != Ast::kSlice) {
    const Value* const key = constant(index);
    add(key != nullptr ? constants_.item(sequence, *key) : std::nullopt);
    return;
  }
  std::array<const Value*, 3> bounds{};
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    bounds.at(i) = constant(index->parts[i]);
    if (index->parts[i] != nullptr && bounds.at(i) == nullptr) {
      return;
    }
  }
  add(constants_.slice(sequence, bounds[0], bounds[1], bounds[2]));
}

// Calls

void Values::find_call(const PythonNode& node) {
  const PythonNode* const function = node.parts[0];
  for (const std::string_view name : names(function)) {
    find_called(name, node);
  }
  if (function->kind == Ast::kAttribute && among(kTextMethods, function->name)) {
    for (const Value* const value : constants(function->parts[0])) {
      find_method(*value, node);
    }
  }
  if (function->kind == Ast::kLambda && node.split == 1) {
    add(of(function->parts[1]));
  }
}

void Values::find_called(std::string_view name, const PythonNode& node) {
  const auto arguments = node.parts.subspan(1, node.split - 1);
  const auto is = [&](auto... names) { return ((name == names) || ...); };
  const auto add_texts = [&](std::string_view owner, const PythonNode* argument) {
    for (const std::string_view text : texts(argument)) {
      add_name(canonical(
          owner.empty() ? text : arena_.keep(std::string(owner) + "." + std::string(text))));
    }
  };
  if (!arguments.empty()) {
    if (is("__import__", "importlib.import_module", "importlib.__import__")) {
      add_texts("", arguments[0]);
      return;
    }
    if (is("getattr") && arguments.size() >= 2) {
      for (const std::string_view text : texts(arguments[1])) {
        find_attribute(arguments[0], text);
      }
      return;
    }
    if (is("vars")) {
      for (const std::string_view each : names(arguments[0])) {
        add_name(each);
      }
      return;
    }
    if (is("globals().get", "vars().get", "locals().get", "sys.modules.get", "__builtins__.get",
           "globals().__getitem__")) {
      add_texts("", arguments[0]);
      return;
    }
    if (is("functools.partial")) {
      add(of(arguments[0]));
      return;
    }
    if (is("operator.attrgetter")) {
      return;
    }
  }
  constexpr std::string_view kGet = ".__getattribute__";
  if (is("type") || name.ends_with(kGet)) {
    if (!is("type") && !arguments.empty()) {
      add_texts(name.substr(0, name.size() - kGet.size()), arguments.back());
    }
    return;
  }
  std::vector<const Value*> values;
  for (const PythonNode* const argument : arguments) {
    const Value* const value = constant(argument);
    if (value == nullptr) {
      break;
    }
    values.push_back(value);
  }
  // Named arguments mean more than is known here.
  const bool plain = node.split == node.parts.size();
  if (!arguments.empty() && values.size() == arguments.size() && plain) {
    if (const Constants::Found computed = constants_.call(name, values)) {
      add(computed);
      return;
    }
  }
  if (is("map") && arguments.size() == 2 && has_name(arguments[0], "chr")) {
    for (const Value* const value : constants(arguments[1])) {
      add(constants_.characters(*value));
    }
    return;
  }
  add_name(arena_.keep(std::string(name) + "()"));
}

void Values::find_method(const Value& value, const PythonNode& node) {
  if (node.split != node.parts.size()) {
    return;
  }
  std::vector<const Value*> arguments;
  for (const PythonNode* const argument : node.parts.subspan(1)) {
    const Value* const known = constant(argument);
    if (known == nullptr) {
      return;
    }
    arguments.push_back(known);
  }
  add(constants_.method(value, node.parts[0]->name, arguments));
}

}  // namespace glovebox::analyser
