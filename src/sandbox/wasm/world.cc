// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm/world.h"

#include <poll.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

#include "sandbox/wasm/wasi_types.h"

namespace glovebox::wasm {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// 1 January 2000, and how much each question takes.
constexpr std::uint64_t kBeginning = 946'684'800 * kSecond;
constexpr std::uint64_t kStep = 1000;

clockid_t clock_of_host(std::uint32_t clock) {
  constexpr std::array<clockid_t, wasi::kLastClock + 1> kClocks = {
      CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
  return kClocks[std::min(clock, wasi::kLastClock)];
}

std::uint64_t nanoseconds_of(const timespec& time) {
  return (static_cast<std::uint64_t>(time.tv_sec) * kSecond) +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

std::uint64_t RealWorld::now(std::uint32_t clock) {
  timespec time{};
  (void)::clock_gettime(clock_of_host(clock), &time);
  return nanoseconds_of(time);
}

std::uint64_t RealWorld::resolution(std::uint32_t clock) {
  timespec time{};
  (void)::clock_getres(clock_of_host(clock), &time);
  return nanoseconds_of(time);
}

bool RealWorld::fill_randomly(std::span<unsigned char> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

void RealWorld::let_pass(std::uint64_t nanoseconds) {
  timespec time{static_cast<time_t>(nanoseconds / kSecond),
                static_cast<long>(nanoseconds % kSecond)};
  while (::nanosleep(&time, &time) != 0) {
  }
}

std::uint64_t DeterministicWorld::now(std::uint32_t clock) {
  passed_ += kStep;
  return clock == wasi::kRealtime ? kBeginning + passed_ : passed_;
}

std::uint64_t DeterministicWorld::resolution(std::uint32_t /*clock*/) { return kStep; }

bool DeterministicWorld::fill_randomly(std::span<unsigned char> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t number = random();
    const std::size_t size = std::min(bytes.size(), sizeof number);
    std::memcpy(bytes.data(), &number, size);
    bytes = bytes.subspan(size);
  }
  return true;
}

// SplitMix64: every bit of the state affects the result.
std::uint64_t DeterministicWorld::random() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

void DeterministicWorld::let_pass(std::uint64_t nanoseconds) {
  passed_ += std::min(nanoseconds, (std::numeric_limits<std::uint64_t>::max() / 4) - (passed_ / 2));
}

// Files are counted as they are first seen.
World::Identity DeterministicWorld::identity_of(const Identity& file) {
  return {.device = 1,
          .number =
              numbers_.try_emplace({file.device, file.number}, numbers_.size() + 1).first->second};
}

std::uint64_t DeterministicWorld::time_of_file(std::uint64_t /*time*/) { return kBeginning; }

}  // namespace glovebox::wasm
