// SPDX-License-Identifier: Apache-2.0
// The file system that a guest of the native tier sees, as a plan for sandbox/child.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/child/plan.h"
#include "sandbox/spec.h"

namespace glovebox {

// What Landlock allows a guest there.
std::span<const child::AccessRule> native_access_rules();

// Owns every string and array that the plan points to. Must live until the child has exec'ed.
class RootPlan {
 public:
  // An empty one, to be assigned to.
  RootPlan() = default;

  // Looks at the host (does /lib64 exist, is it a link, …) and lays the root out.
  static Result<RootPlan> create(const SandboxSpec& spec);

  // Sets the parts of `plan` that describe the file system.
  void apply(child::Plan& plan) const;

 private:
  const char* keep(std::string text);
  void add_directory(std::string path, std::uint32_t mode);
  // With the directories above it, as far as they are not there yet.
  void add_parents(const std::string& path);
  Result<void> add_mount(const Mount& mount);
  Result<void> add_attachment(const Attachment& attachment);
  void add_system();
  // The same of another root in place of the host's.
  Result<void> add_other_root(const std::string& root);
  Result<void> add_other_directory(int directory, const std::string& prefix);
  [[nodiscard]] bool is_of_other_root(const std::string& target) const;
  void add_devices();
  void add_writable(const SandboxSpec& spec);
  void add_etc(const SandboxSpec& spec);
  void add_own_etc(const SandboxSpec& spec);
  void add_own_files(const SandboxSpec& spec);
  void add_proc_masks();
  void add_machine(const Limits& limits);

  std::deque<std::string> texts_;  // A deque: its strings never move.
  std::vector<std::string> known_directories_;
  // Top-level names, and those in /opt, that show what another root has there.
  std::vector<std::string> other_names_;
  UniqueFd other_root_;
  std::vector<UniqueFd> taken_;  // Mounts of grafts.
  bool has_other_root_ = false;
  std::uint32_t more_inodes_ = 0;
  std::uint64_t more_bytes_ = 0;
  std::vector<child::Directory> directories_;
  std::vector<child::Bind> binds_;
  std::vector<child::Bind> masks_;
  std::vector<const char*> warden_files_;
  std::vector<child::Graft> grafts_;
  std::vector<child::AccessRule> rules_;
  std::vector<child::TextFile> files_;
  std::vector<child::Symlink> links_;
  const char* options_ = nullptr;
  const char* hostname_ = nullptr;
};

}  // namespace glovebox
