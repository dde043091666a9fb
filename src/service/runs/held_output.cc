// SPDX-License-Identifier: Apache-2.0
#include "service/runs/held_output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/archive/tar.h"
#include "base/diff/unified_diff.h"
#include "base/sys/beneath.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "service/runs/transfer.h"
#include "spec/json/dry_run_json.h"

namespace glovebox {
namespace {

using Kind = FileDifference::Kind;

constexpr std::size_t kBlock = 64UL * 1024;
// Of one comparison of lines.
constexpr std::size_t kDiffSteps = 2'000'000;

struct Opened {
  UniqueFd fd;
  struct stat status {};
};

// A regular file; links are not followed.
std::optional<Opened> open_file(int directory, const std::string& name) {
  auto fd = sys::open_beneath(directory, name, O_RDONLY);
  Opened opened;
  if (!fd || ::fstat(fd->get(), &opened.status) != 0 || !S_ISREG(opened.status.st_mode)) {
    return std::nullopt;
  }
  opened.fd = *std::move(fd);
  return opened;
}

std::uint64_t size_of(const std::optional<Opened>& file) {
  return file ? static_cast<std::uint64_t>(file->status.st_size) : 0;
}

std::string content_of(const std::optional<Opened>& file, std::size_t most) {
  std::string content(file ? most : 0, '\0');
  const ssize_t got = file ? ::pread(file->fd.get(), content.data(), content.size(), 0) : 0;
  content.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return content;
}

bool same_content(const Opened& a, const Opened& b) {
  if (a.status.st_size != b.status.st_size) {
    return false;
  }
  std::array<char, kBlock> one;
  std::array<char, kBlock> other;
  for (off_t at = 0; at < a.status.st_size;) {
    const ssize_t got = ::pread(a.fd.get(), one.data(), one.size(), at);
    if (got <= 0 || ::pread(b.fd.get(), other.data(), static_cast<std::size_t>(got), at) != got ||
        !std::equal(one.begin(), one.begin() + got, other.begin())) {
      return false;
    }
    at += got;
  }
  return true;
}

std::string diff_of(const std::string& path,
                    const std::optional<Opened>& before,
                    const std::optional<Opened>& now) {
  if (std::max(size_of(before), size_of(now)) > DryRun::kMostDiffed) {
    return {};
  }
  const std::string old = content_of(before, DryRun::kMostDiffed);
  const std::string content = content_of(now, DryRun::kMostDiffed);
  if (looks_binary(old) || looks_binary(content)) {
    return {};
  }
  const UnifiedDiff diff = unified_diff(old, content, kDiffSteps);
  const std::string name = printable(path);
  return diff.hunks.empty() ? std::string()
                            : "--- " + (before ? "a/" + name : "/dev/null") + "\n+++ b/" + name +
                                  "\n" + diff.hunks;
}

}  // namespace

Result<HeldOutput> HeldOutput::make() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const place = std::getenv("TMPDIR");
  std::string path =
      std::string(place != nullptr && *place != '\0' ? place : "/tmp") + "/glovebox-dry-run.XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return Error::from_errno("create a directory for held back files");
  }
  return HeldOutput(std::move(path));
}

HeldOutput::~HeldOutput() {
  if (!path_.empty()) {
    (void)sys::remove_tree(path_);
  }
}

Result<DryRun> HeldOutput::differences(const std::vector<std::string>& names,
                                       const std::string& directory) const {
  const UniqueFd held(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd there(
      directory.empty() ? -1 : ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!held) {
    return Error::from_errno("open the files that were held back");
  }
  if (!directory.empty() && !there && errno != ENOENT) {
    return Error::from_errno("open " + printable(directory));
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  DryRun run;
  std::size_t diff_bytes = 0;
  for (const std::string& name : sorted) {
    const auto now = open_file(held.get(), name);
    const auto before = there ? open_file(there.get(), name) : std::nullopt;
    if (!now || (before && same_content(*before, *now))) {
      continue;
    }
    if (run.files.size() >= DryRun::kMostFiles) {
      run.files_truncated = true;
      break;
    }
    DryRun::File file{.what = {.path = name,
                               .kind = before ? Kind::kModified : Kind::kAdded,
                               .size = size_of(now),
                               .size_before = size_of(before)}};
    std::string diff = diff_of(name, before, now);
    if (diff_bytes + diff.size() <= DryRun::kMostDiffBytes) {
      diff_bytes += diff.size();
      file.diff = std::move(diff);
    }
    run.files.push_back(std::move(file));
  }
  return run;
}

Result<void> HeldOutput::commit(const std::vector<std::string>& names,
                                const std::string& directory,
                                const DryRun& shown) const {
  DryRun now = GB_TRY(differences(names, directory));
  DryRun then = shown;
  then.hosts.clear();
  then.committed.reset();
  if (to_json(now) != to_json(then)) {
    return Error(ErrorCode::kConflict,
                 "'" + printable(directory) + "' changed after the dry run was shown",
                 "run it again");
  }
  const UniqueFd target = GB_TRY(open_out_directory(directory));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::from_errno("pipe");
  }
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  Result<void> written;
  std::thread writer([&] {
    written = write_archive(to.get(), {{.source = path_, .target = "."}});
    to.reset();
  });
  const TarRules rules{.symlinks = false, .max_bytes = UINT64_MAX, .mode_mask = 0755};
  auto extracted = extract_tar(from.get(), target.get(), rules, [](std::string_view) {});
  std::array<char, kBlock> rest;
  while (::read(from.get(), rest.data(), rest.size()) > 0) {
  }
  writer.join();
  GB_TRY(std::move(extracted));
  return written;
}

}  // namespace glovebox
