// SPDX-License-Identifier: Apache-2.0
// glovebox-launcher: the first process of a sandbox that a container engine starts. It connects to
// glovebox, puts up the walls that an engine cannot express, and becomes the warden.
//
// It runs as the guest's user, without capabilities, before anything of the guest's does. Only
// glovebox starts it, as the only process of a container.
#include <fcntl.h>
#include <linux/filter.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/descriptors.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/unique_fd.h"
#include "sandbox/child/confine.h"
#include "sandbox/child/report.h"
#include "sandbox/launcher/protocol.h"
#include "spec/warden_protocol.h"

namespace glovebox::launcher {
namespace {

// As the warden wants them (warden/main.cc).
constexpr int kControlFd = 3;
constexpr int kArchiverFd = 4;
constexpr int kWardenFd = 5;
constexpr int kFirstMachineFd = 6;
constexpr int kFirstFree = kFirstMachineFd + static_cast<int>(warden::kMachineFiles);
// Above all of these.
constexpr int kAside = 16;

int complain(std::string_view what) {
  const std::string line = "glovebox-launcher: " + std::string(what) + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  return 2;
}

UniqueFd open_aside(const std::string& path, int flags) {
  const UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC));
  return UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, kAside));
}

UniqueFd connect_out() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = std::string(kControl) + "/" + std::string(kSocketName);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  return UniqueFd(::fcntl(socket.get(), F_DUPFD_CLOEXEC, kAside));
}

bool receive_exactly(int socket, std::span<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got <= 0 && !(got < 0 && errno == EINTR)) {
      return false;
    }
    bytes = bytes.subspan(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  return true;
}

