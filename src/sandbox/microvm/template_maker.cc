// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/template_maker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/sys/write_all.h"
#include "base/unique_fd.h"
#include "sandbox/microvm/file_server.h"
#include "sandbox/microvm/machine_process.h"
#include "sandbox/microvm/template_files.h"

namespace glovebox::microvm {
namespace {

constexpr const char* kMemory = "/tmp/memory";
constexpr const char* kStateSocket = "/tmp/state";
// What the kernel still does by itself after its boot would be done again in every clone.
constexpr int kSettlingMs = 1000;

bool put_piece(const Piece& piece) {
  return sys::write_all(STDOUT_FILENO, {reinterpret_cast<const char*>(&piece), sizeof piece});
}

bool put(const std::string& part) {
  return put_piece({.at = 0, .size = part.size()}) && sys::write_all(STDOUT_FILENO, part);
}

// The state of the machine, which stops for it and stays as it is then.
std::optional<std::string> take_state(Monitor& monitor) {
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, kStateSocket);
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

bool put_memory() {
  const UniqueFd memory(::open(kMemory, O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!memory || ::fstat(memory.get(), &status) != 0) {
    return false;
  }
  std::array<char, 64UL * 1024> bytes;
  off_t at = ::lseek(memory.get(), 0, SEEK_DATA);
  while (at >= 0) {
    const ssize_t got = ::pread(memory.get(), bytes.data(), bytes.size(), at);
    if (got <= 0) {
      return false;
    }
    const auto size = static_cast<std::size_t>(got);
    const bool empty =
        std::all_of(bytes.begin(), bytes.begin() + got, [](char byte) { return byte == '\0'; });
    if (!empty && (!put_piece({.at = static_cast<std::uint64_t>(at), .size = size}) ||
                   !sys::write_all(STDOUT_FILENO, {bytes.data(), size}))) {
      return false;
    }
    at = ::lseek(memory.get(), at + got, SEEK_DATA);
  }
  return errno == ENXIO && put_piece({.at = static_cast<std::uint64_t>(status.st_size), .size = 0});
}

// Answers what the machine asks until its first program waits, and nobody has asked anything for a
// while. False where the machine ends before.
bool serve_until_quiet(FileServer& server, Monitor& monitor) {
  for (bool waits = false;;) {
    std::array<pollfd, 2> polled = {{{server.socket(), POLLIN, 0}, {monitor.socket(), POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), waits ? kSettlingMs : -1);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      return ready == 0;
    }
    if (polled[0].revents != 0 && !server.answer_one()) {
      return false;
    }
    if (polled[1].revents != 0) {
      const auto opened = monitor.next_is("VSERPORT_CHANGE", R"("open": true, "id": "port1")");
      if (!opened) {
        return false;
      }
      waits = waits || *opened;
    }
  }
}

}  // namespace

int make_template(std::vector<std::string> command, UniqueFd root) {
  const std::string size = command.front();
  command.erase(command.begin());
  Sockets files = make_sockets();
  const Sockets control = make_sockets();
  auto machine = MachineProcess::boot_in(std::move(command), files.theirs.get(),
                                         control.theirs.get(), kMemory, size);
  if (!machine) {
    return complain("start the machine");
  }
  files.theirs.reset();
  FileServer server(std::move(files.ours), std::move(root));
  if (!serve_until_quiet(server, machine.monitor())) {
    return complain("wait for the machine");
  }
  const auto state = take_state(machine.monitor());
  machine.end();
  if (!state || server.is_asked()) {
    return complain("take the machine's state");
  }
  if (!put(*state) || !put(server.files().names()) || !put_memory()) {
    return complain("pass the machine on");
  }
  return 0;
}

}  // namespace glovebox::microvm
