// SPDX-License-Identifier: Apache-2.0
// What a sandbox shows of a template, besides its workspace.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/command.h"
#include "spec/mount.h"

namespace glovebox::keeper {

struct TemplateOrder {
  // Who the sandboxes are for. What a template brings runs in the realm that they are made in, so
  // no two tenants share one; empty if nothing is of a template, and one realm serves all.
  std::string tenant{};
  std::string root{};                   // As SandboxSpec::root.
  std::vector<Mount> mounts{};          // Layers of packages.
  Environment env{};                    // Lets an interpreter find them.
  std::vector<std::string> preload{};   // Modules, besides those of the language.
  std::string directory{};              // Where commands begin; empty: the workspace.
  std::vector<std::string> contents{};  // Directories that must stay while it is used.

  // Packages that the daemon's operator offers are mounts, too.
  [[nodiscard]] bool of_template() const {
    return !root.empty() || !preload.empty() || !contents.empty();
  }
  // Equal keys mean equal sandboxes.
  [[nodiscard]] std::string key() const;
};

// Locks on all contents; kNotFound when one is gone.
Result<std::vector<UniqueFd>> hold_contents(const TemplateOrder& order);

}  // namespace glovebox::keeper
