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
#include <thread>
#include <utility>

#include "sandbox/runtime_directory.h"
#include "service/run_pool/pool_request.h"
#include "service/run_pool/surroundings.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostBorrowers = 1024;

// While claims come this quickly after each other, what was claimed is not replaced, so that the
// work does not compete with the guests; not below half of what is wanted.
constexpr auto kQuiet = 5ms;
// What a sandbox shows of /etc is as old as itself. A kind that nobody asked for so long is made no
// more.
constexpr auto kMostAge = 10min;
constexpr auto kPauseAfterFailure = 1s;
constexpr int kPauseWhenCrowdedMs = 100;
constexpr auto kLockPatience = 1s;

// One that was killed holds it until the last child that it was about to make is gone too, and a
// sweep for a moment.
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
  // What is there belonged to one that is dead: we hold the lock.
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

Result<std::unique_ptr<Sandbox>> make(const SandboxSpec& spec) {
  return Sandbox::create(spec, tier_that(&TierTraits::can_lend));
}

}  // namespace

Result<std::unique_ptr<SandboxPool>> SandboxPool::open(std::size_t size) {
  if (size < 1 || size > kMostSandboxes) {
    return Error(ErrorCode::kInvalid,
                 "a pool must have 1 to " + std::to_string(kMostSandboxes) + " sandboxes");
  }
  std::string own = GB_TRY(surroundings());
  const UniqueFd directory = GB_TRY(open_runtime_directory());
  UniqueFd lock = GB_TRY(lock_pool(directory.get()));
  const SandboxSpec plain;
  auto first = GB_TRY(make(plain));
  UniqueFd listening = GB_TRY(listen_in(directory.get()));
  std::unique_ptr<SandboxPool> pool(
      new SandboxPool(size, std::move(own), std::move(lock), std::move(listening)));
  const Clock::time_point now = Clock::now();
  auto kind = std::make_shared<Kind>(Kind{.spec = plain, .ready = {}, .asked = now, .kept = true});
  kind->ready.push_back({std::move(first), now});
  pool->kinds_.emplace(encode_kind(plain), std::move(kind));
  return pool;
}

SandboxPool::~SandboxPool() {
  close_door();
  // Unlinked while locked, so that none is taken away from another pool.
  if (const auto directory = open_runtime_directory(); directory) {
    (void)::unlinkat(directory->get(), kPoolLock, 0);
  }
}

Result<void> SandboxPool::serve(int stop_fd, const std::function<void()>& full) {
  const std::jthread worker([this, &full] { work(full); });
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
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  return {};
}

// Whoever wants a sandbox now finds nobody, and makes its own.
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

// False when it is done with.
bool SandboxPool::attend(Borrower& borrower) {
  std::array<char, kMaxPoolRequest> request;
  const ssize_t size = ::recv(borrower.socket.get(), request.data(), request.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    return true;
  }
  if (borrower.sandbox) {
    // Gone, or speaking out of turn.
    const std::scoped_lock lock(mutex_);
    used_.push_back(std::move(borrower.sandbox));
    changed_.notify_all();
    return false;
  }
  if (size <= 0) {
    return false;
  }
  const auto asked = decode_pool_request({request.data(), static_cast<std::size_t>(size)});
  if (!asked || asked->surroundings != surroundings_) {
    return false;
  }
  borrower.sandbox = take(asked->kind);
  if (!borrower.sandbox) {
    return false;
  }
  if (!borrower.sandbox->lend(borrower.socket.get())) {
    const std::scoped_lock lock(mutex_);
    used_.push_back(std::move(borrower.sandbox));
    return false;
  }
  return true;
}

std::unique_ptr<Sandbox> SandboxPool::take(const std::string& kind) {
  const std::scoped_lock lock(mutex_);
  last_claim_ = Clock::now();
  changed_.notify_all();
  if (!learn(kind, last_claim_)) {
    return nullptr;
  }
  std::deque<Waiting>& ready = kinds_.at(kind)->ready;
  while (!ready.empty()) {
    std::unique_ptr<Sandbox> sandbox = std::move(ready.front().sandbox);
    ready.pop_front();
    if (sandbox->alive()) {
      return sandbox;
    }
    used_.push_back(std::move(sandbox));
  }
  return nullptr;
}

