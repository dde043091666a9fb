// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/machine_parts.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "sandbox/microvm/template_files.h"

namespace glovebox::microvm {
namespace {

constexpr const char* kStateSocket = "/tmp/state";
constexpr std::size_t kPage = 4096;
using Bytes = std::array<char, 64UL * 1024>;
constexpr std::size_t kPages = sizeof(Bytes) / kPage;

bool put_piece(int to, const Piece& piece) {
  return sys::write_all(to, {reinterpret_cast<const char*>(&piece), sizeof piece});
}

bool put_bytes(int to, std::uint64_t at, std::string_view bytes) {
  const bool empty = std::ranges::all_of(bytes, [](char byte) { return byte == '\0'; });
  return empty || (put_piece(to, {.at = at, .size = bytes.size()}) && sys::write_all(to, bytes));
}

bool read_at(int from, char* bytes, std::size_t size, std::uint64_t at) {
  return ::pread(from, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

// A part of the machine's memory in QEMU's.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // In the machine's.
};

std::string content_of(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  Bytes bytes;
  for (ssize_t got = 0; (got = ::read(file.get(), bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// As the kernel lists them (proc(5)), by address, which is also the order of the memory:
// BEGIN-END MODE OFFSET DEVICE INODE PATH. If the file was removed since, as the daemon does with
// what it has loaded, the kernel says so after the path.
std::vector<Mapping> mappings_of(const std::string& process) {
  std::vector<Mapping> found;
  const std::string maps = content_of(process + "/maps");
  for (std::size_t at = 0; at < maps.size();) {
    const std::size_t end = std::min(maps.find('\n', at), maps.size());
    const std::string line = maps.substr(at, end - at);
    at = end + 1;
    if (!line.substr(std::min(line.find('/'), line.size())).starts_with(kTemplateMemory)) {
      continue;
    }
    char* next = nullptr;
    const std::uint64_t first = std::strtoull(line.c_str(), &next, 16);
    const std::uint64_t last = *next == '-' ? std::strtoull(next + 1, &next, 16) : 0;
    const std::size_t mode = line.find(' ');
    const std::size_t offset = line.find(' ', mode + 1);
    if (last <= first || offset == std::string::npos) {
      return {};
    }
    found.push_back({.begin = first,
                     .size = last - first,
                     .offset = std::strtoull(line.c_str() + offset, nullptr, 16)});
  }
  return found;
}

// Whether /proc/PID/pagemap says that a page is swapped, or in memory and not the file's.
bool is_own(std::uint64_t page) {
  const bool present = (page >> 63 & 1) != 0;
  const bool swapped = (page >> 62 & 1) != 0;
  const bool of_file = (page >> 61 & 1) != 0;
  return swapped || (present && !of_file);
}

}  // namespace

std::optional<std::string> take_state(Monitor& monitor) {
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, kStateSocket);
  (void)::unlink(kStateSocket);  // Left from the last time.
  if (!listener ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), 1) != 0 ||
      !monitor.execute("migrate-set-capabilities", kKeepMemory) ||
      !monitor.execute("migrate", R"({"uri": "unix:)" + std::string(kStateSocket) + R"("})")) {
    return std::nullopt;
  }
  const UniqueFd stream(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::string state;
  std::array<char, 64UL * 1024> bytes;
  for (;;) {
    const ssize_t got = ::read(stream.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 || state.size() > kMostState) {
      return std::nullopt;
    }
    if (got == 0) {
      break;
    }
    state.append(bytes.data(), static_cast<std::size_t>(got));
  }
  if (!monitor.await("MIGRATION", R"("completed")")) {
    return std::nullopt;
  }
  return state;
}

bool put_part(int to, const std::string& part) {
  return put_piece(to, {.at = 0, .size = part.size()}) && sys::write_all(to, part);
}

bool put_memory(int to, const std::string& file) {
  const UniqueFd memory(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!memory || ::fstat(memory.get(), &status) != 0) {
    return false;
  }
  Bytes bytes;
  off_t at = ::lseek(memory.get(), 0, SEEK_DATA);
  while (at >= 0) {
    const ssize_t got = ::pread(memory.get(), bytes.data(), bytes.size(), at);
    if (got <= 0 || !put_bytes(to, static_cast<std::uint64_t>(at),
                               {bytes.data(), static_cast<std::size_t>(got)})) {
      return false;
    }
    at = ::lseek(memory.get(), at + got, SEEK_DATA);
  }
  return errno == ENXIO &&
         put_piece(to, {.at = static_cast<std::uint64_t>(status.st_size), .size = 0});
}

bool put_cloned_memory(int to, pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const UniqueFd memory(::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd pagemap(::open((process + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd base(::open(kTemplateMemory, O_RDONLY | O_CLOEXEC));
  if (!memory || !pagemap || !base) {
    return false;
  }
  Bytes bytes;
  std::uint64_t whole = 0;
  for (const auto& [begin, size, offset] : mappings_of(process)) {
    if (offset != whole || size % sizeof bytes != 0) {
      return false;
    }
    for (std::uint64_t at = 0; at < size; at += sizeof bytes) {
      std::array<std::uint64_t, kPages> pages{};
      if (!read_at(pagemap.get(), reinterpret_cast<char*>(pages.data()), sizeof pages,
                   (begin + at) / kPage * sizeof pages[0])) {
        return false;
      }
      const bool own = std::ranges::any_of(pages, is_own);
      const auto end = static_cast<off_t>(offset + at + sizeof bytes);
      const off_t data = ::lseek(base.get(), static_cast<off_t>(offset + at), SEEK_DATA);
      if (!own && (data < 0 || data >= end)) {
        continue;  // Zeros, as they have always been.
      }
      if (!read_at(own ? memory.get() : base.get(), bytes.data(), bytes.size(),
                   own ? begin + at : offset + at) ||
          !put_bytes(to, offset + at, {bytes.data(), bytes.size()})) {
        return false;
      }
    }
    whole += size;
  }
  return whole > 0 && put_piece(to, {.at = whole, .size = 0});
}

}  // namespace glovebox::microvm
