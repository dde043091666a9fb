// SPDX-License-Identifier: Apache-2.0
#include "service/packages/packages.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <climits>
#include <set>
#include <string_view>
#include <utility>

#include "base/digest/digest.h"
#include "service/packages/package_install.h"
#include "service/packages/package_source.h"
#include "service/packages/package_tools.h"
#include "spec/guest.h"

namespace glovebox {
namespace {

// Changes whenever a layer of the same packages would come out differently.
constexpr std::uint64_t kFormat = 1;

constexpr const char* kLayersTarget = "/opt/glovebox/layers";

// An ES module looks for packages beside itself and in every directory above, and nowhere else.
constexpr const char* kModulesTarget = "/node_modules";

Result<std::vector<PackageSource>> open_sources(const std::vector<std::string>& paths) {
  std::vector<PackageSource> sources;
  for (const std::string& path : paths) {
    sources.push_back(GB_TRY(PackageSource::open(path)));
  }
  return sources;
}

// The interpreter that the packages are for: another version may need other files of them. Asking
// it would cost a process; an upgrade changes its name, size or time.
void add_interpreter(ContentHash& hash, const char* path) {
  std::array<char, PATH_MAX> real{};
  struct stat status {};
  if (::realpath(path, real.data()) != nullptr && ::stat(real.data(), &status) == 0) {
    hash.add(real.data())
        .add(static_cast<std::uint64_t>(status.st_size))
        .add(static_cast<std::uint64_t>(status.st_mtim.tv_sec));
  }
}

// Everything that decides what comes out of an installation.
Result<std::string> key_of(PackageManager manager,
                           const std::vector<PackageRequest>& requests,
                           const std::vector<PackageSource>& sources,
                           const LayerStore& store) {
  ContentHash hash;
  hash.add(kFormat).add(to_string(manager)).add(requests.size());
  for (const PackageRequest& request : requests) {
    hash.add(request.specifier());
  }
  add_interpreter(hash, manager == PackageManager::kPip ? "/usr/bin/python3" : "/usr/bin/node");
  for (const PackageSource& source : sources) {
    const std::vector<PackageFile> files = GB_TRY(source.files(manager, store.memory()));
    hash.add(files.size());
    for (const PackageFile& file : files) {
      hash.add(file.name).add(file.size).add(file.hash);
    }
  }
  return std::string(to_string(manager)) + "-" + hash.hex();
}

struct Maker {
  const LayerStore& store;
  const std::vector<PackageSource>& sources;
  const std::function<void()>& installing;
  int cancel_fd;

