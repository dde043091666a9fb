// SPDX-License-Identifier: Apache-2.0
// The file system that a guest of the native tier sees, as a plan for sandbox/child.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
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
  void add_system();
  void add_devices();
  void add_writable(const SandboxSpec& spec);
  void add_etc(const SandboxSpec& spec);
  void add_proc_masks();

  std::deque<std::string> texts_;  // A deque: its strings never move.
  std::vector<std::string> known_directories_;
  std::vector<child::Directory> directories_;
  std::vector<child::Bind> binds_;
  std::vector<child::Bind> masks_;
  std::vector<child::TextFile> files_;
  std::vector<child::Symlink> links_;
  const char* options_ = nullptr;
  const char* hostname_ = nullptr;
};

}  // namespace glovebox
