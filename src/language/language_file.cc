// SPDX-License-Identifier: Apache-2.0
// Reads the TOML of one language file.
//
// toml++ answers what the text says; this file answers whether that makes sense. Every complaint
// names the line and the column of the thing complained about. The text is hostile: its size, its
// nesting, and the number and length of everything in it are bounded.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

// toml++ 3.3 asserts what a file can make false ("[}" does), and in release builds lets compilers
// rely on it; after each of these assertions comes code that reports the error. So they must be
// neither checked nor relied upon, in any build. NOLINTBEGIN(readability-identifier-naming): the
// library's names.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
// NOLINTEND(readability-identifier-naming)
#include <toml++/toml.h>

#include "base/duration.h"
#include "language/file_rules.h"
#include "language/language.h"
#include "language/suggest.h"
#include "language/toml_guard.h"

namespace glovebox {
namespace {

constexpr std::size_t kMaxItems = 64;
constexpr std::size_t kMaxText = 4'096;

// The hint if nothing more specific is known.
constexpr const char* kShown = "see docs/languages.md for the values of each key";

std::string_view kind_of(const toml::node& node) {
  return node.is_table()     ? "a table"
         : node.is_array()   ? "a list"
         : node.is_string()  ? "a string"
         : node.is_number()  ? "a number"
         : node.is_boolean() ? "true or false"
                             : "something else";
}

class Reader {
 public:
  explicit Reader(std::string_view file_name) : file_name_(file_name) {}

  Result<Language> read(std::string_view text);

 private:
  using Check = const char* (*)(std::string_view);
  using Key = Result<void> (Reader::*)(const toml::node&);
  struct NamedKey {
    std::string_view name;
    Key read;
    bool of_variants = false;  // Also a key of a tier's table.
  };
  static const std::array<NamedKey, 24>& keys();

  [[nodiscard]] Error fault(const toml::source_region& at,
                            const std::string& what,
                            std::string hint = kShown) const;
  [[nodiscard]] Error unknown_key(const toml::key& key) const;
  [[nodiscard]] Error wrong_type(const toml::node& node, std::string_view wanted) const;

  Result<std::string> text(const toml::node& node, std::size_t most);
  Result<std::string> one_line(const toml::node& node, std::size_t most);
  Result<std::string> checked_text(const toml::node& node, Check check);
  Result<std::vector<std::string>> texts(const toml::node& node, std::size_t most);
  Result<std::vector<std::string>> checked_texts(const toml::node& node, Check check);
  Result<std::vector<std::string>> argv(const toml::node& node);
  Result<void> no_unknown_placeholder(const toml::node& node, std::string_view value);
  Result<LimitWishes> limits(const toml::node& node);
  template <typename T>
  Result<T> limit_value(const toml::node& node);
  Result<void> limit(const toml::key& key, const toml::node& node, LimitWishes& limits);
  // A number, or a text that `parse` understands.
  template <typename T>
  Result<T> measure(const toml::node& node,
                    Result<T> (*parse)(std::string_view),
                    std::string_view wanted);
  Result<std::chrono::milliseconds> duration(const toml::node& node);
  Result<Bytes> size(const toml::node& node);
  Result<std::uint32_t> count(const toml::node& node);

  Result<void> read_id(const toml::node& node);
  Result<void> read_title(const toml::node& node);
  Result<void> read_names(const toml::node& node);
  Result<void> read_extensions(const toml::node& node);
  Result<void> read_interpreters(const toml::node& node);
  Result<void> read_file_name(const toml::node& node);
  Result<void> read_naming(const toml::node& node);
  Result<void> read_file_executable(const toml::node& node);
  Result<void> read_compile(const toml::node& node);
  Result<void> read_run(const toml::node& node);
  Result<void> read_agent(const toml::node& node);
  Result<void> read_preload(const toml::node& node);
  Result<void> read_version(const toml::node& node);
  Result<void> read_needs(const toml::node& node);
  Result<void> read_package(const toml::node& node);
  Result<void> read_extra_packages(const toml::node& node);
  Result<void> read_agent_package(const toml::node& node);
  Result<void> read_install(const toml::node& node);
  Result<void> read_env(const toml::node& node);
  Result<void> read_agent_env(const toml::node& node);
  Result<void> read_variables(const toml::node& node, Environment& variables);
  Result<void> read_mounts(const toml::node& node);
  Result<void> read_run_limits(const toml::node& node);
  Result<void> read_compile_limits(const toml::node& node);
  Result<void> read_wasm(const toml::node& node);
  Result<void> read_table(const toml::table& table);

