// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "analyser/syntax/program.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr auto kForms = std::to_array<Form>({
    {"identifier", Shape::kId},
    {"namespace_operator", Shape::kMember, "lhs", "rhs"},
    {"extract_operator", Shape::kMember, "lhs", "rhs"},
    {"subset", Shape::kSubscript, "function", "arguments"},
    {"subset2", Shape::kSubscript, "function", "arguments"},
    {"call", Shape::kCall, "function", "", "arguments"},
    {"arguments", Shape::kSame},
    {"argument", Shape::kSame, "value"},
    {"string", Shape::kText},
    {"float", Shape::kNumber},
    {"integer", Shape::kNumber},
    {"true", Shape::kTrue},
    {"parenthesized_expression", Shape::kSame},
    {"braced_expression", Shape::kSame},
    {"if_statement", Shape::kSame, "consequence", "alternative"},
    {"parameter", Shape::kBind, "name", "default"},
    {"for_statement", Shape::kDeclare, "variable"},
    {"while_statement", Shape::kLoop, "condition"},
    {"repeat_statement", Shape::kLoop},
    {"break", Shape::kLeave},
    {"binary_operator", Shape::kOwn},
});

constexpr auto kRules = std::to_array<Rule>({
    {"system", Does::kShell},
    {"system2", Does::kArgv},
    {"shell", Does::kShell},
    {"shell.exec", Does::kShell},
    {"pipe", Does::kShell},
    {"processx.run", Does::kArgv},
    {"callr.*", Does::kSpawn},
    {"do.call", Does::kNamed},
    {"get", Does::kNamed},
    {"get0", Does::kNamed},
    {"mget", Does::kNamed},
    {"dynGet", Does::kNamed},
    {"getFunction", Does::kNamed},
    {"getExportedValue", Does::kNamed, 2},
    {"getFromNamespace", Does::kNamed},
    {"match.fun", Does::kNamed},
    {"as.name", Does::kNamed},
    {"as.symbol", Does::kNamed},
    {"call", Does::kNamed},
    {"lapply", Does::kMaybeNamed, 2},
    {"sapply", Does::kMaybeNamed, 2},
    {"vapply", Does::kMaybeNamed, 2},
    {"mapply", Does::kMaybeNamed},
    {"rapply", Does::kMaybeNamed, 2},
    {"apply", Does::kMaybeNamed, 3},
    {"tapply", Does::kMaybeNamed, 3},
    {"outer", Does::kMaybeNamed, 3},
    {"Vectorize", Does::kMaybeNamed},
    {"Find", Does::kMaybeNamed},
    {"Position", Does::kMaybeNamed},
    {"Map", Does::kMaybeNamed},
    {"Reduce", Does::kMaybeNamed},
    {"Filter", Does::kMaybeNamed},
    {"str2lang", Does::kCode},
    {"str2expression", Does::kCode},
    {"source", Does::kRead},
    {"sys.source", Does::kRead},
    {"readLines", Does::kRead},
    {"readRDS", Does::kRead},
    {"read.*", Does::kRead},
    {"scan", Does::kRead},
    {"load", Does::kRead},
    {"list.files", Does::kRead},
    {"dir", Does::kRead},
    {"file", Does::kOpen},
    {"gzfile", Does::kOpen},
    {"writeLines", Does::kWrite, 2},
    {"write.*", Does::kWrite, 2},
    {"saveRDS", Does::kWrite, 2},
    {"sink", Does::kWrite},
    {"unlink", Does::kWrite},
    {"file.remove", Does::kWrite},
    {"file.create", Does::kWrite},
    {"file.copy", Does::kWrite, 2},
    {"file.rename", Does::kWrite, 2},
    {"dir.create", Does::kWrite},
    {"download.file", Does::kWrite, 2},
    {"socketConnection", Does::kHost},
    {"return", Does::kLeave},
    {"stop", Does::kLeave},
    {"quit", Does::kLeave},
    {"q", Does::kLeave},
});

constexpr auto kFolds = std::to_array<FoldRule>({
    {"paste0", Fold::kConcat},
    {"c", Fold::kList},
    {"list", Fold::kList},
    {"intToUtf8", Fold::kCharacters},
    {"tolower", Fold::kLower},
    {"toupper", Fold::kUpper},
    {"as.character", Fold::kSame},
    {"trimws", Fold::kSame},
    {"noquote", Fold::kSame},
    {"file.path", Fold::kSame},
    {"URLdecode", Fold::kPercents},
});

constexpr auto kLoaders =
    std::to_array<std::string_view>({"library", "require", "requireNamespace", "loadNamespace",
                                     "attachNamespace", "asNamespace", "getNamespace"});

constexpr auto kKept = std::to_array<std::string_view>(
    {"system*", "shell*", "pipe", "eval*", "parse", "do.call", "get", "base"});

class R : public Program {
 public:
  using Program::Program;

 protected:
  void learn(Node node) override;
  void tell(Node node) override;
  Values own_value(Node node) override;
  std::optional<Values> returned(const std::string& name, const Role& call) override;
  void called(const std::string& name, const Role& call) override;
};

struct Assignment {
  Node target{};
  Node value{};
};

Assignment assignment_of(Node node) {
  const std::string_view by = node.field("operator").text();
  if (by == "<-" || by == "=" || by == "<<-" || by == ":=") {
    return {.target = node.field("lhs"), .value = node.field("rhs")};
  }
  if (by == "->" || by == "->>") {
    return {.target = node.field("rhs"), .value = node.field("lhs")};
  }
  return {};
}

void R::learn(Node node) {
  const Assignment found = assignment_of(node);
  if (found.target) {
    assign(found.target, found.value, {}, false);
  }
}

void R::tell(Node node) {
  const Assignment found = assignment_of(node);
  if (found.target) {
    report_secret(found.target, found.value);
  }
}

Values R::own_value(Node node) { return of(assignment_of(node).value); }

std::optional<Values> R::returned(const std::string& name, const Role& call) {
  constexpr auto kByName = std::to_array<std::string_view>(
      {"get", "get0", "match.fun", "getFunction", "as.name", "as.symbol", "dynGet"});
  if (std::ranges::find(kByName, name) == kByName.end()) {
    return std::nullopt;
  }
  Values all;
  for (const std::string& text : texts(argument(call, 1))) {
    all.push_back(Value::name_of(text));
  }
  return all;
}

void R::called(const std::string& name, const Role& call) {
  const Node first = argument(call, 1);
  if (std::ranges::find(kLoaders, name) != kLoaders.end() && first) {
    const Node value = first.field("value");
    if (value.is("identifier")) {
      add(Kind::kModule, path_of(value), call.node);
    } else {
      load(first, call.node);
    }
  } else if (name == "parse") {
    for (const Node each : arguments(call)) {
      if (each.field("name").text() == "text") {
        run_code(each, call.node);
      }
    }
  } else if (name == "do.call" && argument(call, 2)) {
    // For a shell, the list of arguments is the command.
    for (const std::string& function : texts(first)) {
      if (function == "system" || function == "shell") {
        run_shell(items_of(argument(call, 2)), call.node);
      }
    }
  }
}

std::unique_ptr<Program> make(const Source& source, Facts& facts) {
  return std::make_unique<R>(source, facts);
}

}  // namespace

const Dialect kR = {.language = "r",
                    .title = "R",
                    .grammar = tree_sitter_r,
                    .forms = kForms,
                    .rules = kRules,
                    .folds = kFolds,
                    .kept = kKept,
                    .implied = "base.",
                    .make = make};

}  // namespace glovebox::analyser::syntax
