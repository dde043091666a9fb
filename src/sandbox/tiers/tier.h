// SPDX-License-Identifier: Apache-2.0
// Tier: one way of building walls.
//
// To add a tier: a folder here with an implementation of Tier, one line in tiers/all.cc, and the
// conformance suite runs over it. Nobody else learns its name: callers ask what a tier can do.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/cgroup.h"
#include "sandbox/handing.h"
#include "sandbox/id_range.h"
#include "sandbox/policy/policy.h"
#include "sandbox/slot.h"
#include "sandbox/spec.h"
#include "sandbox/subordinate_ids.h"
#include "spec/command.h"
#include "spec/mount.h"
#include "spec/verdict.h"

namespace glovebox {

// What a tier can do on this host. Found out by trying, not by reading version numbers.
struct TierFeatures {
  bool limits_disk = false;    // Limits::disk holds for all that a guest can write.
  bool limits_inodes = false;  // Likewise Limits::inodes, and they are counted.
  bool limits_memory = false;  // Limits::memory holds for all processes together.
  bool limits_pids = false;    // Likewise Limits::pids.
  bool own_kernel = false;     // The guest does not share the host's kernel.
  bool emulated = false;       // Processors are emulated: programs run many times slower.
  bool own_pids = false;       // Killing the first process kills all.
  bool own_root = false;       // Mounts appear at their targets; otherwise, where they are outside.
  bool loopback_network = false;  // The guest has a network of its own to talk to itself.
  // Our descriptors can be passed to the warden, and a guest's to us. If they cannot, bytes are
  // relayed in frames instead.
  bool passes_descriptors = false;
  bool returns_descriptors = false;
  // A sandbox can be saved with the memory of its processes, and loaded (save(), load()); and what
  // was saved can be loaded on another machine that has the same programs.
  bool snapshots_memory = false;
  bool portable_snapshots = false;
};

// What a tier can do wherever it works at all; known without trying.
struct TierTraits {
  bool can_lend = false;          // A sandbox can be lent to another process (Sandbox::borrow()).
  bool can_hold_realms = false;   // Sandboxes can be born within another one (sandbox/realm.h).
  bool can_place_mounts = false;  // Mounts, disk images among them, are seen at their targets.
  bool can_hold_guest_rules = false;  // The kernel enforces GuestRules.
  bool can_filter_network = false;    // SandboxSpec::egress_port.
  bool runs_elf = true;               // Programs of this machine. Otherwise see Runner.
  bool is_deterministic = false;      // SandboxSpec::deterministic.
  // Its live contexts are forks of warm interpreters of its own (Tier::warm_interpreter()).
  bool forks_own_interpreters = false;
  bool waits_warm = false;    // Its live sandboxes wait ahead of demand with a started context.
  bool only_by_name = false;  // Never taken for its strength alone, however it ranks.
};

// What carries a sandbox that is not made of our own child: a container of an engine, for instance.
// One thread at a time uses it.
class Carrier {
 public:
  virtual ~Carrier() = default;
  // Changes the limits of the living sandbox, as Cgroup::change_limits() does.
  virtual Result<void> change_limits(const Limits& limits) = 0;
  // Ends what still runs and removes every trace. Once; what fails is left to the next sweep.
  virtual Result<void> remove() = 0;

 protected:
  Carrier() = default;
  Carrier(const Carrier&) = default;
  Carrier& operator=(const Carrier&) = default;
};

// What starts in place of each command in a tier whose guests are not programs of the machine. It
// can start before the command is known: it then says that it waits, and reads the command from its
// standard input. Does not change; any number of threads may use it.
class Runner {
 public:
  virtual ~Runner() = default;
  // The command of ours that runs `command` within `limits`. kUnsupported for what cannot run here.
  [[nodiscard]] virtual Result<Command> command_for(const Command& command,
                                                    const Limits& limits) const = 0;
  // The command of ours that waits in `directory`. Once it does, it writes one byte to its standard
  // output, before anything else.
  [[nodiscard]] virtual Command waiting_in(const std::string& directory,
                                           const Limits& limits) const = 0;
  // What it must read to continue as that of command_for() would. `environment`: all of it, as
  // "NAME=value"; `compiled`: what it made of the same program when told compiling(), or nothing.
  [[nodiscard]] virtual Result<std::string> beginning_of(
      const Command& command,
      const std::vector<std::string>& environment,
      std::string_view compiled) const = 0;
  // What it must read to compile the program, write the result to its standard output, and exit.
  [[nodiscard]] virtual std::string compiling(const std::string& program) const = 0;
  // The filter that it gets in place of a guest's.
  [[nodiscard]] virtual policy::Filter filter() const = 0;