  std::string_view file_name_;
  Language language_;
  bool is_variant_ = false;
};

const std::array<Reader::NamedKey, 24>& Reader::keys() {
  static constexpr std::array<NamedKey, 24> kKeys = {{
      {"id", &Reader::read_id},
      {"title", &Reader::read_title},
      {"names", &Reader::read_names},
      {"extensions", &Reader::read_extensions},
      {"interpreters", &Reader::read_interpreters},
      {"file_name", &Reader::read_file_name},
      {"naming", &Reader::read_naming},
      {"file_executable", &Reader::read_file_executable},
      {"compile", &Reader::read_compile, true},
      {"run", &Reader::read_run, true},
      {"agent", &Reader::read_agent, true},
      {"preload", &Reader::read_preload},
      {"version", &Reader::read_version, true},
      {"needs", &Reader::read_needs, true},
      {"package", &Reader::read_package, true},
      {"extra_packages", &Reader::read_extra_packages, true},
      {"agent_package", &Reader::read_agent_package},
      {"install", &Reader::read_install, true},
      {"env", &Reader::read_env, true},
      {"agent_env", &Reader::read_agent_env},
      {"mounts", &Reader::read_mounts, true},
      {"run_limits", &Reader::read_run_limits, true},
      {"compile_limits", &Reader::read_compile_limits, true},
      {"wasm", &Reader::read_wasm},
  }};
  return kKeys;
}

Error Reader::fault(const toml::source_region& at,
                    const std::string& what,
                    std::string hint) const {
  // A table that a dotted key made has no place of its own.
  const auto line = std::max<toml::source_index>(1, at.begin.line);
  const auto column = std::max<toml::source_index>(1, at.begin.column);
  std::string message(file_name_);
  message += ':' + std::to_string(line) + ':' + std::to_string(column) + ": " + what;
  return Error(ErrorCode::kInvalid, std::move(message), std::move(hint));
}

Error Reader::unknown_key(const toml::key& key) const {
  std::vector<std::string_view> names;
  for (const NamedKey& each : keys()) {
    if (each.of_variants || !is_variant_) {
      names.push_back(each.name);
    }
  }
  const std::string nearest = nearest_word(key.str(), names);
  return fault(
      key.source(), "unknown key '" + std::string(key.str().substr(0, kMaxFileName)) + "'",
      nearest.empty() ? "see docs/languages.md for the keys" : "did you mean '" + nearest + "'?");
}

Error Reader::wrong_type(const toml::node& node, std::string_view wanted) const {
  return fault(node.source(),
               "expected " + std::string(wanted) + ", found " + std::string(kind_of(node)));
}

Result<std::string> Reader::text(const toml::node& node, std::size_t most) {
  const auto* value = node.as_string();
  if (value == nullptr) {
    return wrong_type(node, "a quoted string");
  }
  if (value->get().empty() || value->get().size() > most) {
    return fault(node.source(), "this string must have 1 to " + std::to_string(most) + " bytes");
  }
  // A NUL would end the text early in every system call.
  if (value->get().find('\0') != std::string::npos) {
    return fault(node.source(), "this string contains a NUL byte");
  }
  return value->get();
}

Result<std::string> Reader::one_line(const toml::node& node, std::size_t most) {
  std::string value = GB_TRY(text(node, most));
  if (!is_printable(value)) {
    return fault(node.source(), "expected one line of printable text");
  }
  return value;
}

// `check` returns what is wrong with a text, or null.
Result<std::string> Reader::checked_text(const toml::node& node, Check check) {
  std::string value = GB_TRY(text(node, kMaxText));
  if (const char* what = check(value); what != nullptr) {
    return fault(node.source(), "'" + value.substr(0, kMaxFileName) + "' " + what);
  }
  return value;
}

Result<std::vector<std::string>> Reader::texts(const toml::node& node, std::size_t most) {
  const toml::array* list = node.as_array();
  if (list == nullptr) {
    return wrong_type(node, "a list of strings, [\"…\"]");
  }
  if (list->size() > kMaxItems) {
    return fault(node.source(), "this list has more than " + std::to_string(kMaxItems) + " items");
  }
  std::vector<std::string> values;
  for (const toml::node& item : *list) {
    values.push_back(GB_TRY(text(item, most)));
  }
  return values;
}

Result<std::vector<std::string>> Reader::checked_texts(const toml::node& node, Check check) {
  std::vector<std::string> values = GB_TRY(texts(node, kMaxText));
  for (std::size_t i = 0; i < values.size(); ++i) {
    GB_TRY(checked_text(*node.as_array()->get(i), check));
  }
  return values;
}

Result<void> Reader::no_unknown_placeholder(const toml::node& node, std::string_view value) {
  const std::string_view unknown = unknown_placeholder(value);
  if (!unknown.empty()) {
    return fault(node.source(), "unknown placeholder " + std::string(unknown),
                 "use {file}, {stem}, {dir}, {main}, {memory_mib}, {heap_mib}, {cpus} or {agents}");
  }
  return {};
}

Result<std::vector<std::string>> Reader::argv(const toml::node& node) {
  std::vector<std::string> values = GB_TRY(texts(node, kMaxText));
  if (values.empty()) {
    return fault(node.source(), "this command is empty", "start with the program: [\"program\"]");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    GB_TRY(no_unknown_placeholder(*node.as_array()->get(i), values[i]));
  }
  return values;
}

template <typename T>
Result<T> Reader::measure(const toml::node& node,
                          Result<T> (*parse)(std::string_view),
                          std::string_view wanted) {
  std::string written;
  if (const auto* number = node.as_integer(); number != nullptr) {
    written = std::to_string(number->get());
  } else if (node.is_string()) {
    written = GB_TRY(text(node, kMaxName));
  } else {
    return wrong_type(node, wanted);
  }
  auto parsed = parse(written);
  if (!parsed) {
    return fault(node.source(), parsed.error().message(), parsed.error().hint());
  }
  return parsed;
}

Result<std::chrono::milliseconds> Reader::duration(const toml::node& node) {
  return measure(node, parse_duration, "a duration like \"30s\"");
}

Result<Bytes> Reader::size(const toml::node& node) {
  return measure(node, parse_bytes, "a size like \"512M\"");
}

Result<std::uint32_t> Reader::count(const toml::node& node) {
  const auto* number = node.as_integer();
  if (number == nullptr) {
    return wrong_type(node, "an integer");
  }
  if (number->get() < 0 || number->get() > std::numeric_limits<std::uint32_t>::max()) {
    return fault(node.source(), "this number is out of range");
  }
  return static_cast<std::uint32_t>(number->get());
}

template <typename T>
Result<T> Reader::limit_value(const toml::node& node) {
  if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    return duration(node);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return size(node);
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return count(node);
  } else {
    const std::optional<double> number = node.value<double>();
    return number ? Result<T>(*number) : wrong_type(node, "a number");
  }
}

Result<void> Reader::limit(const toml::key& key, const toml::node& node, LimitWishes& limits) {
  std::optional<Result<void>> read;
  each_wish([&](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    if (key.str() == field.name) {
      read = [&]() -> Result<void> {
        limits.*field.wish = GB_TRY(limit_value<Value>(node));
        return {};
      }();
    }
  });
  if (!read) {
    return fault(key.source(), "unknown limit '" + std::string(key.str()) + "'",
                 "allowed limits: " + names_of_limits());
  }
  GB_TRY(*std::move(read));
  if (auto valid = validate(limits.over(Limits{})); !valid) {
    return fault(node.source(), valid.error().message(), valid.error().hint());
  }
  return {};
}

Result<LimitWishes> Reader::limits(const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    return wrong_type(node, "a table of limits");
  }
  LimitWishes limits;
  for (const auto& [key, value] : *table) {
    GB_TRY(limit(key, value, limits));
  }
  return limits;
}

