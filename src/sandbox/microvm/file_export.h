// SPDX-License-Identifier: Apache-2.0
// Shows a tree of files, read-only, to a kernel that asks for it with FUSE's messages
// (linux/fuse.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/unique_fd.h"

namespace glovebox::microvm {

// The asking kernel is hostile: it gets no further than the tree, follows no link and no mount of
// the kernel's own (/proc, /sys, /dev), and cannot make this grow past kMostNodes names and
// kMostOpen descriptors. Every file is shown as root's. The tree does not change meanwhile.
class FileExport {
 public:
  static constexpr std::size_t kLongestRequest = 64UL * 1024;
  static constexpr std::size_t kLongestRead = 128UL * 1024;
  static constexpr std::size_t kMostNodes = 1U << 20;
  static constexpr std::size_t kMostOpen = 128;

  explicit FileExport(UniqueFd root);

  // The names that the asking kernel knows, for another export to continue with: it then answers
  // that kernel, or a copy of it, and its tree must have them too. remember() must come first, and
  // returns false if the bytes make no sense.
  [[nodiscard]] std::string names() const;
  bool remember(std::string_view names);

  // The answer to one whole request: its bytes, or none if none is due. Never fails: a request that
  // makes no sense gets an error of FUSE's. `request` has at least the size of a header.
  std::string_view answer(std::string_view request);

 private:
  using Id = std::uint64_t;

  struct Node {
    std::string path;  // Relative; "." is the root.
    std::uint64_t lookups = 0;
  };

  // Each returns the size of what it put into the answer, or a negative errno.
  long initialize(std::string_view body);
  long look_up(Id parent, std::string_view name);
  long attributes(Id id);
  long read_link(Id id);
  long read_file(Id id, std::string_view body);
  long read_directory(Id id, std::string_view body);
  long file_system();
  void forget(Id id, std::uint64_t lookups);
  void forget_many(std::string_view body);

  // A descriptor that this keeps, or a negative errno.
  long open_for_reading(Id id, int flags);
  [[nodiscard]] const Node* find(Id id) const;
  template <typename T>
  long put(const T& value);

  UniqueFd root_;
  Id last_ = 1;
  std::unordered_map<Id, Node> nodes_;
  std::unordered_map<std::string, Id> ids_;
  std::map<Id, UniqueFd> open_;
  std::size_t size_ = 0;
  // The header of an answer, and what comes after it.
  alignas(8) std::array<char, kLongestRead + 4096> out_{};
};

}  // namespace glovebox::microvm