  [[nodiscard]] Result<Layer> make(PackageManager manager,
                                   const std::vector<PackageRequest>& requests) const {
    const std::string key = GB_TRY(key_of(manager, requests, sources, store));
    if (auto layer = GB_TRY(store.find(key))) {
      return std::move(*layer);
    }
    if (installing) {
      installing();
    }
    const Layer tools = GB_TRY(tools_layer(store));
    LayerDraft draft = GB_TRY(store.begin());
    const PackageInstall install{.manager = manager,
                                 .requests = requests,
                                 .sources = source_mounts(sources),
                                 .tools = {.source = tools.files(), .target = kToolsTarget},
                                 .cancel_fd = cancel_fd};
    GB_TRY(install_packages(install, draft.files()));
    if (GB_TRY(key_of(manager, requests, sources, store)) != key) {
      return Error(ErrorCode::kUnavailable, "the package sources changed during the installation",
                   "try again");
    }
    return store.commit(std::move(draft), key);
  }
};

std::string& value_of(Environment& env, std::string_view name) {
  const auto found = std::ranges::find(env, name, &Environment::value_type::first);
  return found != env.end() ? found->second : env.emplace_back(name, std::string()).second;
}

}  // namespace

Result<void> validate(const PackageWish& wish) {
  if (!wish.requests.empty() && wish.sources.empty()) {
    return Error(
        ErrorCode::kRefused,
        "packages are installed without a network, from a source that you provide",
        "pass a directory of wheels or npm tarballs ('npm pack') with --package-source DIR");
  }
  return {};
}

void Packages::add_directory(PackageManager manager,
                             const std::string& key,
                             const std::string& directory) {
  mounts_.push_back({.source = directory, .target = std::string(kLayersTarget) + "/" + key});
  add_layer_paths(manager, directory);
}

void Packages::add_layer(PackageManager manager, Layer layer) {
  add_directory(manager, layer.key(), layer.files());
  layers_.push_back(std::move(layer));
}

void Packages::add_layer_paths(PackageManager manager, const std::string& outside) {
  const std::string inside = mounts_.back().target;
  if (manager == PackageManager::kPip) {
    search_.push_back({"PYTHONPATH", inside, outside});
    search_.push_back({"PATH", inside + "/bin", outside + "/bin"});
    return;
  }
  const std::string modules = "/node_modules";
  mounts_.push_back({.source = outside + modules, .target = kModulesTarget, .optional = true});
  search_.push_back({"NODE_PATH", inside + modules, outside + modules});
  search_.push_back({"PATH", inside + modules + "/.bin", outside + modules + "/.bin"});
}

Environment Packages::extend(Environment env, std::string SearchPath::*place) const {
  for (const SearchPath& path : search_) {
    std::string& value = value_of(env, path.name);
    if (value.empty() && path.name == "PATH") {
      value = kDefaultPath;
    }
    // A program of a package must not replace one of the system; our own npm must.
    const bool first = path.inside == kToolsTarget;
    const std::string& directory = path.*place;
    value = value.empty() ? directory : first ? directory + ":" + value : value + ":" + directory;
  }
  for (const auto& [name, text] : settings_) {
    if (std::string& value = value_of(env, name); value.empty()) {
      value = text;
    }
  }
  return env;
}

void Packages::add_to(SandboxSpec& spec) const {
  spec.mounts.insert(spec.mounts.end(), mounts_.begin(), mounts_.end());
  spec.env = extend(std::move(spec.env), &SearchPath::inside);
}

Environment Packages::outside(Environment env) const {
  return extend(std::move(env), &SearchPath::outside);
}

Result<Packages> install_packages_for(const PackageWish& wish,
                                      const std::function<void()>& installing,
                                      int cancel_fd) {
  Packages packages;
  if (wish.requests.empty()) {
    return packages;
  }
  GB_TRY(validate(wish));
  const LayerStore store = GB_TRY(LayerStore::open_default());
  const std::vector<PackageSource> sources = GB_TRY(open_sources(wish.sources));
  const Maker maker{store, sources, installing, cancel_fd};
  for (const PackageManager manager : {PackageManager::kPip, PackageManager::kNpm}) {
    std::vector<PackageRequest> requests;
    std::ranges::copy_if(wish.requests, std::back_inserter(requests),
                         [manager](const auto& each) { return each.manager == manager; });
    if (!requests.empty()) {
      packages.add_layer(manager, GB_TRY(maker.make(manager, requests)));
    }
  }
  return packages;
}

Result<Packages> offer_packages(const std::vector<std::string>& sources,
                                const std::vector<PackageIndex>& indexes) {
  Packages packages;
  if (sources.empty() && indexes.empty()) {
    return packages;
  }
  packages.settings_ = index_settings(indexes);
  packages.settings_.insert(packages.settings_.end(),
                            {{"PIP_PREFER_BINARY", "1"},
                             // pip reads this one backwards: 0 is --no-build-isolation.
                             {"PIP_NO_BUILD_ISOLATION", "0"},
                             {"PIP_NO_CACHE_DIR", "1"}});
  if (std::ranges::find(indexes, PackageManager::kPip, &PackageIndex::manager) == indexes.end()) {
    packages.settings_.emplace_back("PIP_NO_INDEX", "1");
  }
  packages.mounts_ = index_mounts(indexes);
  if (sources.empty()) {
    return packages;
  }
  const std::vector<Mount> directories = source_mounts(GB_TRY(open_sources(sources)));
  std::string links;
  for (const Mount& mount : directories) {
    links += (links.empty() ? "" : " ") + mount.target;
  }
  packages.settings_.insert(
      packages.settings_.end(),
      {{"PIP_FIND_LINKS", links}, {"GLOVEBOX_PACKAGE_SOURCES", source_path(directories)}});
  const LayerStore store = GB_TRY(LayerStore::open_default());
  Layer tools = GB_TRY(tools_layer(store));
  packages.mounts_.insert(packages.mounts_.end(), directories.begin(), directories.end());
  packages.mounts_.push_back({.source = tools.files(), .target = kToolsTarget});
  packages.search_.push_back({"PATH", kToolsTarget, tools.files()});
  packages.layers_.push_back(std::move(tools));
  return packages;
}

}  // namespace glovebox
