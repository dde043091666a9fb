// SPDX-License-Identifier: Apache-2.0
#include "service/templates/build.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "service/templates/debootstrap.h"
#include "service/templates/image_workspace.h"
#include "service/templates/package_step.h"
#include "service/templates/preload_step.h"
#include "service/templates/registry_image.h"
#include "service/templates/root_source.h"
#include "service/templates/workspace_step.h"

namespace glovebox {
namespace {

// Settings alone; what takes work comes after.
TemplateParts settings_of(const Recipe& recipe, const TemplateParts& base) {
  TemplateParts parts = base;
  if (recipe.brings_root()) {
    parts = {.home = base.home, .user = base.user};
  }
  parts.cache.clear();
  parts.home = recipe.home.empty() ? parts.home : recipe.home;
  parts.user = recipe.user.empty() ? parts.user : recipe.user;
  parts.start = recipe.start.empty() ? parts.start : recipe.start;
  parts.ready = recipe.ready.empty() ? parts.ready : recipe.ready;
  for (const std::string& module : recipe.preload) {
    if (std::ranges::find(parts.preload, module) == parts.preload.end()) {
      parts.preload.push_back(module);
    }
  }
  parts.limits = recipe.limits.over(parts.limits);
  parts.nested = parts.nested || recipe.nested;
  return parts;
}

std::size_t steps_of(const Recipe& recipe) {
  return (recipe.brings_root() ? 1 : 0) + (recipe.packages.empty() ? 0 : 1) + recipe.steps.size();
}

// Of a recipe that brings one.
Result<RootContent> make_root(const Recipe& recipe,
                              const BuildNetwork& network,
                              const ContentStore& store,
                              BuildMonitor& monitor) {
  if (recipe.image) {
    monitor.progress("unpack the image");
    return root_from_image(*recipe.image, store, monitor);
  }
  if (recipe.debootstrap) {
    monitor.progress("debootstrap " + recipe.debootstrap->suite);
    return root_from_debootstrap(*recipe.debootstrap, network, store, monitor);
  }
  monitor.progress("pull " + printable(recipe.registry));
  RegistryImage image = GB_TRY(parse_registry_image(recipe.registry));
  image.login = recipe.login;
  const ContentDraft scratch = GB_TRY(store.begin());
  return root_from_registry(image, network, store, scratch.path(), monitor);
}

}  // namespace

void merge(Environment& env, const Environment& more) {
  for (const auto& [name, value] : more) {
    std::erase_if(env, [&name](const auto& known) { return known.first == name; });
    env.emplace_back(name, value);
  }
}

std::vector<std::string> TemplateParts::keys() const {
  std::vector<std::string> keys;
  for (const std::string& key : {root, files}) {
    if (!key.empty()) {
      keys.push_back(key);
    }
  }
  for (const Layer& layer : layers) {
    keys.push_back(layer.key);
  }
  return keys;
}

PackageView view_packages(const TemplateParts& parts, const ContentStore& store, Environment env) {
  Packages packages;
  for (const TemplateParts::Layer& layer : parts.layers) {
    packages.add_directory(layer.manager, layer.key, store.path_of(layer.key) + "/files");
  }
  SandboxSpec spec;
  spec.env = std::move(env);
  packages.add_to(spec);
  for (Mount& mount : spec.mounts) {
    mount.closed = true;
  }
  return {.mounts = std::move(spec.mounts), .env = std::move(spec.env)};
}

Result<BuiltParts> build_template(const Recipe& recipe,
                                  const TemplateParts& base,
                                  const BuildNetwork& network,
                                  const ContentStore& store,
                                  BuildMonitor& monitor) {
  monitor.expect(steps_of(recipe));
  BuiltParts built{.parts = settings_of(recipe, base), .cached = true, .held = {}};
  TemplateParts& parts = built.parts;
  for (const std::string& key : parts.keys()) {
    auto held = store.find(key);
    if (!held) {
      return Error(ErrorCode::kNotFound, "the base's files were removed in the meantime");
    }
    built.held.push_back(*std::move(held));
  }
  const auto keep = [&built](Content content, bool cached) {
    built.cached = built.cached && cached;
    built.held.push_back(std::move(content));
    return built.held.back().key();
  };
  if (recipe.brings_root()) {
    RootContent root = GB_TRY(make_root(recipe, network, store, monitor));
    merge(parts.env, root.env);
    if (!recipe.debootstrap) {
      if (recipe.home.empty()) {
        parts.home = home_of(root.config).value_or(parts.home);
      }
      parts.image =
          with_usable_directory(std::move(root.config), root.content, parts.home, monitor);
      if (auto files = GB_TRY(workspace_of_root(root.content, parts.home, store, monitor))) {
        parts.files = keep(std::move(files->content), files->cached);
      }
    }
    parts.root = keep(std::move(root.content), root.cached);
  }
  merge(parts.env, recipe.env);
  if (!recipe.packages.empty()) {
    for (PackageContent& layer : GB_TRY(install_for_template(recipe, parts, store, monitor))) {
      parts.layers.push_back({.manager = layer.manager, .key = layer.content.key()});
      (void)keep(std::move(layer.content), layer.cached);
    }
    parts.packages.insert(parts.packages.end(), recipe.packages.begin(), recipe.packages.end());
  }
  if (!recipe.steps.empty()) {
    WorkspaceContent files = GB_TRY(make_workspace(recipe, parts, network, store, monitor));
    parts.files = keep(std::move(files.content), files.cached);
  }
  GB_TRY(try_preload(recipe, parts, store, monitor));
  if (!monitor.wanted()) {
    return Error(ErrorCode::kUnavailable, "canceled");
  }
  return built;
}

}  // namespace glovebox
