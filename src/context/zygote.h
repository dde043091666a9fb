// SPDX-License-Identifier: Apache-2.0
// Zygote: a warm interpreter in a realm, from which contexts are forked into sandboxes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "context/agent_process.h"
#include "context/foreign_descriptors.h"
#include "context/zygote_protocol.h"
#include "sandbox/policy/policy.h"
#include "sandbox/sandbox.h"

namespace glovebox {

struct ZygoteSpec {
  // Imported before the first fork, if they are installed.
  std::vector<std::string> modules = {"numpy", "pandas", "matplotlib.pyplot"};
  Environment env;
  std::vector<Mount> mounts{};
  std::string root{};  // As SandboxSpec::root.
  // A program to start in place of our Python, which serves forks in the same way
  // (agents/wasm/zygote.cc), and the filter that its forks get in place of a guest's.
  std::vector<std::string> program{};
  policy::Filter fork_filter = policy::fork_filter();
  std::stop_token stop{};  // Once a stop is requested, nobody waits for it to become warm.
};

// For an interpreter of the first tier for this wish, whose live contexts are forks of such an
// interpreter (TierTraits::forks_own_interpreters). `agent` is the command that serves a language
// there. kUnsupported if its interpreter is not installed.
Result<ZygoteSpec> zygote_of_tier(const TierWish& wish, const std::vector<std::string>& agent);

// What a fork gets besides its sandbox.
struct ForkSpec {
  Environment env{};
  std::string cwd;
  Limits limits;
  // Become descriptors 3, 1 and 2; the caller's to close.
  int channel = -1;
  int out = -1;
  int err = -1;
};

// Safe to use from several threads.
class Zygote {
 public:
  // Starts a realm and an interpreter in it, and waits until that is warm. kUnavailable when it
  // ends before, or a stop is requested.
  static Result<std::unique_ptr<Zygote>> start(const ZygoteSpec& spec);

  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;
  ~Zygote();  // Ends every sandbox of the realm, unless that is another one's (beside()).

  // The interpreter of another language in the same realm, so that a sandbox that was made there
  // can have forks of both. Of `spec` only the program and the filter count. It is started when it
  // is first asked for, or has died, and does not outlive this one. Returns this one itself if it
  // is that language's.
  Result<std::shared_ptr<Zygote>> beside(const ZygoteSpec& spec);

  // Ends the zygotes beside it that nobody has asked for in `idle` and that have no fork in use.
  void end_idle(std::chrono::steady_clock::duration idle);

  // The realm in which the sandboxes of its forks must be made.
  [[nodiscard]] const Realm& realm() const { return home_->realm; }

  // A fork of the interpreter in `sandbox`, which was made in our realm. The process must not
  // outlive this object.
  Result<std::unique_ptr<AgentProcess>> fork(const Sandbox& sandbox, const ForkSpec& spec);

  // How many were forked so far: they all share one layout of memory (SECURITY.md), so a zygote is
  // replaced after a while.
  [[nodiscard]] std::uint64_t forks() const;
  [[nodiscard]] const std::string& version() const { return version_; }

  // False when it has ended; contexts that were forked live on.
  bool alive();

  // As Sandbox::end_hoarders(), for the realm itself: what a tenant brought may hoard like any
  // guest. Call it while nobody waits for a fork.
  std::optional<Hoard> end_hoarders() { return home_->sandbox->end_hoarders(); }

  // Nothing more will be asked about fork `id`.
  void forget(std::uint32_t id);

  // How fork `id` ended: nothing while that is not known. Does not wait.
  std::optional<int> exit_status(std::uint32_t id);

 private:
  using Clock = std::chrono::steady_clock;
  // Shared by the zygotes that are beside each other. Ends with the last of them.
  struct Home {
    std::unique_ptr<Sandbox> sandbox;
    Realm realm;
    Home() = default;
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;
    ~Home();
  };

  Zygote(std::shared_ptr<Home> home, std::vector<std::string> program)
      : home_(std::move(home)), program_(std::move(program)) {}
  // In a realm that exists already.
  static Result<std::unique_ptr<Zygote>> start_in(std::shared_ptr<Home> home,
                                                  const ZygoteSpec& spec);
  Result<void> await_ready(const std::stop_token& stop);
  // Whether nobody asks about a fork of it.
  [[nodiscard]] bool is_alone() const;
  // All that follow require: the mutex is held, or nobody else knows this object.
  // The pidfd of fork `id`, which was requested.
  Result<UniqueFd> await_fork(std::uint32_t id);
  // The end of a fork.
  Result<void> note(const zygote::Message& message);
  // It has said something that it may not say now: it counts as dead.
  Error out_of_turn();
  // Nothing when `deadline` has passed.
  Result<std::optional<zygote::Message>> receive(Clock::time_point deadline);

  mutable std::mutex mutex_;
  const std::shared_ptr<Home> home_;
  const std::vector<std::string> program_;
  UniqueFd socket_;
  UniqueFd log_;  // What it writes on its standard output and error.
  std::unique_ptr<char[]> buffer_{new char[zygote::kMaxMessage]};
  ForeignDescriptors passed_;                          // With the last message.
  std::map<std::uint32_t, std::optional<int>> forks_;  // Those that somebody asks about.
  std::string version_;
  policy::Filter fork_filter_;
  std::uint32_t next_id_ = 1;
  std::uint32_t ends_ = 0;  // How many it has reported.
  bool dead_ = false;

  struct Beside {
    std::shared_ptr<Zygote> zygote;
    Clock::time_point asked_for;
  };
  std::mutex beside_mutex_;  // Of what follows; held while one starts.
  std::vector<Beside> beside_;
};

}  // namespace glovebox
