// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/microvm/machine_template.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/digest/digest.h"
#include "base/sys/draft_directory.h"
#include "base/sys/tree.h"
#include "base/sys/write_all.h"
#include "base/text.h"
#include "sandbox/microvm/card.h"
#include "sandbox/microvm/protocol.h"
#include "sandbox/microvm/template_files.h"
#include "sandbox/moving_in.h"
#include "sandbox/policy/policy.h"
#include "sandbox/runtime_directory.h"
#include "sandbox/sandbox.h"

namespace glovebox::microvm {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};
// Another one that makes it has kPatience too, and then so has the next.
constexpr std::chrono::seconds kTurn{90};
constexpr std::chrono::milliseconds kNextLook{20};
constexpr std::size_t kMostTemplates = 8;
// Its pieces of memory come in this size, or smaller.
constexpr std::size_t kLargestPiece = 64UL * 1024;
constexpr std::uint32_t kMakerPids = 64;
// What machines have open in a template.
constexpr const char* kWarden = "/glovebox-warden";
constexpr const char* kArchiver = "/glovebox-archiver";

Error unfit(const std::string& path) {
  return {ErrorCode::kUnavailable, printable(path) + " is not a template of ours alone",
          "remove " + printable(path)};
}

// What stands for the content of a file that only its owner, root as a rule, can change.
Result<void> add_identity(ContentHash& hash, const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return Error::from_errno("stat " + path);
  }
  hash.add(path);
  for (const auto number :
       {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
        static_cast<std::uint64_t>(status.st_size),
        static_cast<std::uint64_t>(status.st_ctim.tv_sec),
        static_cast<std::uint64_t>(status.st_ctim.tv_nsec)}) {
    hash.add(number);
  }
  return {};
}

// The frame with which the warden of a template moves in.
std::string first_frame(const std::string& home) {
  return moving_in_frame(home, policy::own_kernel_filter());
}

Result<std::string> name_of(const Installation& installation,
                            const MachineModel& model,
                            const std::string& home) {
  ContentHash hash;
  hash.add(first_frame(home));
  for (const std::string& argument : machine_command(installation, model)) {
    hash.add(argument);
  }
  GB_TRY(add_identity(hash, installation.qemu));
  for (const char* const each : {kRunner, kKernel, kInitramfs, kMemoryOpener, kWarden, kArchiver}) {
    GB_TRY(add_identity(hash, installation.programs + each));
  }
  if (::access((installation.programs + kBalloonDriver).c_str(), F_OK) == 0) {
    GB_TRY(add_identity(hash, installation.programs + kBalloonDriver));
  }
  if (model.egress_port != 0) {
    for (const char* const driver : kCardDrivers) {
      GB_TRY(add_identity(hash, installation.programs + driver));
    }
  }
  // Processors count their time from a boot of theirs.
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  hash.add(boot);
  return hash.hex().substr(0, 32);
}

// kNotFound if there is none.
Result<void> check(const std::string& directory, const MachineModel& model) {
  const UniqueFd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) {
    return errno == ENOENT ? Error(ErrorCode::kNotFound, "no template")
                           : Error::from_errno("open " + printable(directory));
  }
  struct stat status {};
  const auto is_ours = [&status](mode_t type) {
    return (status.st_mode & S_IFMT) == type && status.st_uid == ::geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  };
  if (::fstat(opened.get(), &status) != 0 || !is_ours(S_IFDIR)) {
    return unfit(directory);
  }
  for (const char* const name : {kMemoryName, kStateName, kNamesName}) {
    if (::fstatat(opened.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !is_ours(S_IFREG) ||
        status.st_nlink != 1 ||
        (name == kMemoryName && static_cast<std::uint64_t>(status.st_size) != model.memory.count)) {
      return unfit(directory);
    }
  }
  return {};
}

// Reads what the maker writes.
class Source {
 public:
  explicit Source(int fd) : fd_(fd) {}

