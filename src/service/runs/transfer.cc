// SPDX-License-Identifier: Apache-2.0
#include "service/runs/transfer.h"

#include <archive.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "base/archive/archive_reader.h"
#include "base/archive/tar.h"
#include "base/frame.h"
#include "base/sys/memory_file.h"
#include "base/sys/write_all.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "service/runs/filtered_archive.h"
#include "spec/guest.h"

namespace glovebox {
namespace {

// Up to this size a file travels in one frame, which saves a process in the sandbox.
constexpr off_t kSmall = 256 * 1024;
constexpr std::size_t kMaxDepth = 256;

std::string base_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path.substr(path.rfind('/') + 1);
}

// The target of a directory whose contents go into the workspace itself.
constexpr std::string_view kWhole = ".";

// What a source is called in the workspace when nobody says.
std::string name_of(const std::string& source) {
  const std::string name = base_name(source);
  if (name != "..") {
    return name;  // The contents of ".", as they are here.
  }
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(source.c_str(), nullptr), std::free);
  return real ? base_name(real.get()) : name;
}

Error cannot_read(const std::string& path) {
  return Error::from_errno("read '" + printable(path) + "'")
      .with_hint("check the path and its permissions");
}

// A file in the way is the caller's mistake; whatever else keeps us from writing is the host's.
Error cannot_write(const char* attempt, const std::string& directory) {
  const ErrorCode code = errno == ENOTDIR ? ErrorCode::kInvalid : ErrorCode::kUnavailable;
  const std::string call = std::string(attempt) + " '" + printable(directory) + "'";
  return {code, Error::from_errno(call).message(),
          "pass --out a writable directory, or a new name in one"};
}

// With a hint, if the sandbox sent none.
Error cannot_copy_in(Error error) {
  if (!error.hint().empty()) {
    return error;
  }
  const bool full = error.os_error() == ENOSPC;
  return std::move(error).with_hint(full ? "raise --disk, or --inodes if there are many files"
                                         : "check the SRC[:DST] of --file");
}

Result<std::string> read_small(int fd, off_t size, const std::string& path) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + at, bytes.size() - at);
    if (got < 0) {
      return cannot_read(path);
    }
    if (got == 0) {
      break;
    }
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

// Writes one named file or directory to the archive, under `name`.
class Packer {
 public:
  Packer(TarWriter& writer, SpecialFiles special, const LeaveOut& leave_out)
      : writer_(writer), special_(special), leave_out_(leave_out) {}

  Result<void> add(int parent,
                   const std::string& entry,
                   const std::string& name,
                   std::size_t depth) {
    struct stat status {};
    // At the top a link that the caller named is followed; below, links stay links.
    if (::fstatat(parent, entry.c_str(), &status, depth == 0 ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
      return cannot_read(name);
    }
    if (leave_out_ && depth > 0 && leave_out_(name, S_ISDIR(status.st_mode))) {
      return {};
    }
    if (S_ISLNK(status.st_mode)) {
      std::array<char, 4096> target{};
      const ssize_t size = ::readlinkat(parent, entry.c_str(), target.data(), target.size());
      if (size < 0) {
        return cannot_read(name);
      }
      return writer_.add_symlink(name, std::string(target.data(), static_cast<std::size_t>(size)));
    }
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
      if (special_ == SpecialFiles::kLeftOut) {
        return {};
      }
      return Error(ErrorCode::kInvalid,
                   "'" + printable(name) + "' is neither a file nor a directory",
                   "leave it out, or copy its content into a regular file first");
    }
    const int flags = depth == 0 ? 0 : O_NOFOLLOW;
    UniqueFd fd(::openat(parent, entry.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags));
    if (!fd) {
      return cannot_read(name);
    }
    if (S_ISREG(status.st_mode)) {
      return writer_.add_file(name, fd.get());
    }
    return add_directory(std::move(fd), status.st_mode, name, depth);
  }

