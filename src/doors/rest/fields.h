// SPDX-License-Identifier: Apache-2.0
// Fields: a JSON object that a client sent, read strictly.
//
// A field of another type, and one that nobody asked for, is refused by name: a misspelt limit that
// is ignored is a limit that does not hold. The answer names the first mistake.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.h"
#include "base/result.h"
#include "spec/command.h"

namespace glovebox::rest {

using Json = nlohmann::json;

class Fields {
 public:
  // An empty text is the empty object.
  static Result<Fields> parse(std::string text);
  // `path` is put before the names in messages: "limits.".
  Fields(Json object, std::string path) : object_(std::move(object)), path_(std::move(path)) {}

  // Nothing when the field is absent, null or wrong; the latter shows in done().
  std::optional<std::string> text(const char* name, std::size_t most = 4'096);
  std::optional<bool> flag(const char* name);
  std::optional<std::uint64_t> count(const char* name, std::uint64_t least, std::uint64_t most);
  std::optional<double> number(const char* name);
  // A number of seconds, or a text as "30s".
  std::optional<std::chrono::milliseconds> duration(const char* name);
  // A number of bytes, or a text as "512M".
  std::optional<std::uint64_t> size(const char* name);
  std::optional<std::vector<std::string>> texts(const char* name, std::size_t most_items);
  std::optional<std::map<std::string, std::string>> text_map(const char* name,
                                                             std::size_t most_items,
                                                             std::size_t most_bytes);
  std::optional<Environment> environment(const char* name);
  std::optional<Json> object(const char* name);
  std::optional<Json> object_or_text(const char* name);
  std::optional<std::vector<Json>> objects(const char* name, std::size_t most_items);
  // One of these.
  std::optional<std::string> choice(const char* name, std::initializer_list<std::string_view> from);
  // The value as it stands in the text, in one line and in its order; null is a value, too. Nothing
  // when the field is absent. Only for what parse() has read, and before done().
  std::optional<std::string> raw(const char* name);
  std::string required_text(const char* name, std::size_t most);

  // A complaint of the caller's about a field.
  void refuse(const char* name, const std::string& why);
  // The first thing that was wrong, unknown fields included.
  Result<void> done();

 private:
  const Json* find(const char* name);
  void wanted(const char* name, const char* what);

  std::string text_;
  Json object_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
  std::optional<Error> wrong_;
};

}  // namespace glovebox::rest
