// SPDX-License-Identifier: Apache-2.0
// What an agent changed in its copy of a checkout. All of it is the guest's word, and hostile:
// names, links, sizes and counts.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/agent/checkout.h"

namespace glovebox::cli {

struct Change {
  enum class Kind { kAdded, kModified, kDeleted };
  std::string path;
  Kind kind = Kind::kModified;
  bool is_link = false;     // Now; false for a deleted file.
  bool executable = false;  // Likewise.
  std::string content{};    // The whole content, or where the link leads.
};

// What is not taken over, and why.
struct LeftBehind {
  std::string path;
  std::string reason;
};

struct Changes {
  std::vector<Change> changes{};  // By path.
  std::vector<LeftBehind> left_behind{};
};

struct ChangeLimits {
  std::size_t entries = 1'000'000;       // Of the archive.
  std::size_t changes = 50'000;          // Of the checkout.
  std::uint64_t file = 64ULL << 20;      // Of one file's content; a larger one is left behind.
  std::uint64_t content = 512ULL << 20;  // Of all changed files together.
  std::uint64_t archive = 64ULL << 30;
};

// What the sandbox says about the files in it.
struct FilesInside {
  // The files that git tracks or would add there. Without git, all files count.
  std::optional<std::set<std::string>> counted{};
  // Paths that are neither files nor links nor directories, or that are not readable.
  std::set<std::string> special{};
};

// Reads the tar archive of the checkout inside from a descriptor and compares it with what was
// copied in. The repository's own directory is passed over. kInvalid for what is not an archive,
// kExhausted beyond the limits.
Result<Changes> read_changes(int archive_fd,
                             const CheckoutFiles& before,
                             const FilesInside& inside,
                             const ChangeLimits& limits);

// Why no file of this name is ever written; nothing if one may be.
std::optional<std::string> path_problem(std::string_view path);
// Why a link at `path` that leads to `target` is never made; nothing if it may be. A permitted link
// leads to a file of the checkout, whatever other links there are: only its beginning climbs, and
// no further than to the checkout's own directory.
std::optional<std::string> link_problem(std::string_view path, std::string_view target);

}  // namespace glovebox::cli