 private:
  Result<void> add_directory(UniqueFd fd, mode_t mode, const std::string& name, std::size_t depth) {
    if (depth >= kMaxDepth) {
      return Error(ErrorCode::kInvalid, "'" + printable(name) + "' is nested too deeply",
                   "copy in a deeper directory, or an archive of this one");
    }
    std::string below;
    if (name != kWhole) {
      GB_TRY(writer_.add_directory(name, mode));
      below = name + "/";
    }
    const int number = fd.release();
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(number), ::closedir);
    if (!directory) {
      return cannot_read(name);
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream is read by one thread.
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string child = entry->d_name;
      if (child != "." && child != "..") {
        GB_TRY(add(number, child, below + child, depth + 1));
      }
    }
    return {};
  }

  TarWriter& writer_;
  const SpecialFiles special_;
  const LeaveOut& leave_out_;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::from_errno("pipe");
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool has_no_reader(int write_end) {
  pollfd end{write_end, 0, 0};
  return ::poll(&end, 1, 0) > 0 && (end.revents & POLLERR) != 0;
}

// Keeps SIGPIPE from this thread: a reader that gives up early is an error to report, not the end.
void block_sigpipe() {
  sigset_t set;
  (void)::sigemptyset(&set);
  (void)::sigaddset(&set, SIGPIPE);
  (void)::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

// True when the file was small enough to go in one frame.
Result<bool> copy_small(Sandbox& sandbox, const FileToCopy& file) {
  const UniqueFd fd(::open(file.source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return cannot_read(file.source);
  }
  if (!S_ISREG(status.st_mode) || status.st_size > kSmall) {
    return false;
  }
  const std::string bytes = GB_TRY(read_small(fd.get(), status.st_size, file.source));
  if (auto put = sandbox.write_file(file.target, bytes, status.st_mode & 0777); !put) {
    return cannot_copy_in(std::move(put).error());
  }
  return true;
}

}  // namespace

Result<FileToCopy> parse_file_to_copy(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  FileToCopy file{.source = std::string(text.substr(0, colon)), .target = {}};
  if (colon != std::string_view::npos) {
    file.target = text.substr(colon + 1);
  }
  if (file.source.empty()) {
    return Error(ErrorCode::kInvalid, "'" + std::string(text) + "' does not name a file",
                 "use SRC or SRC:DST");
  }
  const std::string home = std::string(kWorkspace) + "/";
  if (file.target == kWorkspace) {
    file.target = kWhole;
  } else if (file.target.starts_with(home)) {
    file.target.erase(0, home.size());
  }
  while (file.target.starts_with("./")) {
    file.target.erase(0, 2);
  }
  if (file.target.empty() || file.target.ends_with('/')) {
    file.target += name_of(file.source);
  }
  if (file.target.starts_with('/') || ("/" + file.target + "/").find("/../") != std::string::npos) {
    return Error(ErrorCode::kInvalid, "'" + printable(file.target) + "' is outside the workspace",
                 "use a path relative to /workspace, for example SRC:data/input.csv");
  }
  return file;
}

// What does not fit into one frame goes as other large files do.
Result<void> write_program(Sandbox& sandbox,
                           const std::string& code,
                           const std::string& name,
                           std::uint32_t mode) {
  if (code.size() < kMaxFramePayload / 2) {
    return sandbox.write_file(name, code, mode);
  }
  const UniqueFd held = GB_TRY(sys::memory_file(code));
  if (::fchmod(held.get(), mode) != 0) {
    return Error::from_errno("chmod a copy of the program");
  }
  return copy_in(sandbox,
                 {{.source = "/proc/self/fd/" + std::to_string(held.get()), .target = name}});
}

Result<void> write_archive(int fd, const std::vector<FileToCopy>& files, SpecialFiles special) {
  return write_filtered_archive(fd, files, special, {});
}

Result<void> write_filtered_archive(int fd,
                                    const std::vector<FileToCopy>& files,
                                    SpecialFiles special,
                                    const LeaveOut& leave_out) {
  TarWriter writer = GB_TRY(TarWriter::create(fd));
  Packer packer(writer, special, leave_out);
  for (const FileToCopy& file : files) {
    GB_TRY(packer.add(AT_FDCWD, file.source, file.target, 0));
  }
  return writer.finish();
}

Result<void> copy_in(Sandbox& sandbox, const std::vector<FileToCopy>& files) {
  std::vector<FileToCopy> large;
  for (FileToCopy file : files) {
    if (file.target.empty()) {
      file.target = name_of(file.source);
    }
    struct stat status {};
    if (file.target == kWhole && ::stat(file.source.c_str(), &status) == 0 &&
        !S_ISDIR(status.st_mode)) {
      file.target = base_name(file.source);
    }
    if (!GB_TRY(copy_small(sandbox, file))) {
      large.push_back(std::move(file));
    }
  }
  if (large.empty()) {
    return {};
  }
  Pipe pipe = GB_TRY(make_pipe());
  Result<void> written;
  bool abandoned = false;
  std::thread writer([&] {
    block_sigpipe();
    written = write_archive(pipe.write.get(), large);
    abandoned = !written && has_no_reader(pipe.write.get());
    pipe.write.reset();
  });
  Result<void> unpacked = sandbox.unpack("", pipe.read.get());
  pipe.read.reset();
  writer.join();
  // The writer's complaint is the cause when both have one, for a half archive unpacks badly;
  // unless it only complains that the reader gave up.
  if (!written && !abandoned) {
    return cannot_copy_in(std::move(written).error());
  }
  if (!unpacked) {
    return cannot_copy_in(std::move(unpacked).error());
  }
  return {};
}

Result<UniqueFd> open_out_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    return cannot_write("make", directory);
  }
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return cannot_write("open", directory);
  }
  if (::faccessat(fd.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return cannot_write("write to", directory);
  }
  return fd;
}

