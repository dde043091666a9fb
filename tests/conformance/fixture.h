// SPDX-License-Identifier: Apache-2.0
// What every tier promises, tried in real sandboxes. A later tier joins by its name in fixture.cc.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sandbox/sandbox.h"

namespace glovebox::conformance {

// Waits until `holds`, looking again and again; false when it did not within `patience`.
bool eventually(const std::function<bool()>& holds,
                std::chrono::milliseconds patience = std::chrono::seconds(10));

// A descriptor from which `bytes` are read: an unlinked file of the host.
UniqueFd file_with(std::string_view bytes);

// `size` bytes in which every value occurs and no short piece repeats at once.
std::string binary(std::size_t size);

// What a file holds, or as much as could be read: one of /proc fails when its process ends.
std::string read_file(const std::filesystem::path& path);

// The parent of a process; zero for one that is gone.
pid_t parent_of(pid_t pid);

const LimitReport& report_of(const std::vector<LimitReport>& reports, std::string_view name);

// The tiers that every test runs over, by the parameters of its instances: names of tiers, and of
// those with "_relayed" behind them, which pass no descriptors (SandboxSpec::relay). What
// GLOVEBOX_CONFORMANCE_TIER names runs alone: see claims.py.
std::vector<std::string> tiers();
std::string tier_of(const std::string& parameter);
bool is_relayed(const std::string& parameter);

// One sandbox of the tier under test, made when it is first asked for.
class Conformance : public testing::TestWithParam<std::string> {
 protected:
  // Skips where the tier does not work on this host.
  void SetUp() override;
  // Leaves no guest on the host, whatever a failed test found out.
  void TearDown() override;

  // A sandbox of the tier, or a failed test and a null pointer.
  [[nodiscard]] std::unique_ptr<Sandbox> make(const Limits& limits = {}) const;

  // The test's own sandbox. make_with() is for one with other limits, and comes before it.
  Sandbox& sandbox();
  void make_with(const Limits& limits);
  void end_sandbox();

  // Runs /bin/sh -c `script`. An Error fails the test and answers as kFailed.
  RunOutcome sh(const std::string& script);
  RunOutcome sh(const std::string& script, const RunOptions& options);
  RunOutcome run(const std::vector<std::string>& argv, const RunOptions& options = {});

  // The standard output of a script that must end well.
  std::string output_of(const std::string& script);

  [[nodiscard]] const TierFeatures& features() const { return features_; }
  // A kernel of its own that is no Linux.
  bool is_gvisor() { return features().own_kernel && sandbox().walls().landlock == 0; }
  [[nodiscard]] TierWish tier() const { return {.exactly = tier_of(GetParam()), .at_least = {}}; }

  // Processes of the host that are part of this test's sandboxes, wardens and all.
  [[nodiscard]] std::vector<pid_t> processes() const;
  // Those without what we started ourselves: the wardens.
  [[nodiscard]] std::vector<pid_t> guests() const;

  // How many processes of guests the test's own sandbox holds, zombies too. Another kernel's are
  // none of the host's, and are counted from within.
  [[nodiscard]] std::size_t living_guests();

  // Runs a shell in the sandbox and looks at it from the host with `look` while it waits.
  void look_at_guest(const std::function<void(pid_t guest)>& look);

 private:
  TierFeatures features_;
  std::string marker_;  // In the environment of every guest.
  std::unique_ptr<Sandbox> sandbox_;
};

}  // namespace glovebox::conformance

// Each file of tests names the tiers that it runs over in the same way.
#define GB_FOR_EVERY_TIER(suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(Tiers, suite, testing::ValuesIn(::glovebox::conformance::tiers()), \
                           [](const auto& tier) { return tier.param; })
