// SPDX-License-Identifier: Apache-2.0
#include "files/server/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "files/server/place.h"
#include "files/server/tree.h"
#include "files/server/write.h"

namespace glovebox::files {
namespace {

using Kind = FileEvent::Kind;

constexpr std::uint32_t kInterest = IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM |
                                    IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_ONLYDIR;
constexpr std::size_t kMaxDirectories = 65'536;

// Whether a write of ours gave its file this name (write.h).
bool is_draft(std::string_view name) {
  return name.starts_with(kNewPrefix) || name.starts_with(kReplacedPrefix);
}

// A file without a name is known to the kernel by its number, like "#123".
bool is_nameless(std::string_view name) {
  return name.starts_with('#') && name.size() > 1 &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// The tier without a user of its own refuses calls that tell of others' files (policy/tables.h).
Error watch_error(std::string_view path) {
  return errno == EPERM ? Error(ErrorCode::kUnsupported, "this tier cannot watch files")
                        : file_error("watch " + std::string(path));
}

class Watch {
 public:
  Watch(int inotify, std::string root, bool recursive, Channel& channel)
      : inotify_(inotify), root_path_(std::move(root)), recursive_(recursive), channel_(channel) {}

  // Watches the directory itself. It is not kept open: the removal of a directory that somebody
  // holds is never reported (IN_DELETE_SELF).
  Result<void> begin() {
    const UniqueFd root(::open(root_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root || ::fstat(root.get(), &root_status_) != 0) {
      return file_error(root_path_);
    }
    return add(root.get(), "", false, 1);
  }

  // Reads what the kernel has, and sends it.
  Result<void> take() {
    alignas(inotify_event) static std::array<char, 64UL * 1024> bytes;
    for (;;) {
      const ssize_t got = ::read(inotify_, bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got <= 0) {
        break;
      }
      for (ssize_t at = 0; at < got;) {
        inotify_event event{};
        std::memcpy(&event, bytes.data() + at, sizeof event);
        const char* const name = bytes.data() + at + sizeof event;
        at += static_cast<ssize_t>(sizeof event + event.len);
        GB_TRY(handle(event, event.len > 0 ? std::string(name) : std::string()));
      }
      // More may have come, but what has been read should be known soon.
      GB_TRY(flush());
    }
    found_.clear();
    return flush();
  }

 private:
  // Watches a held directory, and, if recursive, those below it. With `tell`, tells what is there.
  Result<void> add(int directory_fd, const std::string& path, bool tell, std::size_t depth) {
    const int number = ::inotify_add_watch(inotify_, path_of(directory_fd).c_str(), kInterest);
    if (number < 0) {
      return watch_error(path);
    }
    if (path.empty()) {
      root_ = number;
    }
    paths_[number] = path;
    if (paths_.size() > kMaxDirectories || depth > kMaxDepth) {
      return Error(ErrorCode::kExhausted, "too many directories to watch");
    }
    return recursive_ ? look(directory_fd, number, path, tell, depth) : Result<void>();
  }

  // Looks at what is in a directory that is watched from now on. It may have come before the watch,
  // or after it: then the kernel tells of it as well.
  Result<void> look(
      int directory_fd, int number, const std::string& path, bool tell, std::size_t depth) {
    const auto names = names_in(directory_fd);
    if (!names) {
      return {};
    }
    for (const std::string& name : names.value()) {
      struct stat status {};
      if (is_draft(name) ||
          ::fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        continue;
      }
      const std::string below = path.empty() ? name : path + "/" + name;
      if (tell) {
        GB_TRY(say(Kind::kCreate, below));
        found_.emplace(number, name);
        if (S_ISREG(status.st_mode) && status.st_size > 0) {
          GB_TRY(say(Kind::kWrite, below));
        }
      }
      if (S_ISDIR(status.st_mode)) {
        if (const auto directory = enter(directory_fd, name)) {
          GB_TRY(add(directory->get(), below, tell, depth + 1));
        }
      }
    }
    return {};
  }

  Result<void> handle(const inotify_event& event, const std::string& name) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      return Error(ErrorCode::kExhausted, "too many changes at once: some were lost");
    }
    const auto found = paths_.find(event.wd);
    if (found == paths_.end()) {
      return {};
    }
    if ((event.mask & (IN_DELETE_SELF | IN_IGNORED)) != 0) {
      if (event.wd == root_) {
        GB_TRY(flush());
        return Error(ErrorCode::kNotFound, "the watched directory was removed");
      }
      if ((event.mask & IN_IGNORED) != 0) {
        paths_.erase(found);
      }
      return {};
    }
    if (name.empty() || is_nameless(name)) {
      return {};
    }
    const std::string path = found->second.empty() ? name : found->second + "/" + name;
    if (is_draft(name)) {
      if ((event.mask & IN_MOVED_FROM) != 0) {
        draft_ = Draft{event.cookie, name.starts_with(kNewPrefix)};
      }
      return {};
    }
    return tell(event, name, path);
  }

  Result<void> tell(const inotify_event& event, const std::string& name, const std::string& path) {
    const bool directory = (event.mask & IN_ISDIR) != 0;
    if ((event.mask & IN_MOVED_TO) != 0 && draft_ && draft_->cookie == event.cookie) {
      if (draft_->is_new) {
        GB_TRY(say(Kind::kCreate, path));
      }
      return say(Kind::kWrite, path);
    }
    if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
      if (!found_.contains({event.wd, name})) {
        GB_TRY(say(Kind::kCreate, path));
      }
      return directory && recursive_ ? follow(event.wd, path) : Result<void>();
    }
    if ((event.mask & IN_MODIFY) != 0) {
      return say(Kind::kWrite, path);
    }
    if ((event.mask & IN_ATTRIB) != 0) {
      return say(Kind::kChmod, path);
    }
    if ((event.mask & IN_DELETE) != 0) {
      return say(Kind::kRemove, path);
    }
    if ((event.mask & IN_MOVED_FROM) != 0) {
      if (directory) {
        forget(path);
      }
      return say(Kind::kRename, path);
    }
    return {};
  }

