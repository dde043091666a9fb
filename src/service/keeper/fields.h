// SPDX-License-Identifier: Apache-2.0
// Structs as JSON objects, by one list of their fields for both directions: a field that is in the
// list is sent and arrives.
//
// What is missing or of another type arrives as an empty value, and never as an error.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/json/json.h"

namespace glovebox::keeper {

template <typename Access>
struct Field {
  const char* name;
  // A pointer to a member, or a function that returns a reference to something further inside.
  Access access;
};
// clang 14, with which fuzz targets are built, does not deduce it for an aggregate (P1816).
template <typename Access>
Field(const char*, Access) -> Field<Access>;

// Access to a member of a member.
template <auto kOuter, auto kInner>
inline constexpr auto kWithin =
    [](auto& value) -> decltype(auto) { return ((value.*kOuter).*kInner); };

// The fields of a struct: specialised as a tuple of Field.
template <typename T>
inline constexpr std::nullptr_t kFields = nullptr;

// For a type with a form of its own: specialised with encode(value) and decode(json, value).
template <typename T>
struct Coding;

namespace fields {

using nlohmann::json;

template <typename T>
concept Listed = !std::is_null_pointer_v<std::remove_cvref_t<decltype(kFields<T>)>>;

template <typename T>
concept Special = requires(const T& value) {
  Coding<T>::encode(value);
};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <typename T>
inline constexpr bool kIsPair = false;
template <typename A, typename B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;

template <typename T>
inline constexpr bool kIsDuration = false;
template <typename Rep, typename Period>
inline constexpr bool kIsDuration<std::chrono::duration<Rep, Period>> = true;

template <typename T>
inline constexpr bool kIsTexts = false;
template <typename Compare>
inline constexpr bool kIsTexts<std::map<std::string, std::string, Compare>> = true;

// Null for an optional that has no value, which its object then leaves out.
template <typename T>
json encode(const T& value) {
  if constexpr (Special<T>) {
    return Coding<T>::encode(value);
  } else if constexpr (Listed<T>) {
    json object = json::object();
    std::apply(
        [&](const auto&... field) {
          const auto put = [&](const char* name, json encoded) {
            if (!encoded.is_null()) {
              object[name] = std::move(encoded);
            }
          };
          (put(field.name, encode(std::invoke(field.access, value))), ...);
        },
        kFields<T>);
    return object;
  } else if constexpr (kIsOptional<T>) {
    return value ? encode(*value) : json();
  } else if constexpr (kIsList<T>) {
    json array = json::array();
    for (const auto& item : value) {
      array.push_back(encode(item));
    }
    return array;
  } else if constexpr (kIsPair<T>) {
    return json::array({encode(value.first), encode(value.second)});
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return value.count;
  } else if constexpr (kIsDuration<T>) {
    return value.count();
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else {
    return value;
  }
}

inline const json& member(const json& object, const char* name) {
  static const json kNone;
  if (!object.is_object()) {
    return kNone;
  }
  const auto found = object.find(name);
  return found != object.end() ? *found : kNone;
}

template <typename T>
void decode(const json& from, T& value) {
  value = T{};
  if constexpr (Special<T>) {
    Coding<T>::decode(from, value);
  } else if constexpr (Listed<T>) {
    std::apply(
        [&](const auto&... field) {
          (decode(member(from, field.name), std::invoke(field.access, value)), ...);
        },
        kFields<T>);
  } else if constexpr (kIsOptional<T>) {
    if (!from.is_null()) {
      decode(from, value.emplace());
    }
  } else if constexpr (kIsList<T>) {
    if (from.is_array()) {
      for (const json& item : from) {
        if constexpr (kIsPair<typename T::value_type>) {
          if (!item.is_array() || item.size() != 2) {
            continue;
          }
        }
        decode(item, value.emplace_back());
      }
    }
  } else if constexpr (kIsPair<T>) {
    decode(from[0], value.first);
    decode(from[1], value.second);
  } else if constexpr (kIsTexts<T>) {
    if (from.is_object()) {
      for (const auto& [name, text] : from.items()) {
        decode(text, value[name]);
      }
    }
  } else if constexpr (std::is_same_v<T, Bytes>) {
    decode(from, value.count);
  } else if constexpr (kIsDuration<T>) {
    typename T::rep count{};
    decode(from, count);
    value = T(count);
  } else if constexpr (std::is_enum_v<T>) {
    int number = 0;
    decode(from, number);
    value = static_cast<T>(number);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (from.is_string()) {
      value = from.template get<std::string>();
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    value = from.is_boolean() && from.template get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    if (from.is_number_integer()) {
      value = from.template get<T>();
    }
  } else {
    static_assert(std::is_floating_point_v<T>, "no fields are listed for this type");
    if (from.is_number()) {
      value = from.template get<T>();
    }
  }
}

template <typename T>
T decoded(const json& from) {
  T value{};
  decode(from, value);
  return value;
}

}  // namespace fields
}  // namespace glovebox::keeper
