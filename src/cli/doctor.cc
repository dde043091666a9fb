// SPDX-License-Identifier: Apache-2.0
// glovebox doctor: which walls can be built here, what is missing for the others, and how to get
// it.
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "sandbox/cgroup.h"
#include "sandbox/launch.h"
#include "sandbox/sandbox.h"
#include "sandbox/slot.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

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
    return {"cgroup", false, "none: memory and pids are limited only by rlimits", support.reason};
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

// The proof: a sandbox of this tier, built, with the walls that its warden saw from inside.
Finding tier(Tier& tier) {
  Finding finding{"tier " + std::string(tier.name()), false, {}, {}};
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
  return finding;
}

// The file by which a container engine marks its containers, and the engine's name.
struct Mark {
  const char* file;
  const char* engine;
};
constexpr std::array<Mark, 2> kMarks = {
    {{"/.dockerenv", "Docker"}, {"/run/.containerenv", "Podman"}}};

// Where the native tier does not work: containers are where people most often lack what it needs.
// Each engine's default filter refuses namespaces, and covers parts of /proc, beside which no other
// may be mounted.
std::optional<Finding> place() {
  const auto* const mark =
      std::ranges::find_if(kMarks, [](const Mark& each) { return ::access(each.file, F_OK) == 0; });
  if (mark == kMarks.end()) {
    return std::nullopt;
  }
  return Finding{
      "place", false, std::string("a container of ") + mark->engine + ": " + mark->file + " exists",
      "for tier native, start the container with --security-opt seccomp=unconfined "
      "--security-opt systempaths=unconfined" +
          std::string(::geteuid() == 0 ? " --cap-add SYS_ADMIN" : "") +
          ", and on hosts with AppArmor --security-opt apparmor=unconfined; without them, run with "
          "--min-tier landlock (docs/containers.md)"};
}

std::vector<Finding> examine() {
  std::vector<Finding> findings = {kernel(), warden(), cgroups(), landlock()};
  bool native = false;
  for (Tier* const each : all_tiers()) {
    findings.push_back(tier(*each));
    native = native || (each->name() == "native" && findings.back().good);
  }
  if (auto found = native ? std::nullopt : place(); found) {
    // What else they advise is for machines, or leads back here.
    for (Finding& each : findings) {
      if (!each.good && (each.what == "tier native" || each.what == "tier landlock")) {
        each.hint = "see 'place'";
      }
    }
    findings.push_back(std::move(*found));
  }
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
  const bool native = std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.what.starts_with("tier ") && finding.good;
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
  return native ? 0 : kExitFailed;
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
