// SPDX-License-Identifier: Apache-2.0
// How a sandbox is created: by the first tier whose walls stand.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/sys/raw.h"
#include "base/text.h"
#include "sandbox/call_watch.h"
#include "sandbox/child/plan.h"
#include "sandbox/git_excludes.h"
#include "sandbox/reported_walls.h"
#include "sandbox/sandbox.h"
#include "sandbox/stopwatch.h"
#include "sandbox/stream_relay.h"

namespace glovebox {
namespace {

// Until the walls stand; a guest cannot delay that.
constexpr std::chrono::seconds kSetupPatience{30};

std::string random_id() {
  std::array<unsigned char, 12> bytes{};
  (void)sys::raw(SYS_getrandom, bytes.data(), bytes.size(), 0);
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuv";
  std::string id;
  for (const unsigned char byte : bytes) {
    id.push_back(kLetters[byte % kLetters.size()]);
  }
  return id;
}

Error not_deterministic(const Tier& tier) {
  return {ErrorCode::kUnsupported, "the " + std::string(tier.name()) + " tier is not deterministic",
          "use --tier wasm"};
}

Error setup_error(const warden::SetupReport& report) {
  const auto step = static_cast<child::SetupStep>(report.failed_step);
  const std::string attempt = "set up the sandbox: step " +
                              std::string(child::setup_step_name(step)) + ", part " +
                              std::to_string(report.detail);
  const bool forbidden = report.error == EPERM || report.error == EACCES ||
                         report.error == ENOSYS || report.error == EINVAL || report.error == ENODEV;
  const Error error = Error::from_errno(attempt, report.error);
  return {forbidden ? ErrorCode::kUnsupported : error.code(), error.message(),
          std::string(kAskDoctor)};
}

}  // namespace

Sandbox::Sandbox(Enclosure enclosure, std::string_view tier, const SandboxSpec& spec)
    : enclosure_(std::move(enclosure)),
      link_(std::move(enclosure_.control)),
      id_(spec.id.empty() ? random_id() : spec.id),
      tier_(tier),
      env_(spec.as_root ? root_environment() : Environment{}),
      limits_(spec.limits),
      write_rules_(spec.rules.write),
      read_rules_(spec.rules.read),
      timings_(std::move(enclosure_.timings)),
      notes_(std::move(enclosure_.notes)) {
  env_.insert(env_.end(), spec.env.begin(), spec.env.end());
  // The start of a kernel has used processor time.
  used_ = enclosure_.features.own_kernel;
  walls_.user = spec.as_root ? "root" : "user";
  walls_.network = spec.egress_port != 0 ? "rules" : "none";
  walls_.exec = spec.rules.exec.empty() ? "any" : "rules";
  drop_what_takes_mounts(write_rules_, "written");
  drop_what_takes_mounts(read_rules_, "read");
  walls_.write = write_rules_.empty() ? "any" : "rules";
  walls_.read = read_rules_.empty() ? "any" : "rules";
  if (std::ranges::any_of(write_rules_.closed, [](const std::string& place) {
        return place.starts_with(".git/hooks/");
      })) {
    // 'git init' copies examples of hooks, and gives up if it cannot.
    env_.insert(env_.begin(), {"GIT_TEMPLATE_DIR", ""});
  }
  if (!read_rules_.closed.empty()) {
    const Environment git = git_excludes_environment();
    env_.insert(env_.begin(), git.begin(), git.end());
  }
  if (spec.relay) {
    enclosure_.features.passes_descriptors = false;
    enclosure_.features.returns_descriptors = false;
  }
}

void Sandbox::drop_what_takes_mounts(PlaceRules& rules, std::string_view done) {
  if (!rules.closed.empty() && !enclosure_.features.own_root) {
    notes_.push_back("the " + tier_ + " tier has no mounts: '" + rules.closed.front() +
                     "' and what else the policy refuses can be " + std::string(done));
    rules.closed.clear();
  }
}

Result<std::unique_ptr<Sandbox>> Sandbox::create(const SandboxSpec& spec, const TierWish& wish) {
  GB_TRY(validate(spec.limits));
  const std::vector<Tier*> tiers = GB_TRY(candidate_tiers(wish));
  std::vector<std::string> notes;
  std::optional<Error> first;
  for (Tier* const tier : tiers) {
    auto enclosure = spec.deterministic && !tier->traits().is_deterministic
                         ? Result<Enclosure>(not_deterministic(*tier))
                         : tier->enclose(spec);
    std::optional<Error> error;
    if (enclosure) {
      std::unique_ptr<Sandbox> sandbox(
          new Sandbox(std::move(enclosure).value(), tier->name(), spec));
      // A machine or a runner of ours answers its guests' calls itself.
      if (!sandbox->enclosure_.features.own_kernel && !sandbox->enclosure_.runner) {
        name_watched(sandbox->id_, sandbox->enclosure_.pidfd.get());
      }
      auto stands = sandbox->await_walls();
      if (!stands) {
        stands = sandbox->with_complaints(std::move(stands).error());
      }
      if (stands && !sandbox->features().passes_descriptors) {
        stands = sandbox->relay_streams();
      }
      if (stands && spec.egress_port != 0 && !sandbox->enclosure_.way_out.listener) {
        stands = Error(ErrorCode::kUnavailable, "the sandbox passed no socket to listen on");
      }
      if (stands) {
        sandbox->notes_.insert(sandbox->notes_.begin(), notes.begin(), notes.end());
        return sandbox;
      }
      (void)sandbox->end();
      error = std::move(stands).error();
    } else {
      error = std::move(enclosure).error();
    }
    if (error->code() != ErrorCode::kUnsupported) {
      return *std::move(error);
    }
    notes.push_back("tier " + std::string(tier->name()) +
                    " could not be used: " + error->message());
    // Most people can fix what the tier that is tried first lacks.
    if (!first) {
      first = std::move(error);
    }
  }
  if (!first) {
    return Error(ErrorCode::kUnsupported, "no isolation tier is available");
  }
  return *std::move(first);
}

Error Sandbox::with_complaints(Error error) const {
  std::array<char, 4096> bytes;
  const ssize_t got =
      enclosure_.complaints ? ::read(enclosure_.complaints.get(), bytes.data(), bytes.size()) : 0;
  std::string_view said(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (said.ends_with('\n')) {
    said.remove_suffix(1);
  }
  if (said.empty()) {
    return error;
  }
  // Its last line: what comes before are warnings.
  const std::string last = printable(said.substr(said.rfind('\n') + 1));
  return {ErrorCode::kUnsupported, "set up the sandbox: " + last, std::string(kAskDoctor)};
}

Result<void> Sandbox::relay_streams() {
  relay_ = GB_TRY(StreamRelay::start(link_));
  return {};
}

Result<void> Sandbox::await_walls() {
  Stopwatch watch;
  const auto deadline = WardenLink::Clock::now() + kSetupPatience;
  WardenLink::Channel channel(link_, 0);
  warden::SetupReport setup;
  for (;;) {
    const Frame frame = GB_TRY(channel.receive(deadline));
    if (static_cast<warden::Reply>(frame.type) == warden::Reply::kSetup) {
      setup = GB_TRY(warden::SetupReport::decode(frame.payload));
      if (setup.failed_step != 0) {
        return setup_error(setup);
      }
      for (std::size_t step = 1; step + 1 < setup.step_us.size() && step < child::kSetupSteps;
           ++step) {
        timings_.push_back(
            {std::string(child::setup_step_name(static_cast<child::SetupStep>(step))),
             std::chrono::microseconds(setup.step_us[step])});
      }
      watch.lap("walls");
      continue;
    }
    if (static_cast<warden::Reply>(frame.type) == warden::Reply::kProcesses) {
      residents_ = GB_TRY(warden::ProcessesReport::decode(frame.payload)).processes;
      continue;
    }
    if (static_cast<warden::Reply>(frame.type) == warden::Reply::kDone) {
      const auto report = GB_TRY(warden::DoneReport::decode(frame.payload));
      return Error(ErrorCode::kUnsupported, "set up the sandbox: " + printable(report.error),
                   std::string(kAskDoctor));
    }
    if (static_cast<warden::Reply>(frame.type) != warden::Reply::kReady) {
      return Error(ErrorCode::kInternal, "the warden started with a frame of the wrong type");
    }
    const auto ready = GB_TRY(warden::ReadyReport::decode(frame.payload));
    enclosure_.setup.reset();
    GB_TRY(read_walls(ready, enclosure_, walls_));
    watch.lap("warden");
    const std::vector<Timing> laps = watch.laps();
    timings_.insert(timings_.end(), laps.begin(), laps.end());
    std::ranges::move(notes_on_walls(ready, enclosure_, walls_), std::back_inserter(notes_));
    return {};
  }
}

}  // namespace glovebox
