// SPDX-License-Identifier: Apache-2.0
#include "sandbox/id_range.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/guest_ids.h"
#include "sandbox/runtime_directory.h"

namespace glovebox {
namespace {

constexpr const char* kLocks = ".ids";

static_assert(IdRange::kFirst >= GuestIds::kFirst + 2 * GuestIds::kSlots,
              "a slot's ids come before");
static_assert(IdRange::kFirst + std::uint64_t{IdRange::kRanges} * IdRange::kSize <= 0x7FFE0000,
              "systemd's ids for foreign files come after");

struct Span {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

std::uint64_t number_at(std::string_view line, int field) {
  for (; field > 0; --field) {
    line.remove_prefix(std::min(line.find(':'), line.size() - 1) + 1);
  }
  std::uint64_t number = 0;
  (void)std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

// What the administrator has given to users: lines "name:first:count" (subuid(5)).
std::vector<Span> delegated_ids() {
  std::vector<Span> spans;
  for (const char* const path : {"/etc/subuid", "/etc/subgid"}) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (std::ranges::count(line, ':') == 2) {
        spans.push_back({number_at(line, 1), number_at(line, 2)});
      }
    }
  }
  return spans;
}

bool is_delegated(std::uint64_t first) {
  static const std::vector<Span> kSpans = delegated_ids();
  return std::ranges::any_of(kSpans, [first](const Span& span) {
    return first < span.first + span.count && span.first < first + IdRange::kSize;
  });
}

Result<UniqueFd> open_locks() {
  const UniqueFd parent = GB_TRY(open_shared_runtime_directory());
  if (::mkdirat(parent.get(), kLocks, 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create the directory of id ranges");
  }
  UniqueFd locks(::openat(parent.get(), kLocks, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return locks ? Result<UniqueFd>(std::move(locks))
               : Error::from_errno("open the directory of id ranges");
}

// Locks the file of a range. False if somebody holds it, or if its last holder has unlinked it
// meanwhile: then it locks nothing.
bool lock(const UniqueFd& file) {
  struct stat status {};
  return file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(file.get(), &status) == 0 &&
         status.st_nlink > 0;
}

}  // namespace

void IdRange::sweep() {
  const auto locks = open_locks();
  const int fd = locks ? ::fcntl(locks->get(), F_DUPFD_CLOEXEC, 3) : -1;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream is read by one thread.
  for (const dirent* entry = nullptr; entries && (entry = ::readdir(entries.get())) != nullptr;) {
    const UniqueFd file(::openat(locks->get(), entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (lock(file)) {
      (void)::unlinkat(locks->get(), entry->d_name, 0);
    }
  }
}

Result<IdRange> IdRange::take() {
  UniqueFd locks = GB_TRY(open_locks());
  std::uint32_t start = 0;
  if (::getrandom(&start, sizeof start, 0) != sizeof start) {
    return Error::from_errno("getrandom");
  }
  for (std::uint32_t i = 0; i < kRanges; ++i) {
    const std::uint32_t number = (start + i) % kRanges;
    const uid_t first = kFirst + number * kSize;
    if (is_delegated(first)) {
      continue;
    }
    UniqueFd file(::openat(locks.get(), std::to_string(first).c_str(),
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) {
      return Error::from_errno("acquire a range of ids");
    }
    if (lock(file)) {
      return IdRange(first, std::move(locks), std::move(file));
    }
  }
  return Error(ErrorCode::kExhausted, "no free range of ids for a sandbox with root",
               "end other sandboxes with root, or free ids in /etc/subuid and /etc/subgid");
}

IdRange& IdRange::operator=(IdRange&& other) noexcept {
  give_back();
  first_ = std::exchange(other.first_, 0);
  directory_ = std::move(other.directory_);
  file_ = std::move(other.file_);
  return *this;
}

IdRange::~IdRange() { give_back(); }

void IdRange::give_back() noexcept {
  if (file_) {
    // Unlinked while locked, so that nobody can take the range in between.
    (void)::unlinkat(directory_.get(), std::to_string(first_).c_str(), 0);
    file_.reset();
  }
}

}  // namespace glovebox
