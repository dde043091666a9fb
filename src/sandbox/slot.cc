// SPDX-License-Identifier: Apache-2.0
#include "sandbox/slot.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <utility>

#include "base/random.h"
#include "base/sys/tree.h"
#include "sandbox/cgroup.h"
#include "sandbox/id_range.h"
#include "sandbox/runtime_directory.h"
#include "sandbox/tiers/tier.h"

namespace glovebox {
namespace {

constexpr int kTries = 64;

std::string file_name(std::uint32_t number) {
  std::array<char, 16> text{};
  const auto end = std::to_chars(text.begin(), text.end(), number, 16).ptr;
  return {text.data(), end};
}

struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

Result<Range> numbers_of(int directory, const GuestIds& ids) {
  if (!shares_slot_numbers() || ids.slots < GuestIds::kSlots) {
    return Range{.count = ids.slots};
  }
  struct stat status {};
  if (::fstat(directory, &status) != 0) {
    return Error::from_errno("stat the runtime directory");
  }
  const auto window =
      static_cast<std::uint32_t>(status.st_ino % (GuestIds::kSlots / Slot::kWindow));
  return Range{.first = window * Slot::kWindow, .count = Slot::kWindow};
}

bool is_linked(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_nlink > 0;
}

void sweep_line(std::string_view line, Swept& swept) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    return;
  }
  const std::string_view kind = line.substr(0, space);
  const std::string path(line.substr(space + 1));
  if (path.find("glovebox-") == std::string::npos) {
    return;  // Not a name that we give.
  }
  if (kind == "cgroup") {
    const auto removed = Cgroup::remove_leftover(path);
    if (!removed) {
      swept.failures.push_back(removed.error().message());
    } else if (removed->existed) {
      ++swept.cgroups;
      swept.processes += removed->processes;
    }
  } else if (kind == "tree") {
    if (const auto removed = sys::remove_tree(path); !removed) {
      swept.failures.push_back(removed.error().message());
    } else {
      ++swept.trees;
    }
  } else {
    const auto tier = std::ranges::find(all_tiers(), kind, &Tier::name);
    const auto removed = tier == all_tiers().end() ? Result<void>() : (*tier)->sweep(path);
    if (!removed) {
      swept.failures.push_back(removed.error().message());
    }
  }
}

void sweep_slot(int directory, const char* name, Swept& swept) {
  const UniqueFd file(::openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !is_linked(file.get())) {
    return;  // Alive, or gone meanwhile.
  }
  std::array<char, 4096> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  std::string_view rest(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t failures = swept.failures.size();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    sweep_line(rest.substr(0, end), swept);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  // What could not be removed stays on the list for the next sweep.
  if (swept.failures.size() == failures) {
    (void)::unlinkat(directory, name, 0);
    ++swept.slots;
  }
}

// Removes what a killed pool leaves.
void sweep_pool(int directory) {
  const UniqueFd lock(::openat(directory, kPoolLock, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 && is_linked(lock.get())) {
    (void)::unlinkat(directory, kPoolSocket, 0);
    (void)::unlinkat(directory, kPoolLock, 0);
  }
}

}  // namespace

Result<Slot> Slot::take() {
  UniqueFd directory = GB_TRY(open_runtime_directory());
  // An ordinary user's slots have numbers as well, but give no ids.
  const GuestIds ids =
      guest_ids().value_or(GuestIds{.first = GuestIds::kFirst, .slots = GuestIds::kSlots});
  const Range range = GB_TRY(numbers_of(directory.get(), ids));
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::uint32_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) {
      return Error::from_errno("getrandom");
    }
    number = range.first + number % range.count;
    UniqueFd file(::openat(directory.get(), file_name(number).c_str(),
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) {
      if (errno == EEXIST) {
        continue;
      }
      return Error::from_errno("acquire a slot");
    }
    // A sweep may see the file before it is locked, take it for a leftover and unlink it.
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && is_linked(file.get())) {
      return Slot(ids, number, random_hex(4), std::move(directory), std::move(file));
    }
  }
  return Error(ErrorCode::kExhausted, "no free slot for a sandbox");
}

Slot::Slot(Slot&& other) noexcept
    : ids_(other.ids_),
      number_(other.number_),
      tag_(std::move(other.tag_)),
      directory_(std::move(other.directory_)),
      file_(std::move(other.file_)),
      noted_(std::move(other.noted_)) {}

Slot& Slot::operator=(Slot&& other) noexcept {
  give_back();
  ids_ = other.ids_;
  number_ = other.number_;
  tag_ = std::move(other.tag_);
  directory_ = std::move(other.directory_);
  file_ = std::move(other.file_);
  noted_ = std::move(other.noted_);
  return *this;
}

Slot::~Slot() { give_back(); }

void Slot::give_back() noexcept {
  const auto exists = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  if (file_ && std::ranges::none_of(noted_, exists)) {
    // Unlinked while locked, so that nobody can take the number in between.
    (void)::unlinkat(directory_.get(), file_name(number_).c_str(), 0);
  }
  file_.reset();
}

std::string Slot::name() const { return "glovebox-" + file_name(number_) + "-" + tag_; }

Result<void> Slot::note(std::string_view kind, std::string_view what) {
  const std::string line = std::string(kind) + " " + std::string(what) + "\n";
  if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return Error::from_errno("write to the slot");
  }
  return {};
}

Result<void> Slot::note_cgroup(std::string_view path) {
  noted_.emplace_back(path);
  return note("cgroup", path);
}

Result<void> Slot::note_tree(std::string_view path) {
  noted_.emplace_back(path);
  return note("tree", path);
}

Result<void> Slot::note_for(std::string_view tier, std::string_view what) {
  return note(tier, what);
}

Swept sweep_leftovers() {
  Swept swept;
  auto directory = open_runtime_directory();
  if (!directory) {
    return swept;
  }
  const int fd = ::fcntl(directory->get(), F_DUPFD_CLOEXEC, 3);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd), ::closedir);
  if (!entries) {
    return swept;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream is read by one thread.
  while (const dirent* entry = ::readdir(entries.get())) {
    if (entry->d_name[0] != '.') {
      sweep_slot(directory->get(), entry->d_name, swept);
    } else if (std::string_view(entry->d_name) == kPoolLock) {
      sweep_pool(directory->get());
    }
  }
  if (const auto ids = guest_ids(); swept.slots > 0 && ids && ids->has_ranges) {
    IdRange::sweep();
  }
  return swept;
}

}  // namespace glovebox