Result<std::vector<std::string>> copy_out(Sandbox& sandbox,
                                          const std::string& directory,
                                          Bytes max) {
  const UniqueFd target = GB_TRY(open_out_directory(directory));
  Pipe pipe = GB_TRY(make_pipe());
  std::vector<std::string> names;
  Result<void> extracted;
  std::thread reader([&] {
    const TarRules rules{.symlinks = false, .max_bytes = max.count, .mode_mask = 0755};
    extracted = extract_tar(pipe.read.get(), target.get(), rules,
                            [&names](std::string_view name) { names.emplace_back(name); });
    // Read to the end all the same, so that the other side does not hang.
    std::array<char, 16 * 1024> rest;
    while (::read(pipe.read.get(), rest.data(), rest.size()) > 0) {
    }
  });
  Result<void> packed = sandbox.pack_changes(max, [&](std::string_view bytes) -> Result<void> {
    return sys::write_all(pipe.write.get(), bytes) ? Result<void>()
                                                   : Error::from_errno("forward the archive");
  });
  pipe.write.reset();
  reader.join();
  if (!extracted) {
    return std::move(extracted)
        .error()
        .within("copy out")
        .with_hint("pass --out an empty, writable directory");
  }
  if (!packed) {
    return std::move(packed).error();
  }
  return names;
}

Result<std::string> read_made(Sandbox& sandbox, const std::string& name, Bytes max) {
  const Error missing(ErrorCode::kInvalid, "'" + name + "' was not made");
  const Error too_large(ErrorCode::kInvalid,
                        "'" + name + "', and what was made beside it, is over " + to_string(max));
  // Headers are not content.
  const std::size_t most = max.count + max.count / 8;
  std::string archive;
  GB_TRY(sandbox.pack_changes(max, [&](std::string_view bytes) -> Result<void> {
    if (bytes.size() > most - archive.size()) {
      return too_large;
    }
    archive.append(bytes);
    return {};
  }));
  std::string_view rest = archive;
  ArchiveReader reader = GB_TRY(
      ArchiveReader::open([&rest]() -> Result<std::string_view> { return std::exchange(rest, {}); },
                          {::archive_read_support_format_tar}, "read what was made"));
  ArchiveEntry entry;
  while (GB_TRY(reader.next(entry))) {
    const auto path = clean_entry_name(entry.name);
    if (!path || *path != name || entry.kind != ArchiveEntry::Kind::kFile) {
      continue;
    }
    std::string content;
    std::uint64_t left = max.count;
    const bool whole = GB_TRY(reader.read_content(
        max.count, left, [&content](std::uint64_t offset, std::string_view bytes) -> Result<void> {
          content.resize(offset);  // A hole is zeros.
          content.append(bytes);
          return {};
        }));
    return whole ? Result<std::string>(std::move(content)) : too_large;
  }
  return missing;
}

}  // namespace glovebox
