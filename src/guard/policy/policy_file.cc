// SPDX-License-Identifier: Apache-2.0
// Reads the TOML of policies and of their examples. The size of the text and the number and length
// of everything in it are bounded.
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

// See language/language_file.cc: toml++ 3.3 asserts what a file can make false.
// NOLINTBEGIN(readability-identifier-naming)
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
// NOLINTEND(readability-identifier-naming)
#include <toml++/toml.h>

#include "base/json/json.h"
#include "base/text.h"
#include "guard/policy/analysers.h"
#include "guard/policy/file_places.h"
#include "guard/policy/policy.h"
#include "language/suggest.h"
#include "language/toml_guard.h"
#include "spec/json/bounded_json.h"

namespace glovebox::policy {
namespace {

constexpr std::size_t kMaxEntries = 1'024;
constexpr std::size_t kMaxPattern = 256;
constexpr std::size_t kMaxExamples = 2'000;
constexpr std::size_t kMaxCode = 64 * 1024;
constexpr std::uint32_t kMaxRisk = 1'000'000;
constexpr const char* kSeeDocs = "see docs/policy.md for the keys and their values";

using Words = std::vector<std::string_view>;

class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  Result<toml::table> parse(std::string_view text);
  Result<Policy> policy(const toml::table& file);
  Result<std::vector<Example>> examples(const toml::table& file);

 private:
  [[nodiscard]] Error fault(const toml::source_region& at,
                            const std::string& what,
                            std::string hint = kSeeDocs) const;
  [[nodiscard]] Error unknown(const toml::key& key, const Words& known) const;
  [[nodiscard]] Error unknown_value(const toml::node& node,
                                    const std::string& value,
                                    const Words& known) const;

  Result<std::string> text(const toml::node& node, std::size_t most);
  Result<Action> action(const toml::node& node, const Words& known);
  Result<bool> flag(const toml::node& node);
  Result<const toml::table*> table(const toml::node& node);
  Result<std::uint32_t> risk(const toml::node& node);
  Result<void> entries(const toml::node& node, Action action, RuleList& list);
  Result<RuleList> list(const toml::node& node);
  Result<RuleList> list(const toml::table& from, std::string_view besides = {});
  Result<RuleList> file_list(const toml::node& node);
  Result<void> thresholds(const toml::node& node, Policy& policy);
  Result<void> commands(const toml::node& node, Policy& policy);
  Result<void> files(const toml::node& node, Policy& policy);
  Result<ToolRules> tools(const toml::node& node);
  Result<std::vector<std::string>> texts(const toml::node& node, std::size_t most);
  Result<Checks> checks(const toml::node& node);
  Result<void> language(std::string_view name, const toml::node& node, Policy& policy);
  Result<Example> example(const toml::node& node);

