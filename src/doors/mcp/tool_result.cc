// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tool_result.h"

#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace glovebox::mcp {

void ToolResult::add_text(std::string_view text) {
  content_.push_back({{"type", "text"}, {"text", to_utf8(text)}});
}

void ToolResult::add_image(std::string_view data, std::string_view type) {
  content_.push_back({{"type", "image"}, {"data", data}, {"mimeType", type}});
}

void ToolResult::add_link(const KeptOutputs::Output& output) {
  content_.push_back({{"type", "resource_link"},
                      {"uri", output.uri},
                      {"name", output.name},
                      {"mimeType", output.type},
                      {"size", output.bytes.size()}});
}

Json ToolResult::json() && {
  if (!question_.is_null()) {
    return std::move(question_);
  }
  Json result{{"content", std::move(content_)}};
  if (!data_.empty()) {
    result["structuredContent"] = std::move(data_);
  }
  if (failed_) {
    result["isError"] = true;
  }
  return result;
}

Json ToolResult::failure(const Error& error) {
  ToolResult result;
  result.add_text(error.message() + (error.hint().empty() ? "" : "\nhint: " + error.hint()));
  result.fail();
  return std::move(result).json();
}

Excerpt excerpt(std::string_view text) {
  if (text.size() <= Excerpt::kMost) {
    return {.text = std::string(text), .cut = false};
  }
  const std::string_view head = cut_at_character(text, Excerpt::kMost / 2);
  std::size_t tail = text.size() - Excerpt::kMost / 2;
  while (tail < text.size() && continues_character(text[tail])) {
    ++tail;
  }
  return {.text = std::string(head) + "\n[... " + std::to_string(tail - head.size()) +
                  " bytes are left out here ...]\n" + std::string(text.substr(tail)),
          .cut = true};
}

}  // namespace glovebox::mcp
