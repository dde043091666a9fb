// SPDX-License-Identifier: Apache-2.0
#include "analyser/secrets.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace glovebox::analyser {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alphanumeric(char c) { return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z'); }
bool in_key(char c) { return is_digit(c) || is_upper(c); }
bool in_word(char c) { return is_alphanumeric(c) || c == '_' || c == '-'; }
bool in_slack(char c) { return is_alphanumeric(c) || c == '-'; }
bool in_title(char c) { return is_upper(c) || c == ' '; }

// A beginning, one letter of a set (if there is one), a separator, and `count` characters that
// belong.
struct Form {
  std::string_view beginning;
  std::string_view letters;
  std::string_view separator;
  bool (*belongs)(char);
  std::size_t count;
};
constexpr std::array kForms = std::to_array<Form>({
    {"AKIA", "", "", in_key, 16},
    {"gh", "pousr", "_", is_alphanumeric, 36},
    {"xox", "abpr", "-", in_slack, 20},
    {"sk-", "", "", in_word, 32},
    {"AIza", "", "", in_word, 35},
});

bool matches(const Form& form, std::string_view rest) {
  rest.remove_prefix(form.beginning.size());
  if (!form.letters.empty()) {
    if (rest.empty() || form.letters.find(rest.front()) == std::string_view::npos) {
      return false;
    }
    rest.remove_prefix(1);
  }
  if (!rest.starts_with(form.separator)) {
    return false;
  }
  rest.remove_prefix(form.separator.size());
  return rest.size() >= form.count && std::ranges::all_of(rest.substr(0, form.count), form.belongs);
}

bool has_private_key(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "PRIVATE KEY-----";
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    const std::size_t dashes = text.find("-----", at + kBegin.size());
    const std::string_view title = text.substr(
        at + kBegin.size(), dashes == std::string_view::npos ? std::string_view::npos
                                                             : dashes + 5 - at - kBegin.size());
    if (title.ends_with(kEnd) &&
        std::ranges::all_of(title.substr(0, title.size() - kEnd.size()), in_title)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool has_token(std::string_view text) {
  for (const Form& form : kForms) {
    for (std::size_t at = text.find(form.beginning); at != std::string_view::npos;
         at = text.find(form.beginning, at + 1)) {
      if (matches(form, text.substr(at))) {
        return true;
      }
    }
  }
  return has_private_key(text);
}

bool names_secret(std::string_view name) {
  constexpr std::array<std::string_view, 9> kWords = {"password", "passwd",     "pwd",
                                                      "secret",   "token",      "api_key",
                                                      "apikey",   "access_key", "accesskey"};
  const std::string small = lower_case(name);
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return small.ends_with(word) &&
           (small.size() == word.size() || small[small.size() - word.size() - 1] == '_');
  });
}

bool may_be_secret(std::string_view text) {
  constexpr std::array<std::string_view, 9> kExamples = {
      "your", "example", "dummy", "test", "xxx", "changeme", "<", "$", "{"};
  const std::string small = lower_case(text);
  return text.size() >= 6 && text.find_first_of(" \t\n\r\f\v") == std::string_view::npos &&
         std::ranges::none_of(kExamples,
                              [&](std::string_view each) { return small.starts_with(each); });
}

}  // namespace glovebox::analyser