  Result<void> read(char* to, std::size_t size) {
    while (size > 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      pollfd polled{fd_, POLLIN, 0};
      const int ready = left > 0 ? ::poll(&polled, 1, static_cast<int>(left)) : 0;
      if (ready < 0 && errno == EINTR) {
        continue;
      }
      if (ready == 0) {
        return Error(ErrorCode::kUnavailable, "saving the machine took too long");
      }
      const ssize_t got = ready > 0 ? ::recv(fd_, to, size, 0) : -1;
      if (got <= 0) {
        return Error(ErrorCode::kUnavailable, "the machine ended while it was saved");
      }
      to += got;
      size -= static_cast<std::size_t>(got);
    }
    return {};
  }

  Result<Piece> piece() {
    Piece piece;
    GB_TRY(read(reinterpret_cast<char*>(&piece), sizeof piece));
    return piece;
  }

 private:
  int fd_;
  Clock::time_point deadline_ = Clock::now() + kPatience;
};

Result<UniqueFd> create(const std::string& directory, const char* name) {
  UniqueFd file(
      ::open((directory + "/" + name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // The machine's sandbox reads it as another user.
  if (!file || ::fchmod(file.get(), 0644) != 0) {
    return Error::from_errno("create a template");
  }
  return file;
}

Result<void> receive_part(Source& source,
                          const std::string& directory,
                          const char* name,
                          std::size_t most) {
  const Piece piece = GB_TRY(source.piece());
  if (piece.at != 0 || piece.size == 0 || piece.size > most) {
    return Error(ErrorCode::kInvalid, std::string("the machine's ") + name + " makes no sense");
  }
  std::string bytes(piece.size, '\0');
  GB_TRY(source.read(bytes.data(), bytes.size()));
  const UniqueFd file = GB_TRY(create(directory, name));
  if (!sys::write_all(file.get(), bytes) || ::fsync(file.get()) != 0) {
    return Error::from_errno("write a template");
  }
  return {};
}

Result<void> receive_memory(Source& source, const std::string& directory, std::uint64_t whole) {
  const UniqueFd file = GB_TRY(create(directory, kMemoryName));
  std::array<char, kLargestPiece> bytes;
  std::uint64_t at = 0;
  for (;;) {
    const Piece piece = GB_TRY(source.piece());
    if (piece.size == 0 && piece.at == whole) {
      break;
    }
    if (piece.size == 0 || piece.size > bytes.size() || piece.at < at || piece.at > whole ||
        piece.size > whole - piece.at) {
      return Error(ErrorCode::kInvalid, "the memory of a machine makes no sense");
    }
    GB_TRY(source.read(bytes.data(), piece.size));
    if (::lseek(file.get(), static_cast<off_t>(piece.at), SEEK_SET) < 0 ||
        !sys::write_all(file.get(), {bytes.data(), piece.size})) {
      return Error::from_errno("write a template");
    }
    at = piece.at + piece.size;
  }
  if (::ftruncate(file.get(), static_cast<off_t>(whole)) != 0 || ::fsync(file.get()) != 0) {
    return Error::from_errno("write a template");
  }
  return {};
}

// A connected pair: ours, and one that glovebox-microvm gets.
Result<std::pair<UniqueFd, UniqueFd>> make_stream() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  return std::pair(UniqueFd(pair[0]), UniqueFd(pair[1]));
}

// One end for reading what is there, and one for a program to complain to.
Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error::from_errno("pipe");
  }
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

// The error, with what the maker has said of it.
Error with_complaints(Error error, int complaints) {
  std::array<char, 4096> bytes;
  const ssize_t got = ::read(complaints, bytes.data(), bytes.size());
  return got > 0 ? Error(error.code(), error.message() + ": " +
                                           printable({bytes.data(), static_cast<std::size_t>(got)}))
                 : error;
}

Result<void> make_in(const std::string& directory,
                     const Installation& installation,
                     const MachineModel& model,
                     const std::string& home) {
  SandboxSpec spec;
  spec.home = home;
  spec.limits.disk = Bytes{model.memory.count + (16UL << 20)};
  spec.limits.memory = Bytes{spec.limits.disk.count + kEmulatorMemory.count};
  spec.limits.cpus = model.processors;
  spec.limits.pids = kMakerPids;
  spec.mounts = {programs_mount(installation)};
  const auto sandbox = GB_TRY(Sandbox::create(spec, {.exactly = "native", .at_least = {}}));
  auto [ours, theirs] = GB_TRY(make_stream());
  // The machine waits on its own port, so the port must stay.
  const auto port = GB_TRY(make_stream());
  auto [complaints, write_end] = GB_TRY(make_pipe());
  if (!sys::write_all(ours.get(), first_frame(home))) {
    return Error::from_errno("instruct the warden");
  }
  Command command{
      .argv = {std::string(kPrograms) + kRunner, kMake, std::to_string(model.memory.count)},
      .env = {{"G_SLICE", "always-malloc"}},
      .cwd = "/"};
  for (std::string& argument : machine_command(installation, model)) {
    command.argv.push_back(std::move(argument));
  }
  const auto maker = GB_TRY(sandbox->start_detached(
      command, {.limits = spec.limits}, {theirs.get(), write_end.get(), port.second.get()}));
  theirs.reset();
  const auto made = receive_machine(ours.get(), directory, model.memory);
  return made ? Result<void>() : with_complaints(made.error(), complaints.get());
}

// Removes those that were used the longest time ago, until there is room for one more.
void make_room(const std::string& directory) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code none;
    if (!at->path().filename().string().starts_with('.')) {
      found.emplace_back(fs::last_write_time(at->path(), none), at->path());
    }
  }
  std::ranges::sort(found);
  for (std::size_t i = 0; i + kMostTemplates <= found.size(); ++i) {
    (void)sys::remove_tree(take_name(directory, found[i].second));
  }
}