Result<void> Reader::read_id(const toml::node& node) {
  language_.id = GB_TRY(text(node, kMaxName));
  GB_TRY(checked_text(node, id_fault));
  return {};
}

Result<void> Reader::read_title(const toml::node& node) {
  language_.title = GB_TRY(one_line(node, kMaxFileName));
  return {};
}

Result<void> Reader::read_names(const toml::node& node) {
  language_.names = GB_TRY(checked_texts(node, name_fault));
  return {};
}

Result<void> Reader::read_extensions(const toml::node& node) {
  language_.extensions = GB_TRY(checked_texts(node, extension_fault));
  return {};
}

Result<void> Reader::read_interpreters(const toml::node& node) {
  language_.interpreters = GB_TRY(checked_texts(node, interpreter_fault));
  return {};
}

Result<void> Reader::read_file_name(const toml::node& node) {
  language_.file_name = GB_TRY(checked_text(node, file_name_fault));
  return {};
}

Result<void> Reader::read_naming(const toml::node& node) {
  const std::string naming = GB_TRY(text(node, kMaxName));
  if (naming == "fixed") {
    language_.naming = SourceNaming::kFixed;
  } else if (naming == "own") {
    language_.naming = SourceNaming::kOwn;
  } else if (naming == "java") {
    language_.naming = SourceNaming::kJava;
  } else if (naming == "javascript") {
    language_.naming = SourceNaming::kJavaScript;
  } else {
    return fault(node.source(), "unknown naming '" + naming + "'",
                 "use \"fixed\", \"own\", \"java\" or \"javascript\"");
  }
  return {};
}

