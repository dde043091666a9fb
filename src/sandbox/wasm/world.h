// SPDX-License-Identifier: Apache-2.0
// What a module can learn about the world besides its input: the time, random numbers, and which
// file is which.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace glovebox::wasm {

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  // In nanoseconds, of a clock of WASI preview 1.
  virtual std::uint64_t now(std::uint32_t clock) = 0;
  virtual std::uint64_t resolution(std::uint32_t clock) = 0;
  virtual bool fill_randomly(std::span<unsigned char> bytes) = 0;

  // Whether waiting for a descriptor takes the host's time. If not, it counts as ready at once.
  [[nodiscard]] virtual bool waits() const = 0;
  virtual void let_pass(std::uint64_t nanoseconds) = 0;

  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
  };
  // How a file is identified, and the number that its entry in a directory shows.
  virtual Identity identity_of(const Identity& file) = 0;
  virtual std::uint64_t listed_number(std::uint64_t number) = 0;
  // The time shown for a file that was changed at `time`.
  virtual std::uint64_t time_of_file(std::uint64_t time) = 0;
};

// The host's.
class RealWorld final : public World {
 public:
  std::uint64_t now(std::uint32_t clock) override;
  std::uint64_t resolution(std::uint32_t clock) override;
  bool fill_randomly(std::span<unsigned char> bytes) override;
  [[nodiscard]] bool waits() const override { return true; }
  void let_pass(std::uint64_t nanoseconds) override;
  Identity identity_of(const Identity& file) override { return file; }
  std::uint64_t listed_number(std::uint64_t number) override { return number; }
  std::uint64_t time_of_file(std::uint64_t time) override { return time; }
};

// The same in every run: a clock that the module's own questions and waits move on, random numbers
// from a constant seed, and files that tell nothing of the host.
class DeterministicWorld final : public World {
 public:
  std::uint64_t now(std::uint32_t clock) override;
  std::uint64_t resolution(std::uint32_t clock) override;
  bool fill_randomly(std::span<unsigned char> bytes) override;
  [[nodiscard]] bool waits() const override { return false; }
  void let_pass(std::uint64_t nanoseconds) override;
  Identity identity_of(const Identity& file) override;
  std::uint64_t listed_number(std::uint64_t /*number*/) override { return 0; }  // Not known.
  std::uint64_t time_of_file(std::uint64_t time) override;

 private:
  std::uint64_t random();

  std::uint64_t passed_ = 0;
  std::uint64_t state_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> numbers_;
};

}  // namespace glovebox::wasm