  // A directory that came later.
  Result<void> follow(int parent, const std::string& path) {
    for (const auto& [number, known] : paths_) {
      if (known == path && number != parent) {
        return {};  // Found by a look at its parent already.
      }
    }
    const auto directory = open_below(path);
    return directory ? add(directory->get(), path, true, depth_of(path)) : Result<void>();
  }

  // Fails when the root is not where it was.
  [[nodiscard]] Result<UniqueFd> open_below(std::string_view path) const {
    UniqueFd at(::open(root_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!at || ::fstat(at.get(), &status) != 0 || status.st_dev != root_status_.st_dev ||
        status.st_ino != root_status_.st_ino) {
      return Error(ErrorCode::kNotFound, "the watched directory was moved");
    }
    while (!path.empty()) {
      const std::size_t slash = path.find('/');
      at = GB_TRY(enter(at.get(), std::string(path.substr(0, slash))));
      path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    }
    return at;
  }

  static std::size_t depth_of(std::string_view path) {
    return 1 + static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
  }

  // A directory that went elsewhere, with those below it.
  void forget(const std::string& path) {
    std::erase_if(paths_, [&](const auto& known) {
      const bool goes = known.second == path || known.second.starts_with(path + "/");
      if (goes) {
        (void)::inotify_rm_watch(inotify_, known.first);
      }
      return goes;
    });
  }

  Result<void> say(Kind kind, const std::string& path) {
    FileEvent event{kind, path};
    // A large file is written in many pieces.
    if (count_ > 0 && last_ == event) {
      return {};
    }
    if (path.size() > kMaxPath) {
      return Error(ErrorCode::kExhausted, "the path of a change is too long");
    }
    put_event(batch_, event);
    bytes_ += path.size();
    last_ = std::move(event);
    return ++count_ == kMaxBatch || bytes_ > kBatchBytes ? flush() : Result<void>();
  }

  Result<void> flush() {
    if (std::exchange(count_, 0) == 0) {
      return {};
    }
    bytes_ = 0;
    return channel_.send(Reply::kEvents, std::exchange(batch_, {}).take());
  }

  struct Draft {
    std::uint32_t cookie;
    bool is_new;
  };

  int inotify_;
  std::string root_path_;
  struct stat root_status_ {};
  bool recursive_;
  Channel& channel_;
  int root_ = -1;                     // The number of its watch.
  std::map<int, std::string> paths_;  // Of a watch: relative to the root.
  std::set<std::pair<int, std::string>> found_;
  std::optional<Draft> draft_;
  WireWriter batch_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  FileEvent last_;
};

}  // namespace

Result<void> watch(std::string_view path, bool recursive, Channel& channel) {
  const UniqueFd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify) {
    return watch_error(path);
  }
  Watch watching(inotify.get(), inner_path(path), recursive, channel);
  GB_TRY(watching.begin());
  GB_TRY(channel.send(Reply::kStarted, {}));
  for (;;) {
    std::array<pollfd, 2> polled = {{{inotify.get(), POLLIN, 0}, {channel.fd(), POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return file_error("wait for changes");
    }
    if (polled[1].revents != 0) {
      Frame frame;
      if (GB_TRY(channel.poll(frame))) {
        return static_cast<Request>(frame.type) == Request::kEnd ? Result<void>() : gone();
      }
    }
    if (polled[0].revents != 0) {
      GB_TRY(watching.take());
    }
  }
}

}  // namespace glovebox::files
