// SPDX-License-Identifier: Apache-2.0
// HtmlTokenizer: cuts hostile HTML into texts and tags.
//
// It need not agree with a browser about what malformed HTML means: the tokens are written anew,
// escaped, and the browser reads only that.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glovebox::notebook {

[[nodiscard]] std::string ascii_lower(std::string_view text);

struct HtmlToken {
  enum class Kind { kText, kStart, kEnd };
  Kind kind = Kind::kText;
  std::string text;  // With character references replaced.
  std::string name;  // In lower case.
  std::vector<std::pair<std::string, std::string>> attributes;  // The first of each name.
};

class HtmlTokenizer {
 public:
  // The text must outlive the tokenizer and be UTF-8.
  explicit HtmlTokenizer(std::string_view html) : html_(html) {}

  // Nothing at the end. Comments and declarations are passed over.
  [[nodiscard]] std::optional<HtmlToken> next();

  // Skips past the end tag of the element whose start tag was the last token, or to the end if
  // there is none. Returns what is in the element, as it is.
  std::string_view skip_element(std::string_view name);

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < html_.size() ? html_[at_ + ahead] : '\0';
  }
  void skip_markup();
  HtmlToken read_text();
  HtmlToken read_tag();
  void read_attribute(HtmlToken& token);
  void skip_blanks();

  std::string_view html_;
  std::size_t at_ = 0;
};

}  // namespace glovebox::notebook
