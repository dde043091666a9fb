// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/profile.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>

#include "base/check.h"
#include "base/json/json.h"
#include "base/text.h"
#include "cli/agent/shipped_profiles.h"
#include "cli/input_file.h"
#include "language/suggest.h"
#include "service/templates/recipe_toml.h"

namespace glovebox::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostText = 64UL << 10;
constexpr std::size_t kMostWords = 64;

// Reads the fields of a table; the first wrong one is the error.
class Table {
 public:
  Table(const json& table, std::string where) : table_(table), where_(std::move(where)) {}

  std::string text(const char* name) {
    const json* const value = find(name);
    if (value == nullptr) {
      return {};
    }
    if (!value->is_string() || value->get_ref<const std::string&>().contains('\0')) {
      refuse(name, "expected a text");
      return {};
    }
    return value->get<std::string>();
  }

  std::vector<std::string> texts(const char* name) {
    const json* const value = find(name);
    std::vector<std::string> found;
    if (value == nullptr) {
      return found;
    }
    if (!value->is_array() || value->size() > kMostWords) {
      refuse(name, "expected a list of at most " + std::to_string(kMostWords) + " texts");
      return found;
    }
    for (const json& each : *value) {
      if (!each.is_string() || each.get_ref<const std::string&>().contains('\0')) {
        refuse(name, "expected a list of texts");
        return found;
      }
      found.push_back(each.get<std::string>());
    }
    return found;
  }

  const json* find(const char* name) {
    known_.emplace_back(name);
    const auto found = table_.find(name);
    return found == table_.end() ? nullptr : &*found;
  }

  void refuse(const std::string& name, const std::string& why) {
    if (!wrong_) {
      wrong_ = Error(ErrorCode::kInvalid, where_ + name + ": " + why);
    }
  }

  Result<void> done() {
    for (const auto& [name, value] : table_.items()) {
      if (std::ranges::find(known_, name) == known_.end()) {
        refuse(name, "unknown field");
      }
    }
    return wrong_ ? Result<void>(*wrong_) : Result<void>();
  }

 private:
  const json& table_;
  const std::string where_;
  std::vector<std::string> known_{};
  std::optional<Error> wrong_{};
};

Result<AgentKey> read_key(const json& value) {
  if (!value.is_object()) {
    return Error(ErrorCode::kInvalid, "keys: expected a list of tables");
  }
  Table table(value, "keys.");
  AgentKey key;
  key.variable = table.text("variable");
  key.hosts = table.texts("hosts");
  key.prefix = table.text("prefix");
  if (key.variable.empty()) {
    table.refuse("variable", "expected the name of an environment variable");
  }
  if (key.hosts.empty()) {
    table.refuse("hosts", "a key without hosts would go nowhere");
  }
  if (key.prefix.size() > 64) {
    table.refuse("prefix", "at most 64 characters");
  }
  GB_TRY(table.done());
  return key;
}

std::vector<AgentProfile> read_shipped() {
  std::vector<AgentProfile> profiles;
  for (const ShippedProfile& each : shipped_profiles()) {
    auto profile = parse_agent_profile(std::string(each.name), each.text);
    GB_CHECK(profile.has_value());
    profiles.push_back(*std::move(profile));
  }
  return profiles;
}

}  // namespace

Result<AgentProfile> parse_agent_profile(const std::string& name, std::string_view toml) {
  const std::string text = GB_TRY(recipe_json_from_toml(toml));
  const json read = json::parse(text, nullptr, false);
  if (!read.is_object()) {
    return Error(ErrorCode::kInvalid, "the profile is not a table");
  }
  Table table(read, "");
  AgentProfile profile;
  profile.name = name;
  profile.description = table.text("description");
  profile.package = table.text("package");
  profile.command = table.texts("command");
  profile.setup = table.text("setup");
  profile.hosts = table.texts("hosts");
  if (profile.command.empty() || profile.command.front().empty()) {
    table.refuse("command", "expected the words of a command");
  }
  if (const json* const keys = table.find("keys")) {
    if (!keys->is_array() || keys->size() > 8) {
      table.refuse("keys", "expected a list of at most 8 tables");
    } else {
      for (const json& each : *keys) {
        profile.keys.push_back(GB_TRY(read_key(each)));
      }
    }
  }
  if (const json* const env = table.find("env")) {
    if (!env->is_object() || env->size() > kMostWords) {
      table.refuse("env", "expected a table of texts");
    } else {
      Table variables(*env, "env.");
      for (const auto& [variable, value] : env->items()) {
        profile.env[variable] = variables.text(variable.c_str());
      }
      GB_TRY(variables.done());
    }
  }
  GB_TRY(table.done());
  return profile;
}

const std::vector<AgentProfile>& shipped_agents() {
  static const std::vector<AgentProfile> kShipped = read_shipped();
  return kShipped;
}

Result<AgentProfile> find_agent_profile(const std::string& name) {
  if (name.contains('/') || name.ends_with(".toml")) {
    const std::string text = GB_TRY(read_whole_input(name, kMostText, "a profile is a few lines"));
    auto profile = parse_agent_profile(std::filesystem::path(name).stem().string(), text);
    return profile ? std::move(profile)
                   : Result<AgentProfile>(std::move(profile).error().within(printable(name)));
  }
  std::vector<std::string_view> names;
  std::string all;
  for (const AgentProfile& each : shipped_agents()) {
    if (each.name == name) {
      return each;
    }
    names.push_back(each.name);
    all += (all.empty() ? "" : ", ") + each.name;
  }
  const std::string nearest = nearest_word(name, names);
  return Error(ErrorCode::kNotFound, "no agent '" + printable(name) + "'",
               (nearest.empty() ? "" : "did you mean '" + nearest + "'? ") +
                   std::string("use one of ") + all + ", a profile FILE.toml, or --command");
}

}  // namespace glovebox::cli
