// SPDX-License-Identifier: Apache-2.0
#include "cli/limit_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"

namespace glovebox::cli {
namespace {

template <typename T>
constexpr const char* kType = "N";
template <>
constexpr const char* kType<std::chrono::milliseconds> = "TIME";
template <>
constexpr const char* kType<Bytes> = "SIZE";

template <typename T>
Result<T> parse(const std::string& text) {
  if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    return parse_duration(text);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return parse_bytes(text);
  } else {
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Error(ErrorCode::kInvalid, "invalid number '" + printable(text) + "'",
                   "use a number, without a unit");
    }
    return number;
  }
}

// The value typed for this limit; nothing if the option is absent.
template <typename T>
Result<std::optional<T>> given(const LimitsText& limits, const LimitField<T>& field) {
  const auto found = limits.find(field.name);
  if (found == limits.end() || found->second.empty()) {
    return std::optional<T>();
  }
  const auto value = parse<T>(found->second);
  if (!value) {
    return Error(value.error()).within(limit_option(field.name));
  }
  if (std::is_same_v<T, std::chrono::milliseconds> && *value == T{}) {
    return Error(ErrorCode::kInvalid, limit_option(field.name) + " must be greater than zero",
                 "use 1ms or more, or leave it out");
  }
  return std::optional<T>(*value);
}

template <typename T>
std::string text_of_default(T value) {
  if (value == T{}) {
    return "none";
  }
  if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    return std::to_string(value / std::chrono::seconds(1)) + "s";
  } else {
    return limit_text(value);
  }
}

}  // namespace

std::string limit_option(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

void add_limit_options(CLI::App& command, LimitsText& limits, const LimitOptions& how) {
  each_limit([&]<typename T>(const LimitField<T>& field) {
    if ((field.wish == nullptr && !how.here) || how.left_out.contains(field.name)) {
      return;
    }
    const auto own = how.help.find(field.name);
    std::string help = own != how.help.end() ? own->second : field.help;
    if (how.here) {
      help += " [default: " + text_of_default(Limits().*field.limit) + "]";
    }
    command.add_option(limit_option(field.name), limits[field.name], help)
        ->type_name(kType<T>)
        ->group(how.group);
  });
}

Result<LimitWishes> parse_limits(const LimitsText& limits) {
  LimitWishes wishes;
  std::optional<Error> wrong;
  each_wish([&](const auto& field) {
    auto value = given(limits, field);
    if (value) {
      wishes.*field.wish = *value;
    } else if (!wrong) {
      wrong = std::move(value).error();
    }
  });
  return wrong ? Result<LimitWishes>(*wrong) : wishes;
}

Result<Limits> with_host_limits(const LimitsText& limits, Limits base) {
  std::optional<Error> wrong;
  each_limit([&](const auto& field) {
    if (field.wish != nullptr) {
      return;
    }
    auto value = given(limits, field);
    if (value) {
      base.*field.limit = value->value_or(base.*field.limit);
    } else if (!wrong) {
      wrong = std::move(value).error();
    }
  });
  return wrong ? Result<Limits>(*wrong) : base;
}

}  // namespace glovebox::cli
