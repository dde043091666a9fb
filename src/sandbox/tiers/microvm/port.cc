// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/microvm/port.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string>

namespace glovebox::microvm {
namespace {

using Clock = std::chrono::steady_clock;

// A machine whose processors are busy answers late.
constexpr std::chrono::seconds kPatience{3};
// It has to start first.
constexpr std::chrono::seconds kLoadPatience{60};

Result<void> send_all(int socket, std::string_view bytes) {
  const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == std::ssize(bytes) ? Result<void>() : Error::from_errno("instruct the machine");
}

}  // namespace

Result<void> Port::order(const Order& order) {
  const std::string bytes = order.encode();
  const auto size = static_cast<std::uint32_t>(bytes.size());
  const std::scoped_lock lock(mutex_);
  GB_TRY(send_all(socket_.get(), {reinterpret_cast<const char*>(&size), sizeof size}));
  return send_all(socket_.get(), bytes);
}

Result<void> Port::change_limits(const Limits& limits) {
  const std::array<std::uint64_t, 2> numbers = {limits.memory.count, limits.pids};
  std::string bytes(1, static_cast<char>(Question::kLimit));
  bytes.append(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
  const std::scoped_lock lock(mutex_);
  return send_all(socket_.get(), bytes);
}

bool Port::ask() const {
  const char question = static_cast<char>(Question::kCount);
  if (!socket_ || !send_all(socket_.get(), {&question, 1})) {
    return false;
  }
  Counts counts{};
  if (!receive(reinterpret_cast<char*>(counts.data()), sizeof counts, kPatience)) {
    return false;
  }
  counts_ = counts;
  return true;
}

bool Port::receive(char* bytes, std::size_t size, std::chrono::seconds patience) const {
  const auto deadline = Clock::now() + patience;
  for (std::size_t have = 0; have < size;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd polled{socket_.get(), POLLIN, 0};
    const int ready = left > 0 ? ::poll(&polled, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    const ssize_t got =
        ready > 0 ? ::recv(socket_.get(), bytes + have, size - have, MSG_DONTWAIT) : 0;
    if (got <= 0) {
      return false;
    }
    have += static_cast<std::size_t>(got);
  }
  return true;
}

Result<void> Port::renew(const Order& order) {
  std::string bytes(1, static_cast<char>(Question::kRenew));
  bytes.append(reinterpret_cast<const char*>(&order.time_ns), sizeof order.time_ns);
  bytes.append(order.seed);
  const std::scoped_lock lock(mutex_);
  GB_TRY(send_all(socket_.get(), bytes));
  char answer = 0;
  if (!receive(&answer, 1, kLoadPatience)) {
    return Error(ErrorCode::kUnavailable, "the machine that was saved does not go on");
  }
  return {};
}

std::uint64_t Port::count(Count which) const {
  const std::scoped_lock lock(mutex_);
  if (socket_ && !ask()) {
    socket_.reset();
  }
  return counts_[static_cast<std::size_t>(which)];
}

std::optional<std::chrono::microseconds> Port::cpu_time() const {
  return std::chrono::microseconds(count(Count::kCpuUs));
}
std::optional<Bytes> Port::memory_peak() const { return Bytes{count(Count::kMemoryPeak)}; }
std::optional<Bytes> Port::memory_now() const { return Bytes{count(Count::kMemoryNow)}; }
std::optional<std::uint64_t> Port::pids_peak() const { return count(Count::kPidsPeak); }
std::optional<std::uint64_t> Port::pids_now() const { return count(Count::kPidsNow); }
std::uint64_t Port::oom_kills() const { return count(Count::kOomKills); }
std::uint64_t Port::pids_refusals() const { return count(Count::kPidsRefusals); }

}  // namespace glovebox::microvm