 protected:
  Runner() = default;
  Runner(const Runner&) = default;
  Runner& operator=(const Runner&) = default;
};

// The kernel objects of one new sandbox, with its warden already running in it.
struct Enclosure {
  std::optional<Slot> slot;                // None: another process has it (Sandbox::borrow()).
  IdRange ids{};                           // Of a root guest; else empty.
  SubordinateIds lent_ids{};               // Likewise, of an ordinary user's.
  Cgroup cgroup{};                         // None if the tier limits in another way.
  std::unique_ptr<const Meter> meter{};    // What counts in place of the cgroup; may be absent.
  std::unique_ptr<Carrier> carrier{};      // None: our own child is all of it.
  std::unique_ptr<const Runner> runner{};  // None: guests are programs of the machine.
  UniqueFd control;                        // Stream socket to the warden (spec/warden_protocol.h).
  WayOut way_out{};  // As SandboxSpec::egress_port asks; empty if the set-up has failed.
  // The process of ours whose end is the sandbox's: the warden, or what the guest's kernel runs in.
  // None if that is not a process of this host; the end of `control` ends the sandbox anyway.
  UniqueFd pidfd;
  // Where a program that builds the walls says why it could not; read without waiting. Or none.
  UniqueFd complaints{};
  std::string tree;  // A directory of the host that is removed with the sandbox, or empty.
  // Absolute paths of what programs need to start, none of it in a workspace: guests may read it
  // whatever GuestRules::read says. Only in tiers that enforce those rules.
  std::vector<std::string> system{};
  TierFeatures features;
  std::string machine{};  // What runs the guest's own kernel, if the kernel does not say so itself.
  std::string seccomp;    // The name of the policy in force.
  int landlock = 0;
  bool realm = false;
  bool nested = false;               // Guests have namespaces and filters of their own.
  std::vector<std::string> notes{};  // What a person should know of these walls.
  std::vector<Timing> timings;
  // What the set-up still reads until its exec (sandbox/launch.h).
  std::shared_ptr<const void> setup;
  // What must stay as long as the sandbox.
  std::shared_ptr<const void> held{};
};

class Tier {
 public:
  virtual ~Tier() = default;

  // As in verdicts: "native", "landlock", …
  [[nodiscard]] virtual std::string_view name() const = 0;

  // Orders the tiers: a caller's floor admits its own strength and above.
  [[nodiscard]] virtual int strength() const = 0;

  [[nodiscard]] virtual TierTraits traits() const = 0;

  // kUnsupported says what is missing here and what would supply it. Cheap after the first call.
  virtual Result<TierFeatures> probe() = 0;

  // Builds the walls and starts the warden. Returns as soon as the process exists; only when the
  // warden's reports have come over `control` are the walls known to stand.
  virtual Result<Enclosure> enclose(const SandboxSpec& spec) = 0;

  // Writes the sandbox, with the memory of all that runs in it, into `directory`, which is empty
  // and for our user alone. Its warden rests (spec/warden_protocol.h). On success, the sandbox has
  // ended or continues from there; on failure, nobody knows whether it lives. kUnsupported if the
  // tier or this host cannot do it (TierFeatures::snapshots_memory).
  enum class Afterwards { kEnds, kGoesOn };
  virtual Result<void> save(const Enclosure& enclosure,
                            const std::string& directory,
                            Afterwards afterwards);

