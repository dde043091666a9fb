// SPDX-License-Identifier: Apache-2.0
// What the guests of a sandbox have asked its kernel for, to be recorded: system calls that the
// filter refuses, and programs that they start.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox {

// A value. All but the name of a call is the guest's: it may be anything, and its threads may have
// changed it before the kernel looked at it.
struct GuestAct {
  enum class Kind { kRefusedCall, kProgram };
  Kind kind = Kind::kRefusedCall;
  // The call, as in manual pages; or the program's path, as it was asked for, up to 256 bytes.
  std::string name{};
  std::vector<std::string> words{};  // The arguments for a program, up to 1 KiB.
  bool missing = false;              // There was no such program.
  std::string by{};                  // The name of the process that asked.
  // How many more were only counted: of this call, or, without a name, of programs.
  std::uint64_t more = 0;
};

// Which acts of one sandbox's guests are told, and which are only counted: of each refused call the
// first, and programs up to 64 at once and one a second. Safe to use from several threads.
class GuestLedger {
 public:
  using Clock = std::chrono::steady_clock;
  using Told = std::function<void(const GuestAct& act)>;

  // Tells past and future acts. `told` must not wait.
  void tell(Told told);
  // The guests have ended: tells how many acts were only counted, and nothing after that.
  void close();

  // Counts one. True if it should be told in full.
  bool count_refusal(std::string_view call);
  bool count_program(Clock::time_point now);
  void tell_act(GuestAct act);

 private:
  static constexpr double kBurst = 64;
  static constexpr double kPerSecond = 1;
  static constexpr std::size_t kMostUntold = 128;

  std::mutex mutex_;  // Guards all of it; held while somebody is told.
  Told told_;
  std::vector<GuestAct> untold_;  // While nobody listens; as bounded as what is told.
  bool closed_ = false;
  std::map<std::string, std::uint64_t, std::less<>> refused_;  // How often, by name.
  std::uint64_t more_programs_ = 0;
  double programs_left_ = kBurst;
  Clock::time_point filled_{};
};

}  // namespace glovebox
