// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/template_order.h"

#include <utility>

#include "service/templates/content_store.h"

namespace glovebox::keeper {

std::string TemplateOrder::key() const {
  std::string key = tenant + '\0' + root;
  for (const Mount& mount : mounts) {
    key += '\0' + mount.source;
  }
  for (const auto& [name, value] : env) {
    key += '\0' + name + '=' + value;
  }
  for (const std::string& module : preload) {
    key += '\0' + module;
  }
  return key;
}

Result<std::vector<UniqueFd>> hold_contents(const TemplateOrder& order) {
  std::vector<UniqueFd> held;
  for (const std::string& path : order.contents) {
    held.push_back(hold_content(path));
    if (!held.back()) {
      return Error(ErrorCode::kNotFound, "the template's files were removed");
    }
  }
  return held;
}

}  // namespace glovebox::keeper
