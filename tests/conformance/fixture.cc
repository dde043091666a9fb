// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;

class WardenOfThisBuild : public testing::Environment {
 public:
  void SetUp() override {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before the first thread.
    ::setenv("GLOVEBOX_WARDEN", GB_WARDEN_PATH, 0);
  }
};

const auto* const kWarden = testing::AddGlobalTestEnvironment(new WardenOfThisBuild);

// The number of the process of a pidfd; zero for one that is gone, or without a pidfd.
pid_t pid_of(int pidfd) {
  const std::string info = read_file("/proc/self/fdinfo/" + std::to_string(pidfd));
  const std::size_t at = info.find("\nPid:");
  return pidfd < 0 || at == std::string::npos ? 0 : std::max(std::atoi(info.c_str() + at + 5), 0);
}

bool descends_from_us(pid_t pid) {
  do {
    pid = parent_of(pid);
  } while (pid > 1 && pid != ::getpid());
  return pid == ::getpid();
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> block;
  // A file of /proc fails in the middle when its process ends.
  for (ssize_t got = 0; (got = ::read(fd.get(), block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

pid_t parent_of(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > stat.size()) {
    return 0;
  }
  return std::atoi(stat.c_str() + name_end + 4);
}

std::vector<std::string> tiers() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before the first thread.
  if (const char* const named = std::getenv("GLOVEBOX_CONFORMANCE_TIER"); named != nullptr) {
    return {named};
  }
  return {"native", "landlock", "native_relayed"};
}

std::string tier_of(const std::string& parameter) {
  return parameter.substr(0, parameter.find('_'));
}

bool is_relayed(const std::string& parameter) { return parameter.ends_with("_relayed"); }

bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

UniqueFd file_with(std::string_view bytes) {
  UniqueFd file(::memfd_create("conformance", MFD_CLOEXEC));
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written <= 0) {
      ADD_FAILURE() << "cannot write a file in memory";
      break;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string binary(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 2'463'534'242U;
  for (char& byte : bytes) {
    state ^= state << 13U;
    state ^= state >> 17U;
    state ^= state << 5U;
    byte = static_cast<char>(state);
  }
  return bytes;
}

const LimitReport& report_of(const std::vector<LimitReport>& reports, std::string_view name) {
  static const LimitReport kMissing{};
  const auto found = std::ranges::find(reports, name, &LimitReport::name);
  if (found == reports.end()) {
    ADD_FAILURE() << "no report of the limit " << name;
    return kMissing;
  }
  return *found;
}

void Conformance::SetUp() {
  static std::atomic<int> count = 0;
  marker_ = "GB_CONFORMANCE=" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  const auto tier = std::ranges::find(all_tiers(), tier_of(GetParam()), &Tier::name);
  ASSERT_NE(tier, all_tiers().end()) << "no tier for " << GetParam();
  auto features = (*tier)->probe();
  if (!features) {
    GTEST_SKIP() << "the tier does not work here: " << features.error().message();
  }
  features_ = *features;
}

void Conformance::TearDown() {
  sandbox_.reset();
  if (!marker_.empty()) {
    for (const pid_t guest : guests()) {
      ::kill(guest, SIGKILL);
    }
  }
}

std::unique_ptr<Sandbox> Conformance::make(const Limits& limits) const {
  const std::size_t equals = marker_.find('=');
  SandboxSpec spec{.limits = limits,
                   .env = {{marker_.substr(0, equals), marker_.substr(equals + 1)}},
                   .mounts = {},
                   .relay = is_relayed(GetParam())};
  auto made = Sandbox::create(spec, tier());
  if (!made) {
    ADD_FAILURE() << made.error().message();
    return nullptr;
  }
  return std::move(made).value();
}

Sandbox& Conformance::sandbox() {
  if (!sandbox_) {
    make_with({});
  }
  return *sandbox_;
}

void Conformance::make_with(const Limits& limits) {
  sandbox_ = make(limits);
  // Nothing can be tried without one, and the process would only crash later.
  if (!sandbox_) {
    std::abort();
  }
}

void Conformance::end_sandbox() { sandbox_.reset(); }

RunOutcome Conformance::sh(const std::string& script) { return sh(script, RunOptions{}); }

RunOutcome Conformance::sh(const std::string& script, const RunOptions& options) {
  return run({"/bin/sh", "-c", script}, options);
}

RunOutcome Conformance::run(const std::vector<std::string>& argv, const RunOptions& options) {
  auto outcome = sandbox().run({.argv = argv, .env = {}, .cwd = {}}, options);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message();
    return {};
  }
  return std::move(outcome).value();
}

std::string Conformance::output_of(const std::string& script) {
  const RunOutcome outcome = sh(script);
  EXPECT_EQ(outcome.status, Status::kOk) << script << "\n" << outcome.err.bytes;
  return outcome.out.bytes;
}

std::vector<pid_t> Conformance::processes() const {
  std::vector<pid_t> found;
  // Which an engine may have started in our place.
  const pid_t warden = sandbox_ ? pid_of(sandbox_->pidfd()) : 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    const pid_t pid = std::atoi(name.c_str());
    // A zombie has no environment any more, and a process that lost its parent no descent.
    const std::string environment = '\0' + read_file(entry.path() / "environ");
    if (descends_from_us(pid) || pid == warden ||
        environment.find('\0' + marker_ + '\0') != std::string::npos) {
      found.push_back(pid);
    }
  }
  return found;
}

std::vector<pid_t> Conformance::guests() const {
  std::vector<pid_t> found = processes();
  const pid_t warden = sandbox_ ? pid_of(sandbox_->pidfd()) : 0;
  std::erase_if(found, [=](pid_t pid) { return pid == warden || parent_of(pid) == ::getpid(); });
  return found;
}

std::size_t Conformance::living_guests() {
  if (!features_.own_kernel) {
    return guests().size();
  }
  if (!sandbox().alive()) {
    return 0;
  }
  // Without the warden and the shell that counts.
  const RunOutcome counted =
      sh("set -- /proc/[0-9]*; echo $(($# - 2))", {.limits = {}, .kill_rest = false});
  return counted.out.bytes.empty() ? 0 : std::stoul(counted.out.bytes);
}

void Conformance::look_at_guest(const std::function<void(pid_t guest)>& look) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::pipe2(pair.data(), O_CLOEXEC), 0);
  const UniqueFd input(pair[0]);
  UniqueFd writer(pair[1]);
  RunOptions options{.limits = {}, .stdin_fd = input.get()};
  options.observer.out = [&](std::string_view) {
    const std::vector<pid_t> found = guests();
    EXPECT_EQ(found.size(), 1U);
    for (const pid_t guest : found) {
      look(guest);
    }
    writer.reset();
  };
  EXPECT_EQ(sh("echo waiting; read -r line; exit 7", options).exit_code, 7);
  EXPECT_FALSE(writer) << "the guest never waited";
}

}  // namespace glovebox::conformance