Result<void> Reader::read_file_executable(const toml::node& node) {
  const auto* value = node.as_boolean();
  if (value == nullptr) {
    return wrong_type(node, "true or false");
  }
  language_.file_mode = value->get() ? 0755 : 0644;
  return {};
}

Result<void> Reader::read_compile(const toml::node& node) {
  language_.compile = GB_TRY(argv(node));
  return {};
}

Result<void> Reader::read_run(const toml::node& node) {
  language_.run = GB_TRY(argv(node));
  return {};
}

Result<void> Reader::read_agent(const toml::node& node) {
  language_.agent = GB_TRY(argv(node));
  return {};
}

Result<void> Reader::read_preload(const toml::node& node) {
  language_.preload = GB_TRY(texts(node, kMaxName));
  return {};
}

Result<void> Reader::read_version(const toml::node& node) {
  language_.version = GB_TRY(argv(node));
  return {};
}

Result<void> Reader::read_needs(const toml::node& node) {
  language_.needs = GB_TRY(texts(node, kMaxText));
  return {};
}

Result<void> Reader::read_package(const toml::node& node) {
  language_.package = GB_TRY(checked_text(node, package_fault));
  return {};
}

Result<void> Reader::read_extra_packages(const toml::node& node) {
  language_.extra_packages = GB_TRY(checked_texts(node, package_fault));
  return {};
}

Result<void> Reader::read_agent_package(const toml::node& node) {
  language_.agent_package = GB_TRY(checked_text(node, package_fault));
  return {};
}

Result<void> Reader::read_install(const toml::node& node) {
  language_.install = GB_TRY(one_line(node, kMaxText));
  return {};
}

Result<void> Reader::read_env(const toml::node& node) {
  return read_variables(node, language_.env);
}

Result<void> Reader::read_agent_env(const toml::node& node) {
  return read_variables(node, language_.agent_env);
}

