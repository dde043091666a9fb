// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or the Error that says why there is none.
//
// Three kinds of bad news travel in three ways, and never in each other's:
//   - the guest failed       -> a Verdict (spec/verdict.h): an ordinary return value
//   - we or the host failed  -> an Error inside a Result
//   - this code is wrong     -> GB_CHECK, which aborts
//
// The members are a subset of std::expected's, which clang-tidy 14 cannot read.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/error.h"

namespace glovebox {

template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is the point.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): so is `return error;`.
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Requires: has_value().
  [[nodiscard]] T& value() & {
    GB_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    GB_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    GB_CHECK(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Requires: !has_value().
  [[nodiscard]] const Error& error() const& {
    GB_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    GB_CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return error;` is the point.
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const { GB_CHECK(has_value()); }

  // Requires: !has_value().
  [[nodiscard]] const Error& error() const& {
    GB_CHECK(!has_value());
    return *error_;
  }
  [[nodiscard]] Error&& error() && {
    GB_CHECK(!has_value());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace glovebox

// The value of `expr`, or a return from the enclosing function with its error. May be nested. Not
// for coroutines: g++ 12 crashes on a statement expression that contains co_await.
#define GB_TRY(expr) GB_TRY_AS(GB_TRY_NAME(__COUNTER__), expr)
#define GB_TRY_NAME(number) GB_TRY_JOIN(gb_try_result_, number)
#define GB_TRY_JOIN(a, b) a##b
#define GB_TRY_AS(result, expr)                    \
  __extension__({                                  \
    auto result = (expr);                          \
    if (!result) return std::move(result).error(); \
    std::move(result).value();                     \
  })
