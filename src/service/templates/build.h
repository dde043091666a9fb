// SPDX-License-Identifier: Apache-2.0
// Building templates: from a recipe to pieces in the store of contents.
//
// Each piece is kept under a hash of all that it is made from, so that a recipe that was built
// before, or that begins like another one, is not built again. What runs, runs in sandboxes of this
// process, the builder (keeper/builder.h): they end with it, and then nothing is left but a draft
// that the next sweep removes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/packages/package_request.h"
#include "service/packages/packages.h"
#include "service/templates/build_monitor.h"
#include "service/templates/build_network.h"
#include "service/templates/content_store.h"
#include "service/templates/image_config.h"
#include "service/templates/recipe.h"

namespace glovebox {

// What sandboxes are made from: pieces, by their keys, and settings.
struct TemplateParts {
  std::string home{"/workspace"};
  std::string user{"guest"};
  std::string root{};   // Has "root"; empty: the host's /usr.
  std::string files{};  // Has "home.tar"; empty: the workspace is empty.
  struct Layer {
    PackageManager manager = PackageManager::kPip;
    std::string key;  // Has "files".
    friend bool operator==(const Layer&, const Layer&) = default;
  };
  std::vector<Layer> layers{};
  std::vector<std::string> packages{};  // What the layers were asked for.
  Environment env{};
  std::string start{};
  std::string ready{};
  std::vector<std::string> preload{};
  LimitWishes limits{};
  bool nested = false;  // As in a recipe.
  // What its image or its Dockerfile says. Of `directory` only what a sandbox has.
  ImageConfig image{};
  // States between the steps of a Dockerfile, kept for later builds. No sandbox needs them.
  std::vector<std::string> cache{};

  // Of the pieces that sandboxes are made from.
  [[nodiscard]] std::vector<std::string> keys() const;
};

// What the layers of packages are in a sandbox. `env` is extended, not replaced.
struct PackageView {
  std::vector<Mount> mounts;
  Environment env;
};
PackageView view_packages(const TemplateParts& parts, const ContentStore& store, Environment env);

struct BuiltParts {
  TemplateParts parts;
  bool cached = true;         // Nothing had to be made.
  std::vector<Content> held;  // Keeps the pieces until somebody else does.
};

// Sets variables: those of `more` replace those of the same name.
void merge(Environment& env, const Environment& more);

// `base` is what the recipe's base names; its files and settings are inherited unless the
// recipe brings a root of its own. `network` has the recipe's rules. Requires: a valid recipe.
// kUnavailable when it was canceled.
Result<BuiltParts> build_template(const Recipe& recipe,
                                  const TemplateParts& base,
                                  const BuildNetwork& network,
                                  const ContentStore& store,
                                  BuildMonitor& monitor);

}  // namespace glovebox