Hello look_around() {
  Hello hello;
  const long abi =
      sys::raw(SYS_landlock_create_ruleset, nullptr, 0, abi::kLandlockCreateRulesetVersion);
  hello.landlock_abi = abi > 0 ? static_cast<std::uint32_t>(abi) : 0;
  const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  hello.boot_id.assign(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return hello;
}

bool greet(int socket) {
  std::array<char, 1> byte{};
  std::vector<UniqueFd> passed;
  if (sys::receive_with(socket, byte, passed, 0) != 1) {
    return false;
  }
  Hello hello = look_around();
  hello.received_descriptor = !passed.empty();
  const std::string bytes = hello.encode();
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string message(reinterpret_cast<const char*>(&size), sizeof size);
  message += bytes;
  const UniqueFd mine(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::array<int, 1> sent = {mine.get()};
  const auto all = static_cast<ssize_t>(message.size());
  // Not every kernel passes a descriptor out (gVisor).
  return sys::send_with(socket, message, sent, 0) == all ||
         sys::send_with(socket, message, {}, 0) == all;
}

Result<Order> await_order(int socket) {
  std::uint32_t size = 0;
  if (!receive_exactly(socket, {reinterpret_cast<char*>(&size), sizeof size}) || size > kMaxOrder) {
    return Error(ErrorCode::kInvalid, "no order came");
  }
  std::string bytes(size, '\0');
  if (!receive_exactly(socket, bytes)) {
    return Error(ErrorCode::kInvalid, "no order came");
  }
  return Order::decode(bytes);
}

std::uint64_t now_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Puts up the walls in an order in which each leaves the next one possible.
class Entrance {
 public:
  Entrance(UniqueFd control, Order order)
      : order_(std::move(order)),
        control_(std::move(control)),
        warden_(open_aside(std::string(kPrograms) + "/warden", O_RDONLY)),
        archiver_(open_aside(std::string(kPrograms) + "/archiver", O_RDONLY)),
        null_(open_aside("/dev/null", O_RDWR)),
        report_(control_.get(), now_ns()) {}

  // Returns only when a step has failed, which it has reported.
  void run() {
    using child::SetupStep;
    if (step(SetupStep::kPrivileges, &Entrance::give_up_privileges) &&
        step(SetupStep::kLandlock, &Entrance::restrict_files) &&
        step(SetupStep::kSeccomp, &Entrance::filter_calls)) {
      report_.send(SetupStep::kNone, 0, 0);
      std::vector<char*> argv;
      for (std::string& argument : order_.warden_arguments) {
        argv.push_back(argument.data());
      }
      argv.push_back(nullptr);
      constexpr std::array<const char*, 1> kNoEnvironment = {nullptr};
      const long failed =
          sys::raw(SYS_execveat, kWardenFd, "", argv.data(), kNoEnvironment.data(), AT_EMPTY_PATH);
      report_.send(SetupStep::kExec, static_cast<int>(-failed), 0);
    }
  }

 private:
  bool step(child::SetupStep which, long (Entrance::*part)()) {
    detail_ = 0;
    const long result = (this->*part)();
    if (result < 0) {
      report_.send(which, static_cast<int>(-result), detail_);
      return false;
    }
    report_.done(which);
    return true;
  }

  long give_up_privileges() {
    (void)::umask(022);
    (void)::setsid();
    const rlimit none{};
    if (!warden_ || !archiver_ || !null_ || ::setrlimit(RLIMIT_CORE, &none) != 0 ||
        ::chdir(order_.workspace.c_str()) != 0) {
      return -errno;
    }
    if (const long r = child::drop_capabilities(); r < 0) {
      return r;
    }
    if (const long r = sys::raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); r < 0) {
      return r;
    }
    for (int fd = 0; fd < kFirstFree; ++fd) {
      const bool machine = fd >= kFirstMachineFd;
      const int from = fd == kControlFd    ? control_.get()
                       : fd == kArchiverFd ? archiver_.get()
                       : fd == kWardenFd   ? warden_.get()
                                           : null_.get();
      // The files that describe the machine are written outside: the warden writes to /dev/null.
      if (const long r = fd == kWardenFd ? sys::raw(SYS_dup3, from, fd, O_CLOEXEC)
                                         : sys::raw(SYS_dup2, from, fd);
          r < 0) {
        detail_ = machine ? 1 : 0;
        return r;
      }
    }
    report_.speak_through(kControlFd);
    // Closes whatever the engine has left open, and the originals of our descriptors above.
    constexpr unsigned kLast = 0x7fffffff;
    return sys::raw(SYS_close_range, kFirstFree, kLast, 0);
  }

  long restrict_files() {
    if (order_.landlock_abi == 0) {
      return 0;
    }
    std::vector<child::AccessRule> rules;
    for (const Order::Rule& rule : order_.rules) {
      rules.push_back({rule.path.c_str(), rule.access, rule.optional});
    }
    const child::Landlock landlock{.abi = static_cast<int>(order_.landlock_abi),
                                   .fs = order_.landlock_fs,
                                   .scoped = order_.landlock_scoped,
                                   .rules = rules};
    constexpr std::array<int, 2> kPrograms = {kWardenFd, kArchiverFd};
    return child::restrict_files(landlock, kPrograms, detail_);
  }

  long filter_calls() {
    std::vector<sock_filter> filter(order_.filter.size() / sizeof(sock_filter));
    if (filter.empty()) {
      return -EINVAL;
    }
    std::memcpy(filter.data(), order_.filter.data(), filter.size() * sizeof(sock_filter));
    return child::install_filter(filter);
  }

  Order order_;
  UniqueFd control_;
  UniqueFd warden_;
  UniqueFd archiver_;
  UniqueFd null_;
  child::Report report_;
  std::uint32_t detail_ = 0;
};

int launch() {
  if (::getpid() != 1) {
    return complain("only glovebox starts this, in a container");
  }
  UniqueFd control = connect_out();
  if (!control) {
    return complain("cannot connect to glovebox: " + std::string(std::strerror(errno)));
  }
  if (!greet(control.get())) {
    return complain("glovebox has closed the connection");
  }
  auto order = await_order(control.get());
  if (!order) {
    return complain(order.error().message());
  }
  Entrance(std::move(control), std::move(order).value()).run();
  return 1;
}

}  // namespace
}  // namespace glovebox::launcher

int main() { return glovebox::launcher::launch(); }
