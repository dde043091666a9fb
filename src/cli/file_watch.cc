// SPDX-License-Identifier: Apache-2.0
#include "cli/file_watch.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>

#include "base/text.h"

namespace glovebox::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostDirectories = 4'096;
constexpr std::uint32_t kWatched =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ONLYDIR;
// One save causes several events, and several files may be saved one after the other.
constexpr int kQuietMs = 10;

bool is_of_an_editor(std::string_view name) { return name.starts_with('.') || name.ends_with('~'); }

// A file's creation says nothing yet: its content follows, and then IN_CLOSE_WRITE.
bool is_change(const inotify_event& event) {
  const bool directory = (event.mask & IN_ISDIR) != 0;
  return directory || (event.mask & IN_CREATE) == 0;
}

}  // namespace

Result<UniqueFd> either(int one, int other) {
  UniqueFd both(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {one, other}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (!both || ::epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return Error::from_errno("wait for two things");
    }
  }
  return both;
}

Result<FileWatch> FileWatch::make(const std::vector<std::string>& paths,
                                  const std::string& except) {
  std::error_code ignored;
  FileWatch watch(UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
                  except.empty() ? "" : fs::weakly_canonical(except, ignored).string());
  if (!watch.inotify_) {
    return Error::from_errno("watch files").with_hint("raise fs.inotify.max_user_instances");
  }
  for (const std::string& path : paths) {
    if (fs::is_directory(path, ignored)) {
      GB_TRY(watch.add_all(fs::weakly_canonical(path, ignored), path));
      continue;
    }
    const fs::path file(path);
    const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
    Directory* const directory = GB_TRY(watch.add(fs::weakly_canonical(parent, ignored)));
    directory->files[file.filename()] = path;
  }
  return watch;
}

Result<FileWatch::Directory*> FileWatch::add(const std::string& directory) {
  if (directories_.size() >= kMostDirectories) {
    return Error(ErrorCode::kExhausted,
                 "cannot watch more than " + std::to_string(kMostDirectories) + " directories",
                 "pass fewer files with --file");
  }
  const int watch = ::inotify_add_watch(inotify_.get(), directory.c_str(), kWatched);
  if (watch < 0) {
    const int error = errno;
    const Error why = Error::from_errno("watch '" + printable(directory) + "'", error);
    return error == ENOSPC
               ? Error(ErrorCode::kExhausted, why.message(), "raise fs.inotify.max_user_watches")
               : Error(ErrorCode::kInvalid, why.message(), "check the path");
  }
  Directory& added = directories_[watch];
  added.path = directory;
  return &added;
}

Result<void> FileWatch::add_all(const std::string& directory, const std::string& passed) {
  if (directory == except_) {
    return {};
  }
  Directory* const added = GB_TRY(add(directory));
  added->whole = passed;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const bool inner = entry.is_directory(ignored) && !entry.is_symlink(ignored);
    if (inner && !is_of_an_editor(entry.path().filename().string())) {
      GB_TRY(add_all(entry.path(), passed));
    }
  }
  return {};
}

void FileWatch::take(std::set<std::string>& changed) {
  alignas(inotify_event) std::array<char, 64 * (sizeof(inotify_event) + NAME_MAX + 1)> bytes;
  for (ssize_t got = 0; (got = ::read(inotify_.get(), bytes.data(), bytes.size())) > 0;) {
    for (const char* at = bytes.data(); at < bytes.data() + got;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event.len;
      const auto found = directories_.find(event.wd);
      if (found == directories_.end() || event.len == 0 || !is_change(event)) {
        continue;
      }
      const Directory& directory = found->second;
      const std::string name(event.name);
      if (const auto file = directory.files.find(name); file != directory.files.end()) {
        changed.insert(file->second);
      }
      if (directory.whole.empty() || is_of_an_editor(name) ||
          directory.path + "/" + name == except_) {
        continue;
      }
      const std::string passed = directory.whole;
      changed.insert(passed);
      if ((event.mask & IN_ISDIR) != 0 && (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
        // If it cannot be watched as well, the others still are.
        (void)add_all(directory.path + "/" + name, passed);
      }
    }
  }
}

std::set<std::string> FileWatch::await(int other) {
  std::set<std::string> changed;
  for (;;) {
    std::array<pollfd, 2> polled = {
        {{inotify_.get(), POLLIN, 0}, {changed.empty() ? other : -1, POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), changed.empty() ? -1 : kQuietMs);
    if (ready == 0) {
      return changed;
    }
    if (polled[1].revents != 0) {
      return {};
    }
    take(changed);
  }
}

}  // namespace glovebox::cli