  // As enclose(), but from what save() has written for a sandbox of the same spec. Its warden rests
  // until it is told to wake. Anyone who can change the directory can make the sandbox do anything
  // that a guest could do to its own kernel, and no more: it is read within the walls.
  virtual Result<Enclosure> load(const SandboxSpec& spec, const std::string& directory);

  // What wrote the files of save(), in its own words, such as "runsc version …": a different one
  // cannot load them. Empty if the tier leaves that to the files. Runs a program.
  virtual Result<std::string> memory_format() { return std::string(); }

  // What a person should know of it on this host, besides that it works: a clause. Empty: nothing.
  [[nodiscard]] virtual std::string manner() const { return {}; }

  // How an interpreter of its own becomes warm, to be forked (TierTraits::forks_own_interpreters).
  // `program` is its name, as in the command of an agent. kUnsupported if there is none of that
  // name, or it is not installed.
  struct WarmInterpreter {
    Mount mount;            // That a realm of the native tier must show.
    std::string starter;    // To be started there, with the command of the agent behind it.
    policy::Filter filter;  // What its forks get in place of a guest's.
  };
  virtual Result<WarmInterpreter> warm_interpreter(std::string_view /*program*/) {
    return Error(ErrorCode::kUnsupported, "this tier has no interpreters of its own");
  }

  // Removes what a dead owner left behind, as the tier itself noted it (Slot::note_for()). A tier
  // that notes nothing leaves nothing.
  virtual Result<void> sweep(std::string_view /*note*/) { return {}; }
};

// Every tier of this build, strongest first. The objects live as long as the program.
const std::vector<Tier*>& all_tiers();

// kInvalid for an unknown name.
Result<Tier*> tier_named(std::string_view name);

// The hint of an error whose cause is where we run, such as a container's settings: what to do
// about it depends on more than a tier sees.
inline constexpr std::string_view kAskDoctor =
    "run 'glovebox doctor', which names what is in the way here";

// What a caller asked for. Empty names: no wish, and no floor but that of `native`.
struct TierWish {
  std::string exactly{};   // This tier or none. "auto": the strongest that serves the order.
  std::string at_least{};  // This one or a stronger one.
  friend bool operator==(const TierWish&, const TierWish&) = default;
};

// The tiers that fit, in the order in which to try them: the one asked for; for "auto", the
// strongest first; otherwise `native`, then what is stronger, then what is weaker, but none below
// the floor, which is `native` if none is given. A tier that is only chosen by name (TierTraits) is
// left out unless it is asked for, or is the floor and runs programs of the machine. Whether they
// work here shows when they are tried; asking probe() first would cost each start what only a few
// hosts need. Fails with kInvalid for unknown names and for a wish that contradicts itself.
Result<std::vector<Tier*>> candidate_tiers(const TierWish& wish);

// The same wish with a floor of at least `tier`'s strength. Fails with kInvalid for unknown names,
// and for a wish that names a tier below that floor.
Result<TierWish> raise_floor(TierWish wish, std::string_view tier);

// A wish for the first tier, in that order, that has the trait; last come those that are only
// chosen by name. Requires: one of this build's tiers has it.
TierWish tier_that(bool TierTraits::*can);

// Fails with kUnsupported for a sandbox that needs what only the native tier has (guests that are
// root, sandboxes inside, forks of a warm interpreter, volumes, a root of a template), or what the
// tier's traits() lack. `tier` is the name of the one that was asked.
Result<void> refuse_what_native_alone_has(const SandboxSpec& spec, std::string_view tier);

// The traits of the tier of that name; none if there is no such tier.
TierTraits traits_of(std::string_view name);

// Whether the first tier for this wish has the trait. False if no tier fits the wish.
bool first_choice_can(const TierWish& wish, bool TierTraits::*can);

// Of the first tier for this wish.
Result<Tier::WarmInterpreter> warm_interpreter_of(const TierWish& wish, std::string_view program);

}  // namespace glovebox