Result<void> SandboxPool::learn(const std::string& kind, Clock::time_point now) {
  if (const auto known = kinds_.find(kind); known != kinds_.end()) {
    known->second->asked = now;
    return {};
  }
  SandboxSpec spec = GB_TRY(decode_kind(kind));
  if ((kinds_.size() + 1) * size_ > std::max(kMostSandboxes, 2 * size_)) {
    const auto older = [](const auto& one, const auto& other) {
      return std::pair(one.second->kept, one.second->asked) <
             std::pair(other.second->kept, other.second->asked);
    };
    forget(std::ranges::min_element(kinds_, older));
  }
  kinds_.emplace(kind,
                 std::make_shared<Kind>(Kind{.spec = std::move(spec), .ready = {}, .asked = now}));
  return {};
}

void SandboxPool::forget(std::map<std::string, std::shared_ptr<Kind>>::iterator kind) {
  for (Waiting& waiting : kind->second->ready) {
    used_.push_back(std::move(waiting.sandbox));
  }
  kinds_.erase(kind);
}

void SandboxPool::renew(Clock::time_point now) {
  for (auto kind = kinds_.begin(); kind != kinds_.end();) {
    const auto next = std::next(kind);
    std::deque<Waiting>& ready = kind->second->ready;
    if (!kind->second->kept && now - kind->second->asked > kMostAge) {
      forget(kind);
    } else if (!ready.empty() && now - ready.front().made > kMostAge) {
      used_.push_back(std::move(ready.front().sandbox));
      ready.pop_front();
    }
    kind = next;
  }
}

SandboxPool::Work SandboxPool::choose(Clock::time_point now) {
  renew(now);
  // What was asked for last comes first.
  std::shared_ptr<Kind> wanted;
  bool urgent = false;
  for (const auto& [name, kind] : kinds_) {
    const bool few = kind->ready.size() <= size_ / 2;
    if (kind->ready.size() < size_ &&
        (!wanted || std::pair(few, kind->asked) > std::pair(urgent, wanted->asked))) {
      wanted = kind;
      urgent = few;
    }
  }
  const bool may_make = wanted && now >= not_before_;
  const bool quiet = now - last_claim_ >= kQuiet;
  if (may_make && urgent) {
    return {Work::What::kMake, std::move(wanted)};
  }
  if (!used_.empty() && (quiet || used_.size() >= size_)) {
    return {Work::What::kEnd, nullptr};
  }
  if (may_make && quiet) {
    return {Work::What::kMake, std::move(wanted)};
  }
  return {Work::What::kWait, nullptr};
}

bool SandboxPool::is_full() const {
  return std::ranges::all_of(
      kinds_, [this](const auto& kind) { return kind.second->ready.size() >= size_; });
}

void SandboxPool::work(const std::function<void()>& full) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Work next = choose(Clock::now());
    switch (next.what) {
      case Work::What::kMake: {
        lock.unlock();
        auto made = make(next.kind->spec);
        lock.lock();
        if (!made) {
          // Whoever wants this kind makes it, and hears why not.
          const auto failed = std::ranges::find_if(
              kinds_, [&next](const auto& kind) { return kind.second == next.kind; });
          if (failed != kinds_.end() && !next.kind->kept) {
            forget(failed);
          }
          not_before_ = Clock::now() + kPauseAfterFailure;
          break;
        }
        next.kind->ready.push_back({std::move(made).value(), Clock::now()});
        if (is_full()) {
          full();
        }
        break;
      }
      case Work::What::kEnd: {
        std::unique_ptr<Sandbox> used = std::move(used_.front());
        used_.pop_front();
        lock.unlock();
        used.reset();
        lock.lock();
        break;
      }
      case Work::What::kWait:
        changed_.wait_until(lock, is_full() && used_.empty()
                                      ? Clock::now() + kMostAge
                                      : std::max(not_before_, last_claim_ + kQuiet));
        break;
    }
  }
}

}  // namespace glovebox
