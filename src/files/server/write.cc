// SPDX-License-Identifier: Apache-2.0
#include "files/server/write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/sys/write_all.h"
#include "files/server/entry.h"
#include "files/server/tree.h"

namespace glovebox::files {
namespace {

// A file on its way to its name. It has no name while its content comes, if the file system can do
// that; it is then gone with us, whatever happens.
class Draft {
 public:
  static Result<Draft> make(int directory_fd, std::string_view prefix) {
    Draft draft(directory_fd, random_name(prefix));
    draft.file_ = UniqueFd(::openat(directory_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (!draft.file_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
      draft.file_ = UniqueFd(::openat(directory_fd, draft.name_.c_str(),
                                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      draft.named_ = bool(draft.file_);
    }
    if (!draft.file_) {
      return file_error("create a file");
    }
    return draft;
  }

  Draft(Draft&& other) noexcept
      : directory_(other.directory_),
        name_(std::move(other.name_)),
        file_(std::move(other.file_)),
        named_(std::exchange(other.named_, false)) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  Draft& operator=(Draft&&) = delete;
  ~Draft() {
    if (named_) {
      (void)::unlinkat(directory_, name_.c_str(), 0);
    }
  }

  [[nodiscard]] int fd() const { return file_.get(); }

  Result<void> take_name(const std::string& name) {
    if (!named_ && ::linkat(AT_FDCWD, path_of(file_.get()).c_str(), directory_, name_.c_str(),
                            AT_SYMLINK_FOLLOW) != 0) {
      return file_error(name);
    }
    named_ = true;
    if (::renameat(directory_, name_.c_str(), directory_, name.c_str()) != 0) {
      return file_error(name);
    }
    named_ = false;
    return {};
  }

 private:
  Draft(int directory_fd, std::string name) : directory_(directory_fd), name_(std::move(name)) {}

  int directory_;
  std::string name_;
  UniqueFd file_;
  bool named_ = false;
};

Error not_regular(const Place& place) {
  return {ErrorCode::kInvalid, place.name + " is not a regular file"};
}

Result<void> receive_into(int fd, Upload& upload) {
  for (;;) {
    const std::string_view piece = GB_TRY(upload.next());
    if (piece.empty()) {
      return {};
    }
    if (!sys::write_all(fd, piece)) {
      return file_error("write");
    }
  }
}

Result<void> set_attributes(int fd, const std::map<std::string, std::string>& wanted) {
  for (const auto& [name, value] : wanted) {
    const std::string full = std::string(kAttributePrefix) + name;
    if (::fsetxattr(fd, full.c_str(), value.data(), value.size(), 0) != 0) {
      return file_error("store metadata " + name);
    }
  }
  return {};
}

Result<void> flush(int fd, int directory_fd) {
  const UniqueFd directory(::openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (::fsync(fd) != 0 || !directory || ::fsync(directory.get()) != 0) {
    return file_error("flush");
  }
  return {};
}

Result<void> append(const Place& place, const WriteOptions& options, Upload& upload) {
  const UniqueFd file(
      ::openat(place.parent.get(), place.name.c_str(),
               O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
               options.mode & 0777U));
  struct stat status {};
  if (!file && errno == ENXIO) {  // A FIFO that nobody reads.
    return not_regular(place);
  }
  if (!file || ::fstat(file.get(), &status) != 0) {
    return file_error(place.name);
  }
  if (!S_ISREG(status.st_mode)) {
    return not_regular(place);
  }
  GB_TRY(receive_into(file.get(), upload));
  for (const auto& [name, value] : attributes_of(path_of(place.parent.get(), place.name))) {
    if (!options.metadata.contains(name)) {
      (void)::fremovexattr(file.get(), (std::string(kAttributePrefix) + name).c_str());
    }
  }
  GB_TRY(set_attributes(file.get(), options.metadata));
  return options.flush ? flush(file.get(), place.parent.get()) : Result<void>();
}

Result<void> replace(const Place& place, const WriteOptions& options, Upload& upload) {
  struct stat status {};
  const bool is_new =
      ::fstatat(place.parent.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0;
  if (!is_new && S_ISDIR(status.st_mode)) {
    return file_error(place.name, EISDIR);
  }
  if (!is_new && !S_ISREG(status.st_mode)) {
    return not_regular(place);
  }
  // A rename needs no right to write what it replaces.
  if (!is_new && ::faccessat(place.parent.get(), place.name.c_str(), W_OK, 0) != 0) {
    return file_error(place.name);
  }
  Draft draft = GB_TRY(Draft::make(place.parent.get(), is_new ? kNewPrefix : kReplacedPrefix));
  GB_TRY(receive_into(draft.fd(), upload));
  GB_TRY(set_attributes(draft.fd(), options.metadata));
  if (::fchmod(draft.fd(), is_new ? options.mode : status.st_mode & 07777U) != 0) {
    return file_error(place.name);
  }
  if (options.flush && ::fsync(draft.fd()) != 0) {
    return file_error("flush");
  }
  // A client that went without an answer may have sent something else to this name by now, and had
  // it confirmed: what comes late must not take its place.
  if (upload.is_abandoned()) {
    return gone();
  }
  GB_TRY(draft.take_name(place.name));
  return options.flush ? flush(draft.fd(), place.parent.get()) : Result<void>();
}

}  // namespace

Result<Place> write_file(const Order& order, Upload& upload) {
  Place place = GB_TRY(make_place(order.path));
  place = GB_TRY(follow_links(std::move(place)));
  if (!place.has_name()) {
    return file_error(order.path, EISDIR);
  }
  if (order.write.append) {
    GB_TRY(append(place, order.write, upload));
  } else {
    GB_TRY(replace(place, order.write, upload));
  }
  return place;
}

Result<UniqueFd> nameless_file(int directory_fd) {
  UniqueFd file(::openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {
    const std::string name = random_name(kNewPrefix);
    file =
        UniqueFd(::openat(directory_fd, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file) {
      (void)::unlinkat(directory_fd, name.c_str(), 0);
    }
  }
  if (!file) {
    return file_error("create a file");
  }
  return file;
}

}  // namespace glovebox::files
