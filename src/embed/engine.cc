// SPDX-License-Identifier: Apache-2.0
#include "embed/engine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "embed/handshake.h"
#include "embed/quiet_start.h"

namespace glovebox::embed {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kStartPatience = 60s;
constexpr auto kEndPatience = 30s;
constexpr std::size_t kMostKept = 16;
constexpr std::string_view kProgram = "glovebox-daemon";
constexpr std::string_view kInstalled = "/usr/libexec/glovebox";

// What the engine reads from the environment. The rest may be secrets of the program it serves.
constexpr std::array<std::string_view, 17> kPassedOn{
    "PATH",          "HOME",          "TMPDIR",      "LANG",
    "LC_ALL",        "SSL_CERT_FILE", "DOCKER_HOST", "HTTP_PROXY",
    "http_proxy",    "HTTPS_PROXY",   "https_proxy", "ALL_PROXY",
    "all_proxy",     "NO_PROXY",      "no_proxy",    "XDG_RUNTIME_DIR",
    "XDG_CACHE_HOME"};
constexpr std::string_view kOurs = "GLOVEBOX_";
constexpr std::string_view kKey = "GLOVEBOX_API_KEY";

std::vector<std::string> environment_to_pass() {
  std::vector<std::string> passed;
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry(*each);
    const std::string_view name = entry.substr(0, entry.find('='));
    if ((name.starts_with(kOurs) && name != kKey) || std::ranges::count(kPassedOn, name) > 0) {
      passed.emplace_back(entry);
    }
  }
  return passed;
}

// The directory of the file that this code was loaded from.
std::string own_directory() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(&own_directory), &found) == 0 ||
      found.dli_fname == nullptr) {
    return {};
  }
  std::array<char, PATH_MAX> resolved{};
  if (::realpath(found.dli_fname, resolved.data()) == nullptr) {
    return {};
  }
  const std::string_view path(resolved.data());
  return std::string(path.substr(0, path.rfind('/')));
}

Result<std::string> find_program(const std::string& named) {
  std::vector<std::string> places;
  if (!named.empty()) {
    places.push_back(named);
  } else {
    if (const std::string own = own_directory(); !own.empty()) {
      places.push_back(own + "/../libexec/glovebox");
    }
    places.emplace_back(kInstalled);
  }
  for (const std::string& place : places) {
    std::string path = place + "/" + std::string(kProgram);
    if (::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return Error(ErrorCode::kNotFound,
               "there is no program " + std::string(kProgram) + " in " + places.front(),
               "install Glovebox, or name the directory of glovebox-daemon in "
               "glovebox_options.programs");
}

// Whether there is something to read, or the other side is gone, before `deadline`.
bool wait_readable(int socket, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd polled{socket, POLLIN, 0};
    const int found = ::poll(&polled, 1, static_cast<int>(std::max(left, 0ms).count()));
    if (found > 0) {
      return true;
    }
    if (found == 0 || errno != EINTR) {
      return false;
    }
  }
}

Result<std::array<UniqueFd, 2>> socket_pair(int type) {
  std::array<int, 2> made{-1, -1};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, made.data()) != 0) {
    return Error::from_errno("create a pair of sockets");
  }
  return std::array<UniqueFd, 2>{UniqueFd(made[0]), UniqueFd(made[1])};
}

// An idle connection has nothing to read, unless its other side has closed it.
bool is_usable(int connection) {
  pollfd polled{connection, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 0;
}

}  // namespace

Engine::Engine(UniqueFd socket, UniqueFd process)
    : socket_(std::move(socket)), process_(std::move(process)), owner_(::getpid()) {}

Result<std::unique_ptr<Engine>> Engine::start(const EngineOptions& options) {
  QuietProgram engine;
  engine.program = GB_TRY(find_program(options.programs));
  engine.words = {"glovebox", "serve", "--for-host-program"};
  engine.words.insert(engine.words.end(), options.words.begin(), options.words.end());
  engine.environment = environment_to_pass();
  std::array<UniqueFd, 2> pair = GB_TRY(socket_pair(SOCK_SEQPACKET));
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0U)));
  if (!null || !self) {
    return Error::from_errno(null ? "pidfd_open" : "open /dev/null");
  }
  engine.descriptors = {null.get(), null.get(), options.log < 0 ? null.get() : options.log,
                        pair[1].get(), self.get()};
  GB_TRY(start_quietly(engine));
  pair[1].reset();
  if (!wait_readable(pair[0].get(), Clock::now() + kStartPatience)) {
    return Error(ErrorCode::kUnavailable, "the engine did not start in time",
                 "pass a descriptor as glovebox_options.log to see what it says");
  }
  auto first = receive_packet(pair[0].get());
  if (!first) {
    return Error(ErrorCode::kUnavailable, "the engine ended while it started",
                 "pass a descriptor as glovebox_options.log to see what it says");
  }
  GB_TRY(read_outcome(first->text));
  return std::unique_ptr<Engine>(new Engine(std::move(pair[0]), std::move(first->descriptor)));
}

Engine::~Engine() {
  if (::getpid() != owner_) {
    return;
  }
  kept_.clear();
  // The engine notices that, ends its sandboxes, and closes its own end last.
  (void)::shutdown(socket_.get(), SHUT_WR);
  if (!wait_readable(socket_.get(), Clock::now() + kEndPatience) && process_) {
    (void)::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0U);
  }
}

Result<UniqueFd> Engine::connect() {
  std::array<UniqueFd, 2> pair = GB_TRY(socket_pair(SOCK_STREAM));
  if (!send_packet(socket_.get(), "c", pair[1].get())) {
    return Error(ErrorCode::kUnavailable, "the engine has ended", "open another one");
  }
  return std::move(pair[0]);
}

Result<UniqueFd> Engine::borrow() {
  for (;;) {
    UniqueFd kept;
    {
      const std::scoped_lock lock(mutex_);
      // A child after fork(2) shares what its parent keeps.
      if (kept_.empty() || ::getpid() != owner_) {
        break;
      }
      kept = std::move(kept_.back());
      kept_.pop_back();
    }
    if (is_usable(kept.get())) {
      return kept;
    }
  }
  return connect();
}

void Engine::give_back(UniqueFd connection) {
  const std::scoped_lock lock(mutex_);
  if (kept_.size() < kMostKept && ::getpid() == owner_) {
    kept_.push_back(std::move(connection));
  }
}

}  // namespace glovebox::embed
