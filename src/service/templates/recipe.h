// SPDX-License-Identifier: Apache-2.0
// Recipe: what to make a template of. A plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/templates/container_image.h"
#include "spec/command.h"
#include "spec/limit_fields.h"
#include "spec/network_rules.h"

namespace glovebox {

// Debian's installer of base systems, debootstrap(8).
struct Debootstrap {
  std::string suite;
  std::string mirror{"http://deb.debian.org/debian"};
  std::vector<std::string> packages{};
};

// An image on the daemon's host. An OCI layout may also be a directory.
struct ImageFile {
  ImageFormat format = ImageFormat::kRootfs;
  std::string path;
  std::string image{};  // Its name in an archive of several; empty: the only one.
};

// How a registry knows who pulls an image. Other registries do not get it.
struct RegistryLogin {
  std::string registry;  // HOST or HOST:PORT, as RegistryImage has it.
  std::string username;
  std::string password{};
  std::string secret{};  // Name of the tenant's secret that is the password; empty: `password`.
};

// A Dockerfile (service/dockerfile) with the files that it copies: all in one tar archive, or the
// text of the Dockerfile and the files by name.
struct DockerfileBuild {
  std::string context;             // A file of the daemon's: tar, plain or gzip. Empty: `text`.
  std::string path{"Dockerfile"};  // In the context.
  std::string text{};
  struct File {
    std::string name;  // At the top of the context.
    std::string path;  // Of the daemon's.
  };
  std::vector<File> files{};
  Environment args{};     // What ARG instructions are set to.
  bool use_cache = true;  // Whether steps that were built before are taken over.
};

// One thing that is done to the workspace, in order.
struct RecipeStep {
  enum class Kind { kFile, kCommand, kArchive };
  Kind kind = Kind::kCommand;
  std::string text{};  // A command of bash, or the content of a file.
  std::string path{};  // Of the file, or where an archive is unpacked: absolute, or relative
                       // to the workspace.
  std::uint32_t mode = 0644;
  std::string cwd{};      // Of the command; empty: the workspace.
  Environment env{};      // Of the command, beside the template's own.
  std::string archive{};  // A file of the daemon's: tar, plain or gzip.
};

struct Recipe {
  std::string name;
  std::string build{};  // By which its client knows this build; empty: by none.
  // Takes the place of the base and of the steps. `home` and `user` are for what begins with an
  // image; `start` and `ready` win over its own.
  std::optional<DockerfileBuild> dockerfile{};
  // What it begins with: a template, unless one of the other three is set.
  std::string base = "default";
  std::optional<Debootstrap> debootstrap{};
  std::optional<ImageFile> image{};
  std::string registry{};  // An image of a registry (registry_image.h).
  // For the images of one registry: that one, or those of the Dockerfile.
  std::optional<RegistryLogin> login{};
  // Where the workspace is, and what the guest is called; empty: as the base has it.
  std::string home{};
  std::string user{};

  std::vector<std::string> packages{};         // "pip:NAME", "npm:NAME"
  std::vector<std::string> package_sources{};  // Directories of the host.
  std::vector<RecipeStep> steps{};
  NetworkRules network{};  // What commands, pulls of images and debootstrap reach.
  Environment env{};
  std::string start{};  // Commands of bash.
  std::string ready{};
  std::vector<std::string> preload{};
  LimitWishes limits{};
  bool nested = false;  // Its sandboxes are nested, except those of root (SandboxSpec::nested).
  // Shipped ones, which hold for what runs in its sandboxes, beside those of its base.
  std::vector<std::string> policies{};

  // Whether its root is its own and not that of `base`.
  [[nodiscard]] bool brings_root() const { return debootstrap || image || !registry.empty(); }
};

// NAME or NAME:TAG. Each has letters, digits, '.', '_' and '-', at most 128 of them, and neither a
// dot nor a '-' in front. No tag is called "default": that is NAME itself.
Result<void> check_template_name(std::string_view name);

// NAME of NAME or NAME:TAG.
std::string_view without_tag(std::string_view template_name);

// Fails with kInvalid, naming the first field that cannot be.
Result<void> validate(const Recipe& recipe);

// Whether only the operator of the daemon may ask for this: it reads the host's files, or runs its
// programs.
bool takes_admin(const Recipe& recipe);

}  // namespace glovebox
