// SPDX-License-Identifier: Apache-2.0
#include "service/run_pool/sandbox_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "sandbox/runtime_directory.h"
#include "service/run_pool/pool_request.h"
#include "service/run_pool/surroundings.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostBorrowers = 1024;

// What a sandbox shows of /etc is as old as the sandbox. A kind that nobody has asked for in this
// time is no longer made.
constexpr auto kMostAge = 10min;
constexpr int kPauseWhenCrowdedMs = 100;
constexpr auto kLockPatience = 1s;

// A killed pool holds it until the last child that it was making is gone, too, and a sweep holds it
// for a moment.
Result<UniqueFd> lock_pool(int directory) {
  const auto deadline = std::chrono::steady_clock::now() + kLockPatience;
  for (;;) {
    UniqueFd file(::openat(directory, kPoolLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) {
      return Error::from_errno("open the lock of the pool");
    }
    struct stat status {};
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(file.get(), &status) == 0 &&
        status.st_nlink > 0) {
      return file;
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return Error(ErrorCode::kConflict, "another pool of yours is already running",
                   "use that pool: one pool serves all commands");
    }
    (void)::poll(nullptr, 0, 10);
  }
}

Result<UniqueFd> listen_in(int directory) {
  // The socket that is there belonged to a dead pool: we hold the lock.
  (void)::unlinkat(directory, kPoolSocket, 0);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = pool_address(directory);
  // The directory is ours alone, so the socket's own mode says nothing.
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return Error::from_errno("listen for pool clients");
  }
  return socket;
}

ReadySandboxes::Bounds bounds_of(std::size_t size) {
  const std::size_t all = std::max(SandboxPool::kMostSandboxes, 2 * size);
  return {.first = size,
          .of_kind = size,
          .all = all,
          .kinds = all / size,
          .idle = kMostAge,
          .wait = kMostAge,
          .pause = 1s};
}

// Limits and mounts are a borrower's own choice (pool_request.h).
ReadyKind kind_like(const SandboxSpec& spec) {
  return {.tier = tier_that(&TierTraits::can_lend), .limits = spec.limits, .mounts = spec.mounts};
}

}  // namespace

SandboxPool::SandboxPool(std::size_t size,
                         std::string own_surroundings,
                         UniqueFd lock,
                         UniqueFd listening)
    : surroundings_(std::move(own_surroundings)),
      lock_(std::move(lock)),
      listening_(std::move(listening)),
      ready_(bounds_of(size)) {}

Result<std::unique_ptr<SandboxPool>> SandboxPool::open(std::size_t size,
                                                       std::function<void()> full) {
  if (size < 1 || size > kMostSandboxes) {
    return Error(ErrorCode::kInvalid,
                 "a pool must have 1 to " + std::to_string(kMostSandboxes) + " sandboxes");
  }
  std::string own = GB_TRY(surroundings());
  const UniqueFd directory = GB_TRY(open_runtime_directory());
  UniqueFd lock = GB_TRY(lock_pool(directory.get()));
  const ReadyKind plain = kind_like({});
  ReadySandbox first = GB_TRY(make_ready(plain));
  UniqueFd listening = GB_TRY(listen_in(directory.get()));
  std::unique_ptr<SandboxPool> pool(
      new SandboxPool(size, std::move(own), std::move(lock), std::move(listening)));
  pool->ready_.keep(plain, std::move(first), std::move(full));
  return pool;
}

SandboxPool::~SandboxPool() {
  close_door();
  // Unlinked while locked, so that no other pool loses its own.
  if (const auto directory = open_runtime_directory(); directory) {
    (void)::unlinkat(directory->get(), kPoolLock, 0);
  }
}

void SandboxPool::serve(int stop_fd) {
  for (int stops = 0; stops == 0 || (stops == 1 && !borrowers_.empty());) {
    std::vector<pollfd> polled = {{stop_fd, POLLIN, 0},
                                  {crowded_ ? -1 : listening_.get(), POLLIN, 0}};
    for (const Borrower& borrower : borrowers_) {
      polled.push_back({borrower.socket.get(), POLLIN, 0});
    }
    const int patience = std::exchange(crowded_, false) ? kPauseWhenCrowdedMs : -1;
    if (::poll(polled.data(), polled.size(), patience) < 0) {
      continue;
    }
    for (std::size_t index = borrowers_.size(); index-- > 0;) {
      if (polled[index + 2].revents != 0 && !attend(borrowers_[index])) {
        borrowers_.erase(borrowers_.begin() + static_cast<std::ptrdiff_t>(index));
      }
    }
    if (polled[1].revents != 0) {
      welcome();
    }
    if (polled[0].revents != 0) {
      std::array<char, sizeof(signalfd_siginfo)> once;
      (void)!::read(stop_fd, once.data(), once.size());
      ++stops;
      close_door();
    }
  }
}

// A process that wants a sandbox now finds nobody, and makes its own.
void SandboxPool::close_door() {
  if (const auto directory = open_runtime_directory(); listening_ && directory) {
    (void)::unlinkat(directory->get(), kPoolSocket, 0);
  }
  listening_.reset();
  std::erase_if(borrowers_, [](const Borrower& borrower) { return !borrower.sandbox; });
}

void SandboxPool::welcome() {
  for (;;) {
    UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      crowded_ = errno == EMFILE || errno == ENFILE;
      return;
    }
    if (borrowers_.size() < kMostBorrowers && is_our_own(socket.get())) {
      // Its request is there already, nearly always.
      Borrower borrower{.socket = std::move(socket), .sandbox = nullptr};
      if (attend(borrower)) {
        borrowers_.push_back(std::move(borrower));
      }
    }
  }
}

// False if the pool is done with it.
bool SandboxPool::attend(Borrower& borrower) {
  std::array<char, kMaxPoolRequest> request;
  const ssize_t size = ::recv(borrower.socket.get(), request.data(), request.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    return true;
  }
  if (borrower.sandbox) {
    // Gone, or speaking out of turn.
    ready_.discard(std::move(borrower.sandbox));
    return false;
  }
  if (size <= 0) {
    return false;
  }
  const auto asked = decode_pool_request({request.data(), static_cast<std::size_t>(size)});
  if (!asked || asked->surroundings != surroundings_) {
    return false;
  }
  const auto wanted = decode_kind(asked->kind);
  borrower.sandbox = wanted ? ready_.claim(kind_like(*wanted)) : nullptr;
  if (!borrower.sandbox) {
    return false;
  }
  if (!(*borrower.sandbox)->lend(borrower.socket.get())) {
    ready_.discard(std::move(borrower.sandbox));
    return false;
  }
  return true;
}

}  // namespace glovebox
