// SPDX-License-Identifier: Apache-2.0
// How many members an aggregate has, so that a test can see that a list names them all.
#pragma once

#include <cstddef>

namespace glovebox {
namespace detail {

// Fits every member.
struct AnyMember {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};

}  // namespace detail

template <typename T, typename... Members>
constexpr std::size_t count_of_members() {
  if constexpr (requires { T{Members{}..., detail::AnyMember{}}; }) {
    return count_of_members<T, Members..., detail::AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

}  // namespace glovebox
