// SPDX-License-Identifier: Apache-2.0
// Names of templates as E2B writes them, "[namespace/]alias[:tag]", and ours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::e2b {

// The template that a client means. A namespace is taken for the client's own tenant, and dropped.
struct TemplateName {
  static constexpr std::string_view kDefaultTag = "default";

  std::string name;
  std::string tag{};  // Empty if the client gave none.

  // kInvalid for what cannot be a name.
  static Result<TemplateName> parse(std::string_view wanted);
  // Parses one of our names.
  static TemplateName of(std::string_view ours);

  // Our name: NAME for the tag "default", else NAME:TAG.
  [[nodiscard]] std::string ours() const;
  [[nodiscard]] std::string tag_or_default() const;
};

// In lower case and once each, as E2B has them; kInvalid names the first that cannot be a tag.
Result<std::vector<std::string>> template_tags(const std::vector<std::string>& wanted);

}  // namespace glovebox::e2b