// A lock on all that makes templates here.
Result<UniqueFd> take_turn(const std::string& directory) {
  UniqueFd lock(
      ::open((directory + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  for (const auto deadline = Clock::now() + kTurn; lock;) {
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      return lock;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      break;
    }
    if (Clock::now() > deadline) {
      return Error(ErrorCode::kUnavailable, "another process makes a template");
    }
    std::this_thread::sleep_for(kNextLook);
  }
  return Error::from_errno("lock " + printable(directory));
}

}  // namespace

Result<void> receive_machine(int from, const std::string& directory, Bytes memory) {
  Source source(from);
  GB_TRY(receive_part(source, directory, kStateName, kMostState));
  GB_TRY(receive_part(source, directory, kNamesName, kMostNames));
  return receive_memory(source, directory, memory.count);
}

Result<std::string> find_or_make_template(const Installation& installation,
                                          const MachineModel& model,
                                          const std::string& home) {
  const UniqueFd runtime = GB_TRY(open_runtime_directory());
  if (::mkdirat(runtime.get(), ".machines", 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create " + runtime_directory() + "/.machines");
  }
  const std::string all = runtime_directory() + "/.machines";
  const std::string path = all + "/" + GB_TRY(name_of(installation, model, home));
  auto found = check(path, model);
  if (!found && found.error().code() == ErrorCode::kNotFound) {
    const UniqueFd turn = GB_TRY(take_turn(all));
    found = check(path, model);  // Somebody may have made it meanwhile.
    if (!found && found.error().code() == ErrorCode::kNotFound) {
      sweep_drafts(all);
      make_room(all);
      const DraftDirectory draft = GB_TRY(make_draft_directory(all));
      found = make_in(draft.path, installation, model, home);
      if (found && ::rename(draft.path.c_str(), path.c_str()) != 0) {
        found = Error::from_errno("name a template");
      }
      if (!found) {
        (void)sys::remove_tree(draft.path);
      }
    }
  }
  GB_TRY(std::move(found));
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // For make_room().
  return path;
}

}  // namespace glovebox::microvm