  std::string_view origin_;
};

Error Reader::fault(const toml::source_region& at,
                    const std::string& what,
                    std::string hint) const {
  std::string message(origin_);
  message += ':' + std::to_string(std::max<toml::source_index>(1, at.begin.line)) + ':' +
             std::to_string(std::max<toml::source_index>(1, at.begin.column)) + ": " + what;
  return Error(ErrorCode::kInvalid, std::move(message), std::move(hint));
}

Error Reader::unknown(const toml::key& key, const Words& known) const {
  const std::string nearest = nearest_word(key.str(), known);
  return fault(key.source(), "unknown key '" + printable(key.str().substr(0, kMaxPattern)) + "'",
               nearest.empty() ? kSeeDocs : "did you mean '" + nearest + "'?");
}

Error Reader::unknown_value(const toml::node& node,
                            const std::string& value,
                            const Words& known) const {
  std::string all;
  for (const std::string_view word : known) {
    all += (all.empty() ? "'" : ", '") + std::string(word) + "'";
  }
  return fault(node.source(), "unknown value '" + printable(value) + "'", "use one of " + all);
}

Result<toml::table> Reader::parse(std::string_view text) {
  constexpr const char* kHint = "write the file in TOML; see docs/policy.md for an example";
  const toml::source_region start{.begin = {1, 1}, .end = {1, 1}, .path = nullptr};
  if (text.size() > kMaxPolicyFile) {
    return fault(start, "this file is larger than 256 KiB", kHint);
  }
  GuardedToml guarded = guard_toml(text);
  if (guarded.fault) {
    toml::source_region there = start;
    there.begin = {static_cast<toml::source_index>(guarded.fault->line),
                   static_cast<toml::source_index>(guarded.fault->column)};
    return fault(there, guarded.fault->what, kHint);
  }
  toml::parse_result parsed = toml::parse(guarded.text);
  if (!parsed) {
    return fault(parsed.error().source(), std::string(parsed.error().description()), kHint);
  }
  return std::move(parsed).table();
}

Result<std::string> Reader::text(const toml::node& node, std::size_t most) {
  const auto* const value = node.as_string();
  if (value == nullptr) {
    return fault(node.source(), "expected a quoted string");
  }
  if (value->get().empty() || value->get().size() > most) {
    return fault(node.source(), "this string must have 1 to " + std::to_string(most) + " bytes");
  }
  return value->get();
}

Result<Action> Reader::action(const toml::node& node, const Words& known) {
  const std::string word = GB_TRY(text(node, kMaxPattern));
  for (const Action each : {Action::kAllow, Action::kNote, Action::kAsk, Action::kRefuse}) {
    if (word == name_of(each) && std::ranges::find(known, word) != known.end()) {
      return each;
    }
  }
  return unknown_value(node, word, known);
}

Result<bool> Reader::flag(const toml::node& node) {
  const auto value = node.value_exact<bool>();
  return value ? Result<bool>(*value) : fault(node.source(), "expected true or false");
}

Result<const toml::table*> Reader::table(const toml::node& node) {
  const toml::table* const found = node.as_table();
  if (found == nullptr) {
    return fault(node.source(), "expected a table");
  }
  return found;
}

Result<std::uint32_t> Reader::risk(const toml::node& node) {
  const auto* const number = node.as_integer();
  if (number == nullptr || number->get() < 1 || number->get() > kMaxRisk) {
    return fault(node.source(), "expected a number from 1 to " + std::to_string(kMaxRisk));
  }
  return static_cast<std::uint32_t>(number->get());
}

Result<void> Reader::entries(const toml::node& node, Action action, RuleList& list) {
  const toml::array* const patterns = node.as_array();
  if (patterns == nullptr) {
    return fault(node.source(), "expected a list of strings, [\"…\"]");
  }
  for (const toml::node& each : *patterns) {
    std::string pattern = GB_TRY(text(each, kMaxPattern));
    if (!is_utf8(pattern) || pattern.find_first_not_of(' ') == std::string::npos) {
      return fault(each.source(), "expected one line of text");
    }
    if (list.entries.size() == kMaxEntries) {
      return fault(each.source(),
                   "a table may have at most " + std::to_string(kMaxEntries) + " entries");
    }
    list.entries.push_back({.pattern = std::move(pattern), .action = action});
  }
  return {};
}

Result<RuleList> Reader::list(const toml::node& node) { return list(*GB_TRY(table(node))); }

// `besides` is a key that the caller reads.
Result<RuleList> Reader::list(const toml::table& from, std::string_view besides) {
  static const Words kKeys = {"allow", "note", "ask", "refuse", "otherwise"};
  RuleList list;
  for (const auto& [key, value] : from) {
    if (!besides.empty() && key.str() == besides) {
      continue;
    }
    if (key.str() == "otherwise") {
      list.otherwise = GB_TRY(action(value, {"allow", "note", "ask", "refuse"}));
      continue;
    }
    std::optional<Action> listed;
    for (const Action each : {Action::kAllow, Action::kNote, Action::kAsk, Action::kRefuse}) {
      listed = key.str() == name_of(each) ? each : listed;
    }
    if (!listed) {
      return unknown(key, kKeys);
    }
    GB_TRY(entries(value, *listed, list));
  }
  return list;
}

Result<void> Reader::thresholds(const toml::node& node, Policy& policy) {
  for (const auto& [key, value] : *GB_TRY(table(node))) {
    if (key.str() == "ask") {
      policy.ask_at = GB_TRY(risk(value));
    } else if (key.str() == "refuse") {
      policy.refuse_at = GB_TRY(risk(value));
    } else {
      return unknown(key, {"ask", "refuse"});
    }
  }
  return {};
}

Result<void> Reader::commands(const toml::node& node, Policy& policy) {
  toml::table rules = *GB_TRY(table(node));
  if (const toml::node* const written = rules.get("written")) {
    policy.written = GB_TRY(action(*written, {"allow", "refuse"}));
    rules.erase("written");
  }
  if (!rules.empty()) {
    policy.lists[Subject::kCommands] = GB_TRY(list(rules));
  }
  return {};
}

// With `enforced`, each pattern must be one that the kernel can enforce.
Result<RuleList> Reader::file_list(const toml::node& node) {
  const toml::table& rules = *GB_TRY(table(node));
  const toml::node* const wish = rules.get("enforced");
  const bool enforced = wish != nullptr && GB_TRY(flag(*wish));
  RuleList files = GB_TRY(list(rules, "enforced"));
  for (const Action each : {Action::kAllow, Action::kNote, Action::kAsk, Action::kRefuse}) {
    const toml::array* const patterns = rules[name_of(each)].as_array();
    for (std::size_t i = 0; enforced && patterns != nullptr && i < patterns->size(); ++i) {
      const toml::node& pattern = (*patterns)[i];
      const std::string text = pattern.value_or(std::string());
      const std::string why = why_not_held(files, {.pattern = text, .action = each});
      if (!why.empty()) {
        return fault(pattern.source(),
                     "the kernel cannot hold '" + printable(text) + "': " + printable(why),
                     "name one file, or a directory with all that is in it, like 'out/*'; or leave "
                     "out 'enforced'");
      }
    }
  }
  return files;
}

Result<void> Reader::files(const toml::node& node, Policy& policy) {
  for (const auto& [key, value] : *GB_TRY(table(node))) {
    if (key.str() == "read") {
      policy.lists[Subject::kFilesRead] = GB_TRY(file_list(value));
    } else if (key.str() == "write") {
      policy.lists[Subject::kFilesWrite] = GB_TRY(file_list(value));
    } else {
      return unknown(key, {"read", "write"});
    }
  }
  return {};
}

Result<ToolRules> Reader::tools(const toml::node& node) {
  ToolRules rules;
  for (const auto& [key, value] : *GB_TRY(table(node))) {
    if (key.str() == "otherwise") {
      rules.otherwise = GB_TRY(action(value, {"allow", "ask", "refuse"}));
      continue;
    }
    std::optional<Action> listed;
    for (const Action each : {Action::kAllow, Action::kAsk, Action::kRefuse}) {
      listed = key.str() == name_of(each) ? each : listed;
    }
    if (!listed) {
      return unknown(key, {"allow", "ask", "refuse", "otherwise"});
    }
    RuleList texts;
    GB_TRY(entries(value, *listed, texts));
    const toml::array& nodes = *value.as_array();
    for (std::size_t at = 0; at < texts.entries.size(); ++at) {
      auto rule = parse_tool_rule(texts.entries[at].pattern, *listed);
      if (!rule) {
        return fault(nodes[at].source(), rule.error().message(), rule.error().hint());
      }
      rules.rules.push_back(*std::move(rule));
    }
  }
  return rules;
}

Result<std::vector<std::string>> Reader::texts(const toml::node& node, std::size_t most) {
  const toml::array* const list = node.as_array();
  if (list == nullptr || list->size() > Checks::kMost) {
    return fault(node.source(), "expected a list of at most " + std::to_string(Checks::kMost) +
                                    " strings, [\"…\"]");
  }
  std::vector<std::string> texts;
  for (const toml::node& each : *list) {
    texts.push_back(GB_TRY(text(each, most)));
  }
  return texts;
}

Result<Checks> Reader::checks(const toml::node& node) {
  Checks checks;
  for (const auto& [key, value] : *GB_TRY(table(node))) {
    if (key.str() == "commands") {
      checks.commands = GB_TRY(texts(value, Checks::kMaxText));
    } else if (key.str() == "files") {
      checks.files = GB_TRY(texts(value, kMaxPattern));
    } else if (key.str() == "output_schema") {
      checks.schemas = {GB_TRY(text(value, Checks::kMaxText))};
      if (const auto schema = parse_json(checks.schemas.front()); !schema) {
        return fault(value.source(), "this schema is not JSON: " + schema.error().message());
      }
    } else if (key.str() == "review") {
      checks.reviews = {GB_TRY(text(value, Checks::kMaxText))};
    } else {
      return unknown(key, {"commands", "files", "output_schema", "review"});
    }
  }
  return checks;
}

Result<void> Reader::language(std::string_view name, const toml::node& node, Policy& policy) {
  auto& lists = policy.by_language[std::string(name)];
  for (const auto& [key, value] : *GB_TRY(table(node))) {
    if (key.str() == "modules") {
      lists[Subject::kModules] = GB_TRY(list(value));
    } else if (key.str() == "calls") {
      lists[Subject::kCalls] = GB_TRY(list(value));
    } else if (key.str() == "attributes") {
      lists[Subject::kAttributes] = GB_TRY(list(value));
    } else {
      return unknown(key, {"modules", "calls", "attributes"});
    }
  }
  return {};
}

Result<Policy> Reader::policy(const toml::table& file) {
  static const Words kKeys = [] {
    Words keys = {"description", "min_tier", "unparsed", "dry_run",  "risk",  "languages",
                  "commands",    "hosts",    "files",    "patterns", "tools", "checks"};
    std::ranges::copy(families_with_names(), std::back_inserter(keys));
    return keys;
  }();
  Policy policy;
  policy.origin = origin_;
  for (const auto& [key, value] : file) {
    const std::string_view name = key.str();
    if (name == "description") {
      policy.description = GB_TRY(text(value, kMaxPattern));
    } else if (name == "min_tier") {
      policy.min_tier = GB_TRY(text(value, kMaxPattern));
    } else if (name == "unparsed") {
      // Never `allow`: what cannot be read must not pass as if it had been.
      policy.unparsed = GB_TRY(action(value, {"ask", "refuse"}));
      policy.says_unparsed = true;
    } else if (name == "dry_run") {
      policy.dry_run = GB_TRY(flag(value));
    } else if (name == "risk") {
      GB_TRY(thresholds(value, policy));
    } else if (name == "languages") {
      policy.lists[Subject::kLanguages] = GB_TRY(list(value));
    } else if (name == "commands") {
      GB_TRY(commands(value, policy));
    } else if (name == "hosts") {
      policy.lists[Subject::kHosts] = GB_TRY(list(value));
    } else if (name == "patterns") {
      policy.lists[Subject::kPatterns] = GB_TRY(list(value));
    } else if (name == "files") {
      GB_TRY(files(value, policy));
    } else if (name == "checks") {
      policy.checks = GB_TRY(checks(value));
    } else if (name == "tools") {
      policy.tools = GB_TRY(tools(value));
    } else if (std::ranges::find(families_with_names(), name) != families_with_names().end()) {
      GB_TRY(language(name, value, policy));
    } else {
      return unknown(key, kKeys);
    }
  }
  return policy;
}

Result<Example> Reader::example(const toml::node& node) {
  Example example;
  bool has_expectation = false;
  for (const auto& [key, value] : *GB_TRY(table(node))) {
    if (key.str() == "name") {
      example.name = GB_TRY(text(value, kMaxPattern));
    } else if (key.str() == "language") {
      example.language = GB_TRY(text(value, kMaxPattern));
    } else if (key.str() == "code") {
      example.code = GB_TRY(text(value, kMaxCode));
    } else if (key.str() == "tool") {
      example.tool = GB_TRY(text(value, kMaxPattern));
    } else if (key.str() == "arguments") {
      example.arguments = GB_TRY(text(value, kMaxCode));
    } else if (key.str() == "rule") {
      example.rule = GB_TRY(text(value, kMaxPattern));
    } else if (key.str() == "file") {
      example.file = GB_TRY(text(value, kMaxPattern));
    } else if (key.str() == "expect") {
      example.expected = GB_TRY(action(value, {"allow", "ask", "refuse"}));
      has_expectation = true;
    } else {
      return unknown(key,
                     {"name", "language", "code", "file", "tool", "arguments", "expect", "rule"});
    }
  }
  const bool has_code = !example.language.empty() && !example.code.empty();
  const bool is_call = !example.tool.empty() && example.language.empty() && example.code.empty();
  if (!(is_call || (has_code && example.tool.empty())) || !has_expectation) {
    return fault(node.source(), "an example needs 'expect', and 'language' and 'code', or 'tool'");
  }
  return example;
}

Result<std::vector<Example>> Reader::examples(const toml::table& file) {
  std::vector<Example> examples;
  for (const auto& [key, value] : file) {
    if (key.str() != "example") {
      return unknown(key, {"example"});
    }
    const toml::array* const list = value.as_array();
    if (list == nullptr || list->size() > kMaxExamples) {
      return fault(value.source(),
                   "expected at most " + std::to_string(kMaxExamples) + " tables [[example]]");
    }
    for (const toml::node& each : *list) {
      examples.push_back(GB_TRY(example(each)));
    }
  }
  return examples;
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, std::string_view origin) {
  Reader reader(origin);
  const toml::table file = GB_TRY(reader.parse(text));
  return reader.policy(file);
}

Result<std::vector<Example>> parse_examples(std::string_view text, std::string_view origin) {
  Reader reader(origin);
  const toml::table file = GB_TRY(reader.parse(text));
  return reader.examples(file);
}

}  // namespace glovebox::policy