Result<void> Reader::read_variables(const toml::node& node, Environment& variables) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    return wrong_type(node, "a table of strings");
  }
  if (table->size() > kMaxItems) {
    return fault(node.source(), "more than " + std::to_string(kMaxItems) + " variables");
  }
  for (const auto& [key, value] : *table) {
    const std::string_view name = key.str();
    if (const char* what = variable_fault(name); what != nullptr) {
      return fault(key.source(), "'" + std::string(name.substr(0, kMaxFileName)) + "' " + what);
    }
    std::string content = GB_TRY(text(value, kMaxText));
    GB_TRY(no_unknown_placeholder(value, content));
    variables.emplace_back(name, std::move(content));
  }
  return {};
}

Result<void> Reader::read_mounts(const toml::node& node) {
  const std::vector<std::string> paths = GB_TRY(checked_texts(node, mount_fault));
  for (const std::string& path : paths) {
    language_.mounts.push_back({.source = path, .target = path, .optional = true});
  }
  return {};
}

Result<void> Reader::read_run_limits(const toml::node& node) {
  language_.run_limits = GB_TRY(limits(node));
  return {};
}

Result<void> Reader::read_compile_limits(const toml::node& node) {
  language_.compile_limits = GB_TRY(limits(node));
  return {};
}

Result<Language> Reader::read(std::string_view text) {
  toml::source_region start;
  start.begin = {1, 1};
  if (text.size() > kMaxLanguageFile) {
    return fault(start, "this file is larger than 64 KiB",
                 "see docs/languages.md for an example of a language file");
  }
  constexpr const char* kMend =
      "write the file in TOML; see docs/languages.md for a complete example";
  const GuardedToml guarded = guard_toml(text);
  if (guarded.fault) {
    toml::source_region there;
    there.begin = {static_cast<toml::source_index>(guarded.fault->line),
                   static_cast<toml::source_index>(guarded.fault->column)};
    return fault(there, guarded.fault->what, kMend);
  }
  const toml::parse_result parsed = toml::parse(guarded.text);
  if (!parsed) {
    return fault(parsed.error().source(), std::string(parsed.error().description()), kMend);
  }
  language_.origin = file_name_;
  GB_TRY(read_table(parsed.table()));
  for (const auto& [name, missing] :
       {std::pair{"id", language_.id.empty()}, std::pair{"file_name", language_.file_name.empty()},
        std::pair{"run", language_.run.empty()}}) {
    if (missing) {
      return fault(start, std::string("the key '") + name + "' is missing",
                   "see docs/languages.md for a complete example");
    }
  }
  if (language_.title.empty()) {
    language_.title = language_.id;
  }
  // Variants are the same language, in whatever order the keys came.
  for (Language& variant : language_.variants) {
    variant.id = language_.id;
    variant.title = language_.title;
    variant.names = language_.names;
    variant.extensions = language_.extensions;
    variant.interpreters = language_.interpreters;
    variant.file_name = language_.file_name;
    variant.naming = language_.naming;
    variant.file_mode = language_.file_mode;
    variant.origin = language_.origin;
  }
  return std::move(language_);
}

Result<void> Reader::read_table(const toml::table& table) {
  for (const auto& [key, value] : table) {
    const std::string_view name = key.str();
    const auto* const known = std::find_if(
        keys().begin(), keys().end(), [name](const NamedKey& each) { return each.name == name; });
    if (known == keys().end() || (is_variant_ && !known->of_variants)) {
      return unknown_key(key);
    }
    GB_TRY((this->*known->read)(value));
  }
  return {};
}

Result<void> Reader::read_wasm(const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    return wrong_type(node, "a table of keys, [wasm]");
  }
  Reader reader(file_name_);
  reader.is_variant_ = true;
  reader.language_.tier = "wasm";
  GB_TRY(reader.read_table(*table));
  if (reader.language_.run.empty()) {
    return fault(node.source(), "the key 'run' is missing in [wasm]",
                 "see docs/languages.md for an example");
  }
  language_.variants.push_back(std::move(reader.language_));
  return {};
}

}  // namespace

Result<Language> parse_language(std::string_view text, std::string_view file_name) {
  return Reader(file_name).read(text);
}

}  // namespace glovebox
