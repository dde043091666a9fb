// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_name.h"

#include <algorithm>

#include "base/text.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxName = 300;
constexpr std::size_t kMaxTag = 128;
constexpr std::size_t kMostTags = 64;

bool is_plain(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

Result<std::string> normal_tag(std::string_view wanted) {
  if (!is_plain(wanted) || wanted.size() > kMaxTag) {
    return Error(ErrorCode::kInvalid, "invalid tag '" + printable(wanted.substr(0, kMaxTag)) + "'");
  }
  std::string tag(wanted);
  for (char& c : tag) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return tag;
}

}  // namespace

Result<TemplateName> TemplateName::parse(std::string_view wanted) {
  if (wanted.size() > kMaxName) {
    return Error(ErrorCode::kInvalid, "the template name is too long");
  }
  const std::size_t slash = wanted.rfind('/');
  const std::string_view whole =
      slash == std::string_view::npos ? wanted : wanted.substr(slash + 1);
  const std::size_t colon = whole.find(':');
  const std::string_view name = whole.substr(0, colon);
  if (!is_plain(name)) {
    return Error(ErrorCode::kInvalid, "invalid template name");
  }
  TemplateName parsed{.name = std::string(name)};
  if (colon != std::string_view::npos) {
    parsed.tag = GB_TRY(normal_tag(whole.substr(colon + 1)));
  }
  return parsed;
}

TemplateName TemplateName::of(std::string_view ours) {
  const std::size_t colon = std::min(ours.find(':'), ours.size());
  return {.name = std::string(ours.substr(0, colon)),
          .tag = std::string(ours.substr(std::min(colon + 1, ours.size())))};
}

std::string TemplateName::ours() const {
  return tag.empty() || tag == kDefaultTag ? name : name + ":" + tag;
}

std::string TemplateName::tag_or_default() const {
  return tag.empty() ? std::string(kDefaultTag) : tag;
}

Result<std::vector<std::string>> template_tags(const std::vector<std::string>& wanted) {
  if (wanted.size() > kMostTags) {
    return Error(ErrorCode::kInvalid, "more than " + std::to_string(kMostTags) + " tags");
  }
  std::vector<std::string> tags;
  for (const std::string& each : wanted) {
    std::string tag = GB_TRY(normal_tag(each));
    if (std::ranges::find(tags, tag) == tags.end()) {
      tags.push_back(std::move(tag));
    }
  }
  return tags;
}

}  // namespace glovebox::e2b
