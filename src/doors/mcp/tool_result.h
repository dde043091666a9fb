// SPDX-License-Identifier: Apache-2.0
// ToolResult: what a tool call returns: content for the model, and the same as data.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "doors/mcp/kept_outputs.h"
#include "doors/mcp/message.h"

namespace glovebox::mcp {

class ToolResult {
 public:
  void add_text(std::string_view text);
  // `data` is base64.
  void add_image(std::string_view data, std::string_view type);
  void add_link(const KeptOutputs::Output& output);
  // Beside the content: members of the structured content.
  Json& data() { return data_; }
  void fail() { failed_ = true; }

  // What is returned in place of all that: a question to the client.
  void ask(Json question) { question_ = std::move(question); }

  // The result of the call.
  [[nodiscard]] Json json() &&;

  // For a call that could not be done: the message and the hint, for the model to act on.
  static Json failure(const Error& error);

 private:
  Json content_ = Json::array();
  Json data_ = Json::object();
  Json question_{};
  bool failed_ = false;
};

// As much of a text as a model should read at once: its beginning and its end, with a line between
// them that says how much is missing.
struct Excerpt {
  static constexpr std::size_t kMost = 16'384;

  std::string text{};
  bool cut = false;
};
Excerpt excerpt(std::string_view text);

}  // namespace glovebox::mcp
