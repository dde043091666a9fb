// SPDX-License-Identifier: Apache-2.0
// A checkout that is copied into a sandbox: which files, and what they were when copied.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::cli {

// What a file was when it was copied.
struct CheckoutFile {
  bool is_link = false;
  bool executable = false;
  std::string digest{};  // SHA-256 of the content, or of where the link leads.
};
using CheckoutFiles = std::map<std::string, CheckoutFile>;

struct CheckoutLimits {
  std::size_t files = 200'000;
  std::uint64_t bytes = 2ULL << 30;
};

class Checkout {
 public:
  // Opens a directory. In the top directory of a git repository, the files are those that git
  // tracks and those that it would add; elsewhere all. kInvalid if it is not a directory,
  // kExhausted beyond the limits.
  static Result<Checkout> open(const std::string& directory, const CheckoutLimits& limits);

  // Its directory, by descriptor: renaming it cannot lead us elsewhere.
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // What it is called inside: letters, digits, '.', '_' and '-'.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_repository() const { return is_repository_; }
  // The full name of its commit, 40 or 64 digits; empty if there is none yet.
  [[nodiscard]] const std::string& commit() const { return commit_; }
  // The branch; empty if none is checked out.
  [[nodiscard]] const std::string& branch() const { return branch_; }
  // What git lists but is not copied: submodules, repositories inside, special files.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }
  // The repository of which it is only a part; empty: none.
  [[nodiscard]] const std::string& repository_above() const { return repository_above_; }

  // Writes the files to a tar archive, below name(). Returns what they were when they were written.
  Result<CheckoutFiles> pack(int fd);
  // Writes the history of commit() as git bundles it.
  Result<void> bundle(int fd) const;

 private:
  Checkout() = default;
  Result<void> list_with_git(const CheckoutLimits& limits);
  Result<void> list_all(const CheckoutLimits& limits);

  UniqueFd fd_;
  std::string path_;
  std::string name_;
  bool is_repository_ = false;
  std::string commit_;
  std::string branch_;
  std::string repository_above_;
  std::set<std::string> paths_;
  std::vector<std::string> left_out_;
  std::uint64_t most_bytes_ = 0;
};

// The directory that a path of a checkout is in, opened without following a link, and the path's
// last component. place_below(): kNotFound if there is no such directory.
struct PlaceBelow {
  UniqueFd directory;
  std::string name;
};
Result<PlaceBelow> place_below(int directory_fd, const std::string& path);

// Where a link leads.
Result<std::string> read_link_at(int directory_fd, const std::string& name);

}  // namespace glovebox::cli
