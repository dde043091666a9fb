// SPDX-License-Identifier: Apache-2.0
// glovebox doctor: which walls can be built here, what is missing for the others, and how to get
// it.
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/json.h"
#include "cli/command.h"
#include "cli/place.h"
#include "sandbox/cgroup.h"
#include "sandbox/launch.h"
#include "sandbox/sandbox.h"
#include "sandbox/several_users.h"
#include "sandbox/slot.h"
#include "sandbox/tiers/tier.h"
#include "spec/json/schema.h"
#include "volume/image_pool.h"

namespace glovebox::cli {
namespace {

// The prefix of findings about tiers.
constexpr std::string_view kTier = "tier ";

struct Finding {
  std::string what;
  bool good = false;
  std::string detail;
  std::string hint;
};

Finding kernel() {
  utsname name{};
  (void)::uname(&name);
  return {"kernel", true, std::string(name.sysname) + " " + name.release, {}};
}

Finding warden() {
  const auto program = inner_programs();
  return program ? Finding{"warden", true, "found", {}}
                 : Finding{"warden", false, program.error().message(), program.error().hint()};
}

Finding cgroups() {
  const CgroupSupport& support = Cgroup::support();
  if (support.mode == CgroupMode::kNone) {
    return {"cgroup", false, "none, so rlimits alone limit memory and pids: " + support.reason,
            support.hint};
  }
  std::string controllers;
  const auto add = [&controllers](bool has, const char* name) {
    controllers += has ? std::string(" ") + name : std::string();
  };
  add(support.memory, "memory");
  add(support.pids, "pids");
  add(support.cpu, "cpu");
  add(support.io, "io");
  return {"cgroup", true, std::string(to_string(support.mode)) + ":" + controllers, {}};
}

Finding landlock() {
  const int abi = landlock_abi();
  if (abi == 0) {
    return {"landlock", false, "not in this kernel, or disabled",
            "boot Linux 5.13 or later with landlock in lsm="};
  }
  if (abi < 6) {
    return {"landlock", true, "ABI " + std::to_string(abi) + ": no signal scoping",
            "use Linux 6.12 or later for signal scoping"};
  }
  return {"landlock", true, "ABI " + std::to_string(abi), {}};
}

Finding users() {
  const auto sandboxes = sandboxes_with_users();
  if (!sandboxes) {
    return {"users", false,
            "root is the only user inside with --user root: " + sandboxes.error().message(),
            sandboxes.error().hint()};
  }
  return {"users",
          true,
          std::to_string(*sandboxes) +
              " sandboxes at a time can have several users inside with --user root" +
              (::geteuid() == 0 ? "" : ", by the ids of /etc/subuid and /etc/subgid"),
          {}};
}

// How much it costs to copy a daemon's on-disk workspaces and volumes.
Finding disk() {
  if (const auto usable = images_usable(); !usable) {
    return {"disk", false, usable.error().message(), usable.error().hint()};
  }
  if (const auto usable = pool_usable(); !usable) {
    return {"disk", false,
            "forks and snapshots of workspaces on disk copy them whole, unless the data directory "
            "is on XFS or btrfs: " +
                usable.error().message(),
            usable.error().hint()};
  }
  return {"disk", true, "forks and snapshots of workspaces on disk share what did not change", {}};
}

// The proof: a sandbox of this tier, built, with the walls that its warden saw from inside.
Finding tier(Tier& tier) {
  Finding finding{std::string(kTier) + std::string(tier.name()), false, {}, {}};
  SandboxSpec spec;
  auto sandbox = Sandbox::create(spec, {.exactly = std::string(tier.name()), .at_least = {}});
  if (!sandbox) {
    finding.detail = sandbox.error().message();
    finding.hint = sandbox.error().hint();
    return finding;
  }
  const Walls& walls = (*sandbox)->walls();
  std::string absent;
  const auto need = [&absent](bool holds, const char* name) {
    absent += holds ? std::string() : std::string(absent.empty() ? "" : ", ") + name;
  };
  need(walls.user_ns, "user namespace");
  need(walls.mount_ns, "own root");
  need(walls.pid_ns, "pid namespace");
  need(walls.net_ns, "network namespace");
  need(walls.ipc_ns, "ipc namespace");
  need(walls.uts_ns, "uts namespace");
  need(walls.cgroup_ns, "cgroup namespace");
  const bool own_kernel = (*sandbox)->features().own_kernel;
  need(walls.landlock > 0 || own_kernel, "Landlock");
  need(walls.cgroup != "none", "cgroup");
  need(walls.no_capabilities, "locked capabilities");
  finding.good = true;
  finding.detail = !absent.empty() ? "works, without: " + absent
                   : own_kernel    ? "works, with a kernel of its own"
                                   : "works, with every wall in place";
  if (const std::string manner = tier.manner(); !manner.empty()) {
    finding.detail += "; " + manner;
  }
  for (const std::string& note : own_kernel ? (*sandbox)->notes() : std::vector<std::string>()) {
    finding.detail += "; " + note;
  }
  return finding;
}

// What else to do about a tier if the examination of this place has no advice.
std::string last_resort(std::string_view tier, bool native_works) {
  if (tier == "gvisor") {
    return "see whether 'runsc do true' works (docs/gvisor.md)";
  }
  if (tier == "native") {
    return "nothing that is known to stand in the way was found; run with --min-tier landlock";
  }
  return native_works ? "see docs/" + std::string(tier) + ".md"
                      : "it builds on tier native: see there";
}

// An error's hint is right for any machine, or asks for an examination of this place. We have
// examined it, so either hint gives way to the finding 'place' if that has advice.
void defer_to_place(const Place& place, const Lacks& lacks, std::vector<Finding>& findings) {
  const bool says_native = !advice(place, {.native = lacks.native}).empty();
  const bool says_cgroup = !advice(place, {.cgroup = lacks.cgroup}).empty();
  // The hint of the cgroup's finding, and of findings with the same cause.
  const std::string of_cgroup = Cgroup::support().hint;
  for (Finding& each : findings) {
    if (!each.good && says_cgroup && each.hint == of_cgroup) {
      each.hint = "see 'place'";
    } else if (each.hint.starts_with(kAskDoctor)) {
      const std::string_view name = std::string_view(each.what).substr(kTier.size());
      each.hint = says_native ? "see 'place'" : last_resort(name, !lacks.native);
    }
  }
}

std::vector<Finding> examine() {
  std::vector<Finding> findings = {kernel(), warden(), cgroups(), landlock(), users(), disk()};
  Lacks lacks{.cgroup = !findings[2].good, .landlock = landlock_abi() == 0};
  for (Tier* const each : all_tiers()) {
    findings.push_back(tier(*each));
    lacks.native = lacks.native || (each->name() == "native" && !findings.back().good);
    lacks.landlock_tier =
        lacks.landlock_tier || (each->name() == "landlock" && !findings.back().good);
  }
  const Place here = find_place(
      // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets variables.
      "", [](const char* name) { return std::getenv(name); }, ::geteuid() == 0);
  defer_to_place(here, lacks, findings);
  std::string hint = advice(here, lacks);
  const bool lacks_nothing = hint.empty();
  findings.insert(findings.begin() + 1, {"place", lacks_nothing, describe(here), std::move(hint)});
  const Swept swept = sweep_leftovers();
  Finding leftovers{"leftovers",
                    swept.failures.empty(),
                    std::to_string(swept.slots) + " dead sandboxes cleaned up",
                    {}};
  if (!swept.failures.empty()) {
    leftovers.detail = swept.failures.front();
    leftovers.hint = "remove it by hand, then run 'glovebox doctor' again";
  }
  findings.push_back(std::move(leftovers));
  return findings;
}

int run(bool json) {
  const std::vector<Finding> findings = examine();
  const bool any_tier = std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.what.starts_with(kTier) && finding.good;
  });
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
      list.push_back({{"what", finding.what},
                      {"ok", finding.good},
                      {"detail", finding.detail},
                      {"hint", finding.hint}});
    }
    std::cout << nlohmann::ordered_json{{"schema", schema_of("doctor")},
                                        {"findings", std::move(list)}}
                     .dump()
              << "\n";
  } else {
    for (const Finding& finding : findings) {
      std::cout << (finding.good ? "✓ " : "✗ ") << finding.what << ": " << finding.detail << "\n";
      if (!finding.hint.empty()) {
        std::cout << "    hint: " << finding.hint << "\n";
      }
    }
  }
  return any_tier ? 0 : kExitFailed;
}

}  // namespace

void add_doctor(CLI::App& app, Action* action) {
  auto* const command =
      app.add_subcommand("doctor", "Check which isolation features work on this host");
  command->footer("Examples:\n  glovebox doctor\n  glovebox doctor --json");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print the findings as one JSON object");
  command->callback([action, json] { *action = [json] { return run(*json); }; });
}

}  // namespace glovebox::cli
