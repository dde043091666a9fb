// SPDX-License-Identifier: Apache-2.0
// The file system that a guest of the native tier sees, as a plan for sandbox/child.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/child/plan.h"
#include "sandbox/exec_access.h"
#include "sandbox/spec.h"
#include "sandbox/tiers/native/system_layer.h"

namespace glovebox {

// What Landlock allows a guest there.
std::span<const child::AccessRule> native_access_rules();

// Where a root guest's changes to each directory are, out of its sight (written_root.cc). If it has
// a disk, this is the whole of it.
inline constexpr const char* kLayers = "run/layers";
inline constexpr const char* kDiskWorkspace = "run/layers/workspace";

// A read-only mount of a directory or a file (relative to `directory`, or with AT_FDCWD an absolute
// path), which the child takes along. Nothing if we may not mount outside: the guest is then the
// same user and finds the path. If we are root, the guest is another user, to whom our directories
// are closed.
Result<UniqueFd> take_along(int directory, const std::string& source);

// Owns every string and array that the plan points to. Must live until the child has exec'ed.
class RootPlan {
 public:
  // An empty one, to be assigned to.
  RootPlan() = default;

  // Looks at the host (does /lib64 exist, is it a link, …) and lays the root out.
  static Result<RootPlan> create(const SandboxSpec& spec);

  // Sets the parts of `plan` that describe the file system.
  void apply(child::Plan& plan) const;

  // Mounts to map before the child sees them: inside, their files belong to whom their numbers say.
  [[nodiscard]] std::span<const int> mounts_to_map() const { return to_map_; }

  // Of each overlay the name of its directory in kLayers, and its target as a path of the guest's.
  [[nodiscard]] std::span<const char* const> layers() const { return layers_; }

  // Holds what is shown of the host's configuration. Once.
  [[nodiscard]] SystemLayer take_system_layer() { return std::move(system_layer_); }

  // As Enclosure::system.
  [[nodiscard]] const std::vector<std::string>& system() const { return system_; }

 private:
  const char* keep(std::string text);
  void add_directory(std::string path, std::uint32_t mode);
  // The directories above it that are not there yet.
  void add_parents(const std::string& path);
  Result<void> add_mount(const Mount& mount);
  Result<void> add_attachment(const Attachment& attachment);
  void add_system();
  void add_links_to_usr();
  // The same of another root in place of the host's.
  Result<void> add_other_root(const std::string& root);
  Result<void> add_other_directory(const std::string& root,
                                   int directory,
                                   const std::string& prefix);
  [[nodiscard]] bool is_of_other_root(const std::string& target) const;
  void add_devices();
  void add_writable(const SandboxSpec& spec);
  void add_etc(const SandboxSpec& spec);
  void add_own_etc(const SandboxSpec& spec);
  void add_own_files(const SandboxSpec& spec);
  void add_own_file(const SandboxSpec::OwnFile& file);
  void add_pins(const SandboxSpec& spec);
  void add_system_places(const SandboxSpec& spec);
  [[nodiscard]] std::vector<std::string> names_of_root(const SandboxSpec& spec) const;
  void add_proc_masks();
  // What Landlock allows, if guests may start only some programs.
  Result<void> restrict_programs(const SandboxSpec& spec);

  // Of a guest that is root (written_root.cc).
  enum class Owners { kShown, kNobody };
  // Shows `source` of the outside, and on top of it whatever the guest writes. Owners::kShown:
  // files belong to whom their numbers say, if the file system allows that; otherwise those of the
  // host's root belong to nobody, and only what others may read can be read. Between the two may be
  // `directories`, whose owners are shown, so that the guest can write to them.
  Result<void> add_overlay(const std::string& source,
                           const std::string& target,
                           Owners owners,
                           SystemLayer::Directory directories = {});
  void add_overlay(SystemLayer::Directory lower,
                   std::uint32_t mode,
                   const std::string& target,
                   Owners owners,
                   SystemLayer::Directory directories);
  child::Lower add_lower(SystemLayer::Directory lower, const std::string& place, Owners owners);
  // Where a directory or a file is made so that it is there later, below what is mounted.
  [[nodiscard]] std::string made_at(const std::string& target) const;
  // Whether what is written to the disk only once is there already.
  [[nodiscard]] bool is_written() const { return disk_fd_ >= 0 && !disk_is_fresh_; }
  // The parts of the root that are on the sandbox's disk beside the layers.
  void add_disk(const SandboxSpec& spec);
  Result<void> add_written_system();
  Result<void> add_written_etc(const SandboxSpec& spec);
  void add_text(std::string path, std::string text, std::uint32_t mode = 0644);
  Result<void> add_accounts(const SandboxSpec& spec, const std::string& etc);
  void add_machine(const Limits& limits);

  std::deque<std::string> texts_;  // A deque: its strings never move.
  std::vector<std::string> known_directories_;
  // Top-level names, and those in /opt, that show what another root has there.
  std::vector<std::string> other_names_;
  UniqueFd other_root_;
  SystemLayer system_layer_;
  std::vector<UniqueFd> taken_;  // Mounts of grafts and overlays.
  std::vector<int> to_map_;
  std::vector<child::Overlay> overlays_;
  std::vector<const char*> layers_;
  int disk_fd_ = -1;
  bool disk_is_fresh_ = true;
  std::vector<child::Directory> disk_targets_;
  std::vector<child::Directory> disk_directories_;
  std::vector<child::Bind> disk_binds_;
  bool as_root_ = false;
  bool nested_ = false;
  bool has_other_root_ = false;
  std::uint64_t written_ = ~0ULL;  // Rights to what guests can write.
  std::uint32_t more_inodes_ = 0;
  std::uint64_t more_bytes_ = 0;
  std::vector<child::Directory> directories_;
  std::vector<child::Bind> binds_;
  std::vector<child::Bind> masks_;
  std::vector<const char*> warden_files_;
  std::vector<child::Graft> grafts_;
  std::vector<child::Pin> pins_;
  const char* pinned_place_ = nullptr;
  std::vector<std::string> system_;
  std::optional<ExecAccess> exec_;
  std::vector<child::AccessRule> rules_;
  std::vector<child::TextFile> files_;
  std::vector<child::Symlink> links_;
  const char* options_ = nullptr;
  const char* hostname_ = nullptr;
};

}  // namespace glovebox
