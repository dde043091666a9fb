// SPDX-License-Identifier: Apache-2.0
// The JSON library, whose code json.cc and ordered_json.cc compile once for all files that include
// this.
//
// Include this and not <nlohmann/json.hpp>: with that, each unit would compile the parser and the
// writer again, in some four seconds.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

// The classes that reading and writing consist of, for a tree of one type.
#define GB_JSON_TEMPLATES(prefix, Tree)                                 \
  NLOHMANN_JSON_NAMESPACE_BEGIN                                         \
  prefix template class Tree;                                           \
  namespace detail {                                                    \
  prefix template class serializer<Tree>;                               \
  prefix template class json_sax_dom_parser<Tree>;                      \
  prefix template class json_sax_dom_callback_parser<Tree>;             \
  prefix template class lexer<Tree, InputOf<const std::string&>>;       \
  prefix template class lexer<Tree, InputOf<const std::string_view&>>;  \
  prefix template class parser<Tree, InputOf<const std::string&>>;      \
  prefix template class parser<Tree, InputOf<const std::string_view&>>; \
  }                                                                     \
  NLOHMANN_JSON_NAMESPACE_END

NLOHMANN_JSON_NAMESPACE_BEGIN
namespace detail {
// What the library reads a text through.
template <typename Text>
using InputOf = decltype(input_adapter(std::declval<Text>()));
}  // namespace detail
NLOHMANN_JSON_NAMESPACE_END

GB_JSON_TEMPLATES(extern, basic_json<>)
GB_JSON_TEMPLATES(extern, basic_json<ordered_map>)
