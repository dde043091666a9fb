// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tool_arguments.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "spec/credential_rules.h"

namespace glovebox::mcp {

ToolArguments::ToolArguments(const Params& arguments) : arguments_(arguments) {
  if (!arguments.is_object()) {
    problem_ = "\"arguments\" must be an object";
  }
}

void ToolArguments::refuse(std::string_view name, std::string_view what) {
  if (problem_.empty()) {
    problem_ = "argument '" + std::string(name) + "' " + std::string(what);
  }
}

const Params* ToolArguments::take(std::string_view name) {
  known_.emplace_back(name);
  if (!arguments_.is_object()) {
    return nullptr;
  }
  const auto found = arguments_.find(name);
  return found == arguments_.end() || found->is_null() ? nullptr : &*found;
}

std::string ToolArguments::text(std::string_view name) {
  const Params* const value = take(name);
  if (value == nullptr) {
    return {};
  }
  if (!value->is_string()) {
    refuse(name, "must be a string");
    return {};
  }
  return value->get<std::string>();
}

std::string ToolArguments::required_text(std::string_view name) {
  if (arguments_.is_object() && !arguments_.contains(name)) {
    refuse(name, "is missing");
  }
  return text(name);
}

bool ToolArguments::flag(std::string_view name) {
  const Params* const value = take(name);
  if (value != nullptr && !value->is_boolean()) {
    refuse(name, "must be true or false");
    return false;
  }
  return value != nullptr && value->get<bool>();
}

bool ToolArguments::required_flag(std::string_view name) {
  if (arguments_.is_object() && !arguments_.contains(name)) {
    refuse(name, "is missing");
  }
  return flag(name);
}

std::optional<std::uint64_t> ToolArguments::count(std::string_view name, std::uint64_t most) {
  const Params* const value = take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  // Models write 3.0 for 3.
  const double number = value->is_number() ? value->get<double>() : -1;
  if (number < 0 || std::floor(number) != number || number > static_cast<double>(most)) {
    refuse(name, "must be an integer from 0 to " + std::to_string(most));
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(number);
}

std::optional<std::chrono::milliseconds> ToolArguments::seconds(std::string_view name,
                                                                std::chrono::milliseconds most) {
  const Params* const value = take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const double number = value->is_number() ? value->get<double>() : 0;
  if (!(number > 0) || number * 1000 > static_cast<double>(most.count())) {
    refuse(name,
           "must be a number of seconds above 0 and up to " + std::to_string(most.count() / 1000));
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::max<long long>(1, std::llround(number * 1000)));
}

std::vector<std::string> ToolArguments::texts(std::string_view name, std::size_t most) {
  const Params* const value = take(name);
  std::vector<std::string> all;
  if (value == nullptr) {
    return all;
  }
  if (!value->is_array() || value->size() > most ||
      !std::ranges::all_of(*value, [](const Params& each) { return each.is_string(); })) {
    refuse(name, "must be a list of at most " + std::to_string(most) + " strings");
    return all;
  }
  for (const Params& each : *value) {
    all.push_back(each.get<std::string>());
  }
  return all;
}

Environment ToolArguments::environment(std::string_view name, std::size_t most) {
  const Params* const value = take(name);
  Environment all;
  if (value == nullptr) {
    return all;
  }
  if (!value->is_object() || value->size() > most) {
    refuse(name, "must be an object of at most " + std::to_string(most) + " strings");
    return all;
  }
  for (const auto& [variable, text] : value->items()) {
    if (!is_variable_name(variable) || !text.is_string() ||
        text.get_ref<const std::string&>().find('\0') != std::string::npos) {
      refuse(name, "has an invalid variable '" + printable(variable.substr(0, 60)) + "'");
      return {};
    }
    all.emplace_back(variable, text.get<std::string>());
  }
  return all;
}

Result<void> ToolArguments::done() const {
  if (!problem_.empty()) {
    return Error(ErrorCode::kInvalid, problem_);
  }
  for (const auto& [name, value] : arguments_.items()) {
    if (std::ranges::find(known_, name) == known_.end()) {
      std::string names;
      for (const std::string& known : known_) {
        names += (names.empty() ? "" : ", ") + known;
      }
      return Error(ErrorCode::kInvalid, "unknown argument '" + printable(name.substr(0, 60)) + "'",
                   "this tool takes: " + names);
    }
  }
  return {};
}

}  // namespace glovebox::mcp
