// SPDX-License-Identifier: Apache-2.0
// What Landlock lets a guest start and read if it may start only some programs (ExecRules).
//
// The programs of a root are the files in its directories of commands (/usr/bin, …). One that may
// not be started cannot be read either: what a guest cannot read, it cannot copy, hand to the
// dynamic loader, or load with a loader of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/child/confine.h"
#include "spec/exec_rules.h"

namespace glovebox {

class ExecAccess {
 public:
  // Looks at what is in `root`, a directory outside that guests see as "/" (the host's own: "/").
  // It may be malicious; nothing in it leads outside. Takes a few milliseconds for 1,500
  // programs.
  static Result<ExecAccess> create(const ExecRules& rules, const std::string& root);

  // Adds rules for `top` ("/usr") and what is below it, in place of one that allows reading and
  // starting everything. `rules` point into this object, which may be moved but not changed.
  Result<void> add_rules(const std::string& top, std::vector<child::AccessRule>& rules);

  // Adds the dynamic loaders, which the kernel must start for other programs.
  static void add_loaders(std::vector<child::AccessRule>& rules);

  // Rights to read everything in a directory that has no programs in it, and to start it if the
  // rules do not name all that can be started.
  [[nodiscard]] std::uint64_t rest() const { return rest_; }

 private:
  ExecAccess(UniqueFd root, std::string prefix)
      : root_(std::move(root)), prefix_(std::move(prefix)) {}

  // A file, and every name that it is found by.
  struct Found {
    std::vector<std::string> names{};
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };

  Result<void> look_into(const std::string& directory);
  Result<void> add_link(const std::string& link, const std::string& name);
  Result<void> add_program(const std::string& path,
                           const std::string& name,
                           std::uint64_t device,
                           std::uint64_t inode);
  void join_hard_links();
  void decide(ExecRules rules);
  // What the first line of a script names; empty if the file is not a script.
  std::vector<std::string> interpreters_of(const std::string& path) const;
  // The path inside of the file that a descriptor refers to; empty if it is not in the root.
  [[nodiscard]] std::string path_inside(int descriptor) const;
  const char* keep(std::string text);
  [[nodiscard]] bool has_closed_below(const std::string& path) const;
  Result<void> grant_below(const std::string& path, std::vector<child::AccessRule>& rules);

  UniqueFd root_;
  std::string prefix_;  // The root's own path; empty for the host's.
  std::uint64_t rest_ = 0;
  std::set<std::string> seen_;          // Directories.
  std::map<std::string, Found> found_;  // By paths inside, without links.
  std::set<std::string> closed_;
  std::vector<std::string> started_;  // What can be started if the rules name all.
  std::deque<std::string> texts_;     // A deque: its strings never move.
};

}  // namespace glovebox
