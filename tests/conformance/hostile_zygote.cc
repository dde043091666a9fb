// SPDX-License-Identifier: Apache-2.0
// A zygote as an enemy would write it: a static program that a root brings as its python3, or that
// a preloaded module starts. It has what a zygote has, and hunts what is born in its realm.
//
//   python3 … zygote.py MODE    as a zygote: says that it is warm, then answers requests
//     hunt    hunts; a fork fails with EOWNERDEAD when it has found prey, EUCLEAN when it has
//             hunted in vain, ENODATA when it has not
//     peer    answers with a pidfd of whoever made its socket
//     flood   answers with ends of forks that never were
//   hunt-for-ever FD            hunts; counts in the file of that descriptor
//
// The prey is memory in which kPrey stands; there it writes over it.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/sys/descriptors.h"
#include "context/zygote_protocol.h"
#include "hostile_zygote.h"

namespace glovebox::conformance {
namespace {

constexpr int kChannel = 3;
constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD
// How long one process is hunted, in tries: its birth takes a millisecond.
constexpr int kTries = 20'000;

// Half of it only, so that it is not found in our own memory.
const std::string& prey() {
  static const std::string kWhole = std::string(kPreyHead) + kPreyTail;
  return kWhole;
}

// Writes over the prey wherever it stands in `memory`, by the maps of the process.
int kill_prey(int memory, FILE* maps) {
  static std::array<char, 1 << 20> chunk;
  std::array<char, 512> line{};
  int found = 0;
  while (std::fgets(line.data(), line.size(), maps) != nullptr) {
    unsigned long from = 0;
    unsigned long to = 0;
    char mode[5] = "";
    if (std::sscanf(line.data(), "%lx-%lx %4s", &from, &to, mode) != 3 || mode[1] != 'w') {
      continue;
    }
    for (unsigned long at = from; at < to; at += chunk.size() / 2) {
      const std::size_t wanted = to - at < chunk.size() ? to - at : chunk.size();
      const ssize_t got = ::pread(memory, chunk.data(), wanted, static_cast<off_t>(at));
      if (got <= 0) {
        break;
      }
      const std::string_view text(chunk.data(), static_cast<std::size_t>(got));
      for (std::size_t hit = text.find(prey()); hit != std::string_view::npos;
           hit = text.find(prey(), hit + 1)) {
        const std::string dead(prey().size(), '!');
        (void)!::pwrite(memory, dead.data(), dead.size(), static_cast<off_t>(at + hit));
        ++found;
      }
    }
  }
  return found;
}

// In a process of its own: whoever enters a user namespace cannot leave it.
void hunt_one(pid_t pid, Hunt& hunt) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  bool inside = false;
  for (int i = 0; i < kTries; ++i) {
    if (!inside) {
      inside = ::setns(pidfd, CLONE_NEWUSER) == 0;
    }
    if (inside) {
      (void)::kill(pid, SIGSTOP);
    }
    const int memory = ::open((folder + "/mem").c_str(), O_RDWR | O_CLOEXEC);
    if (memory >= 0) {
      FILE* const maps = std::fopen((folder + "/maps").c_str(), "re");
      if (maps != nullptr) {
        hunt.found += kill_prey(memory, maps);
        std::fclose(maps);
      }
      ++hunt.opened;
      (void)::kill(pid, SIGCONT);
      return;
    }
    if (inside) {
      (void)::kill(pid, SIGCONT);
    }
    if (::kill(pid, 0) != 0 && errno == ESRCH) {
      return;
    }
  }
}

[[noreturn]] void hunt_for_ever(Hunt& hunt) {
  (void)::signal(SIGCHLD, SIG_IGN);
  // Whoever cannot be seen is found by the next numbers. Our own hunters are no prey.
  constexpr pid_t kReach = 64;
  std::set<pid_t> known;
  pid_t newest = ::getpid();
  for (;;) {
    for (pid_t pid = std::max(newest - kReach / 2, ::getpid() + 1); pid < newest + kReach; ++pid) {
      const int pidfd =
          known.contains(pid) ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
      if (pidfd < 0) {
        continue;
      }
      (void)::close(pidfd);
      const pid_t hunter = ::fork();
      if (hunter == 0) {
        ++hunt.hunted;
        hunt_one(pid, hunt);
        ::_exit(0);
      }
      known.insert({pid, hunter});
      newest = std::max({newest, pid, hunter});
    }
    // A birth takes many times as long.
    (void)::usleep(200);
  }
}

void say(const zygote::Message& message, int fd = -1) {
  const std::array<int, 1> passed = {fd};
  (void)sys::send_with(kChannel, message.encode(),
                       std::span<const int>(passed).first(fd >= 0 ? 1 : 0), 0);
}

void answer(std::string_view mode, std::uint32_t id, const Hunt& hunt) {
  using Kind = zygote::Message::Kind;
  if (mode == "peer") {
    int pidfd = -1;
    socklen_t size = sizeof pidfd;
    (void)::getsockopt(kChannel, SOL_SOCKET, kPeerPidfd, &pidfd, &size);
    say({.kind = Kind::kForked, .id = id, .value = pidfd < 0 ? -ENODATA : 0}, pidfd);
  } else if (mode == "flood") {
    for (std::uint32_t i = 1;; ++i) {
      say({.kind = Kind::kExited, .id = i});
    }
  } else {
    say({.kind = Kind::kForked,
         .id = id,
         .value = hunt.found > 0    ? -EOWNERDEAD
                  : hunt.hunted > 0 ? -EUCLEAN
                                    : -ENODATA});
  }
}

int run(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[argc - 1] : "";
  const bool alone = argc == 3 && std::string_view(argv[1]) == "hunt-for-ever";
  void* const shared =
      ::mmap(nullptr, sizeof(Hunt), PROT_READ | PROT_WRITE,
             alone ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, alone ? std::atoi(argv[2]) : -1, 0);
  if (shared == MAP_FAILED) {
    return 1;
  }
  Hunt& hunt = *static_cast<Hunt*>(shared);
  if (alone) {
    hunt_for_ever(hunt);
  }
  if (mode == "hunt" && ::fork() == 0) {
    hunt_for_ever(hunt);
  }
  say({.kind = zygote::Message::Kind::kReady, .text = "3.14.15"});
  static std::array<char, zygote::kMaxMessage> request;
  for (;;) {
    const ssize_t got = ::recv(kChannel, request.data(), request.size(), 0);
    if (got <= 0) {
      return 0;
    }
    const auto asked = zygote::ForkRequest::decode({request.data(), static_cast<std::size_t>(got)});
    if (asked) {
      answer(mode, asked->id, hunt);
    }
  }
}

}  // namespace
}  // namespace glovebox::conformance

int main(int argc, char** argv) { return glovebox::conformance::run(argc, argv); }
