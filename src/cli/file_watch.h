// SPDX-License-Identifier: Apache-2.0
// FileWatch: reports when files have changed, however an editor saves them: in place, or by putting
// another file in their place.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::cli {

class FileWatch {
 public:
  // `paths` are files, which need not exist yet, or directories, below which everything is watched
  // except hidden files, editors' copies ("name~"), and what is in `except` (empty: nothing).
  // kInvalid for a path whose directory does not exist; kExhausted beyond 4,096 directories, or
  // what the kernel grants.
  static Result<FileWatch> make(const std::vector<std::string>& paths, const std::string& except);

  // Readable when something may have changed.
  [[nodiscard]] int fd() const { return inotify_.get(); }

  // Waits until something has changed and nothing more changes. Returns the paths, as they were
  // passed, or none if `other` is readable first.
  [[nodiscard]] std::set<std::string> await(int other);

 private:
  struct Directory {
    std::string path;
    std::map<std::string, std::string> files;  // Name to the path that was passed.
    std::string whole;                         // The path that was passed; empty: only `files`.
  };

  FileWatch(UniqueFd inotify, std::string except)
      : inotify_(std::move(inotify)), except_(std::move(except)) {}
  Result<Directory*> add(const std::string& directory);
  Result<void> add_all(const std::string& directory, const std::string& passed);
  void take(std::set<std::string>& changed);

  UniqueFd inotify_;
  std::string except_;
  std::map<int, Directory> directories_;  // By watch descriptor.
};

// Readable when one of two descriptors is; both outlive it. Fails only at a limit of the kernel's.
Result<UniqueFd> either(int one, int other);

}  // namespace glovebox::cli
