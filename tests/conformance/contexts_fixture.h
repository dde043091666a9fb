// SPDX-License-Identifier: Apache-2.0
// Live contexts for tests: forked from a warm zygote, or started cold.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "context/context.h"
#include "context/zygote.h"

namespace glovebox::conformance {

// What a machine under load may take beyond a limit; without the limit it would be for ever.
inline constexpr std::chrono::seconds kSoonUnderLoad{10};

// How a context comes to be.
struct Way {
  std::string name;  // Of the test's instance.
  std::string tier;
  bool forked = false;
  bool relayed = false;  // No descriptor is passed: SandboxSpec::relay.
};
void PrintTo(const Way& way, std::ostream* out);

// Every way that glovebox has.
std::vector<Way> ways();

// Those in which it comes from a zygote; none where another tier runs alone.
std::vector<Way> ways_by_fork();

// Those in which a context can go back to a checkpoint, or cannot.
std::vector<Way> ways_that(bool keep_checkpoints);

// A sandbox with a context in it.
struct Live {
  std::unique_ptr<Sandbox> sandbox;
  std::unique_ptr<Context> context;
};

// Makes contexts of one way. The zygote is shared by all tests of a process: it takes a second.
class Contexts : public testing::TestWithParam<Way> {
 protected:
  // Skips where the way does not work on this host.
  void SetUp() override;

  // Of the sandboxes that make() makes.
  [[nodiscard]] static SandboxSpec spec_of(const Way& way, const Limits& limits = {});
  // Empty, with a failed test, when it could not be made.
  [[nodiscard]] static Live make(const Way& way, const Limits& limits = {});
  [[nodiscard]] static std::unique_ptr<Context> start(const Way& way, Sandbox& sandbox);
  // Starts it where there is none, or none any more.
  [[nodiscard]] static Zygote& zygote();
  // Whether the one that was started, if any, has died since.
  [[nodiscard]] static bool zygote_has_died();

  // The test's own context, made when it is first asked for. make_with() is for other limits.
  Context& context();
  // A kernel of its own that is no Linux.
  bool is_gvisor() {
    const Sandbox& sandbox = context().sandbox();
    return sandbox.features().own_kernel && sandbox.walls().landlock == 0;
  }
  void make_with(const Limits& limits);
  void end_context();

  // Executes in the test's own context, or in another.
  Execution run(std::string_view code, ExecuteOptions options = {});
  static Execution run(Context& context, std::string_view code, ExecuteOptions options = {});

  // The standard output of code that must end well, without its last line break.
  std::string output_of(std::string_view code) { return output_of(context(), code); }
  static std::string output_of(Context& context, std::string_view code);

  // Fails unless the context answers as ever.
  static void expect_well(Context& context);

 private:
  Live live_;
};

// Those that only a fork can keep.
class ForkedContexts : public Contexts {
 protected:
  [[nodiscard]] static Way way() { return {.name = "fork", .tier = "native", .forked = true}; }
};

// A context of another sandbox that somebody uses meanwhile, in a thread of its own.
class Bystander {
 public:
  explicit Bystander(Live live);
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander() { (void)finish(); }

  // How many cells it has had answered so far.
  [[nodiscard]] int answers() const { return answers_; }

  // Ends it; what went wrong with it, if anything.
  std::string finish();

 private:
  void use();

  Live live_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> answers_ = 0;
  std::string complaint_;
  std::thread user_;
};

// What there is on the host of the sandboxes of this process.
class Traces {
 public:
  static Traces look();

  // What is new since `before` and does not go, one line each.
  static std::vector<std::string> left_since(const Traces& before);

  // Our own, open now.
  static std::size_t descriptors();

 private:
  std::set<std::string> found_;
};

// Peak of our own resident memory since reset_peak(), in bytes.
void reset_peak();
std::uint64_t peak_memory();

// A piece of Python that makes `channel`: the agent's channel, found among the descriptors as a
// guest would.
extern const char* const kFindChannel;

}  // namespace glovebox::conformance

#define GB_FOR_EVERY_WAY(suite)                                                             \
  INSTANTIATE_TEST_SUITE_P(Ways, suite, testing::ValuesIn(::glovebox::conformance::ways()), \
                           [](const auto& way) { return way.param.name; })
#define GB_FOR_FORKS(suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(Ways, suite,                                                \
                           testing::ValuesIn(::glovebox::conformance::ways_by_fork()), \
                           [](const auto& way) { return way.param.name; })
