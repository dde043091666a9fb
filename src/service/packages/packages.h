// SPDX-License-Identifier: Apache-2.0
// Packages: what a sandbox gets of pip and npm beside what is installed on the host.
//
// No sandbox has a network, so packages come from directories that the caller names, or from an
// index on a Unix socket of the caller's. There are two ways, which go together:
//   - installed ahead: install_packages_for() makes a layer in a sandbox of its own, once, and
//     shows it read-only to every sandbox that asks for the same (service/packages/layer_store.h);
//     from directories only, for what an index will answer has no hash
//   - installed by the guest: offer_packages() shows the directories and sockets themselves, and
//     sets pip and npm up so that `pip install NAME` and `npm install NAME` take from them, into
//     the workspace
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/spec.h"
#include "service/packages/layer_store.h"
#include "service/packages/package_index.h"
#include "service/packages/package_request.h"
#include "spec/mount.h"

namespace glovebox {

// What a caller asked for.
struct PackageWish {
  std::vector<PackageRequest> requests;
  std::vector<std::string> sources;  // Directories of the host.
  // For what the guest installs itself.
  std::vector<PackageIndex> indexes{};
};

// Fails with kRefused for packages without a source: they would take a network.
Result<void> validate(const PackageWish& wish);

// Mounts, and what must be in the environment so that they are found. A layer may be removed once
// nobody uses it, so this must outlive the sandbox that it was added to.
class Packages {
 public:
  // A directory of the caller's in place of a layer; shown under `key`.
  void add_directory(PackageManager manager, const std::string& key, const std::string& directory);

  // Adds mounts and environment. Variables that are set there are extended, not replaced.
  void add_to(SandboxSpec& spec) const;

  // The environment alone for a sandbox that has no root of its own (TierFeatures::own_root), in
  // which mounts are seen where they are outside: `env` with what is needed added.
  [[nodiscard]] Environment outside(Environment env) const;

 private:
  friend Result<Packages> install_packages_for(const PackageWish&,
                                               const std::function<void()>&,
                                               int);
  friend Result<Packages> offer_packages(const std::vector<std::string>&,
                                         const std::vector<PackageIndex>&);

  // One variable that lists directories.
  struct SearchPath {
    std::string name;
    std::string inside;
    std::string outside;
  };
  void add_layer(PackageManager manager, Layer layer);
  void add_layer_paths(PackageManager manager, const std::string& outside);
  [[nodiscard]] Environment extend(Environment env, std::string SearchPath::*place) const;

  std::vector<Layer> layers_;
  std::vector<Mount> mounts_;
  std::vector<SearchPath> search_;
  Environment settings_;
};

// The layers of a wish; makes those that are not there, after calling `installing` (which may be
// empty). `cancel_fd` becoming readable ends that; -1 for never.
Result<Packages> install_packages_for(const PackageWish& wish,
                                      const std::function<void()>& installing,
                                      int cancel_fd);

// For sandboxes whose guests install packages themselves. What pip installs goes to the user's site
// in the workspace; the interpreter must look there. For indexes, start_index_relay() must follow.
Result<Packages> offer_packages(const std::vector<std::string>& sources,
                                const std::vector<PackageIndex>& indexes);

}  // namespace glovebox
