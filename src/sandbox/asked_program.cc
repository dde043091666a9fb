// SPDX-License-Identifier: Apache-2.0
#include "sandbox/asked_program.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/sys/raw.h"
#include "base/unique_fd.h"
#include "sandbox/guests_seen.h"

namespace glovebox {
namespace {

constexpr std::size_t kMostPath = 256;
constexpr std::size_t kMostWords = 32;
constexpr std::size_t kMostOfWords = 1024;
constexpr std::uint64_t kPage = 4096;

// Reads as much as there is, in the order of the addresses.
std::size_t read_memory(pid_t pid, std::uint64_t address, std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    // Not across pages: a call that fails in the second page would return nothing.
    const std::uint64_t from = address + done;
    const std::size_t size = std::min<std::uint64_t>(into.size() - done, kPage - from % kPage);
    const iovec ours{into.data() + done, size};
    const iovec theirs{reinterpret_cast<void*>(from), size};  // NOLINT(performance-no-int-to-ptr)
    const ssize_t got = ::process_vm_readv(pid, &ours, 1, &theirs, 1, 0);
    if (got <= 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

// Reads up to the text's zero byte, `most` bytes, or the end of what can be read.
std::string read_text(pid_t pid, std::uint64_t address, std::size_t most) {
  std::string text(most, '\0');
  text.resize(read_memory(pid, address, text));
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

std::vector<std::string> read_words(pid_t pid, std::uint64_t address) {
  std::array<std::uint64_t, kMostWords> pointers{};
  std::array<char, sizeof pointers> bytes{};
  const std::size_t size = address == 0 ? 0 : read_memory(pid, address, bytes);
  std::memcpy(pointers.data(), bytes.data(), size);
  std::vector<std::string> words;
  std::size_t left = kMostOfWords;
  for (std::size_t i = 0; i < size / sizeof(std::uint64_t) && pointers[i] != 0 && left > 0; ++i) {
    words.push_back(read_text(pid, pointers[i], left));
    left -= std::min(left, words.back().size() + 1);
  }
  return words;
}

// Whether nothing is there. A link is not followed: in /proc it would lead us somewhere else.
bool is_missing(pid_t pid, const std::string& path) {
  const UniqueFd root(
      ::open((procfs::directory_of(pid) + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) {
    return false;
  }
  const open_how how{.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                     .mode = 0,
                     .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
  const long found = sys::raw(SYS_openat2, root.get(), path.c_str(), &how, sizeof how);
  const UniqueFd file(static_cast<int>(std::max(found, -1L)));
  return found == -ENOENT || found == -ENOTDIR;
}

std::string descriptor_name(pid_t pid, std::uint64_t number) {
  std::array<char, kMostPath> name{};
  const std::string link =
      procfs::directory_of(pid) + "/fd/" + std::to_string(static_cast<std::int32_t>(number));
  const ssize_t size = ::readlink(link.c_str(), name.data(), name.size());
  return size > 0 ? std::string(name.data(), static_cast<std::size_t>(size)) : "(a descriptor)";
}

}  // namespace

GuestAct read_asked_program(pid_t pid, const seccomp_data& call) {
  const bool at = call.nr == SYS_execveat;
  const std::size_t first = at ? 1 : 0;  // The first argument that both calls have.
  const std::string path = read_text(pid, call.args[first], PATH_MAX);
  GuestAct act{.kind = GuestAct::Kind::kProgram,
               .name = path.substr(0, kMostPath),
               .words = read_words(pid, call.args[first + 1]),
               .by = name_of_process(pid)};
  if (path.starts_with('/')) {
    act.missing = is_missing(pid, path);
  } else if (path.empty()) {
    act.name = at ? descriptor_name(pid, call.args[0]) : "(unreadable)";
  }
  return act;
}

std::string name_of_process(pid_t pid) {
  const UniqueFd file(::open((procfs::directory_of(pid) + "/comm").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 64> name{};
  const ssize_t size = file ? ::read(file.get(), name.data(), name.size()) : 0;
  std::string text(name.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text.substr(0, text.find('\n'));
}

}  // namespace glovebox
