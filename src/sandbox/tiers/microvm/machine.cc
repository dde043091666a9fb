// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/microvm/machine.h"

#include <sys/socket.h>

#include <chrono>

#include "sandbox/child/plan.h"
#include "sandbox/microvm/template_files.h"
#include "sandbox/policy/policy.h"
#include "sandbox/tiers/microvm/machine_template.h"
#include "spec/warden_protocol.h"

namespace glovebox::microvm {
namespace {

using Clock = WardenLink::Clock;

constexpr std::chrono::seconds kPatience{30};
constexpr std::uint32_t kOpenFiles = 1024;

}  // namespace

Result<std::unique_ptr<Machine>> Machine::start(Enclosure& native,
                                                const std::vector<std::string>& command,
                                                const std::array<int, 3>& descriptors,
                                                Port& port) {
  std::unique_ptr<Machine> machine(new Machine(std::move(native.control), port));
  GB_TRY(machine->await_walls());
  native.setup.reset();
  const policy::Filter filter = policy::guest_filter();
  warden::StartRequest request{.argv = command,
                               .env = {"PATH=/usr/bin:/bin", "G_SLICE=always-malloc"},
                               .cwd = "/",
                               .open_files = kOpenFiles,
                               .streams = warden::Streams::kAgent};
  request.filter.assign(reinterpret_cast<const char*>(filter.data()), filter.size_bytes());
  WardenLink::Channel channel(machine->warden_);
  channel.send(warden::Request::kStart, request.encode(), descriptors);
  const Frame frame = GB_TRY(channel.receive(Clock::now() + kPatience));
  if (static_cast<warden::Reply>(frame.type) != warden::Reply::kStarted) {
    const auto ended = GB_TRY(warden::EndedReport::decode(frame.payload));
    return Error::from_errno("start " + command.front(), ended.start_error);
  }
  return machine;
}

Result<void> Machine::await_walls() {
  WardenLink::Channel channel(warden_, 0);
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    const Frame frame = GB_TRY(channel.receive(deadline));
    if (static_cast<warden::Reply>(frame.type) == warden::Reply::kSetup) {
      const auto setup = GB_TRY(warden::SetupReport::decode(frame.payload));
      if (setup.failed_step != 0) {
        const auto step = static_cast<child::SetupStep>(setup.failed_step);
        return Error::from_errno("build the walls around the machine: step " +
                                     std::string(child::setup_step_name(step)),
                                 setup.error)
            .with_hint(std::string(kAskDoctor));
      }
      continue;
    }
    if (static_cast<warden::Reply>(frame.type) != warden::Reply::kReady) {
      return Error(ErrorCode::kInternal, "the warden started with a frame of the wrong type");
    }
    const auto ready = GB_TRY(warden::ReadyReport::decode(frame.payload));
    if (ready.seccomp_mode != 2 || !ready.no_new_privs || !ready.no_capabilities) {
      return Error(ErrorCode::kInternal, "the machine would start without all of its walls");
    }
    return {};
  }
}

Result<void> Machine::save(const std::string& directory, bool goes_on) {
  const auto quiet = port_.quiet();
  const auto say = [this](Saving what) {
    const char byte = static_cast<char>(what);
    return ::send(saving_.get(), &byte, 1, MSG_NOSIGNAL) == 1
               ? Result<void>()
               : Error::from_errno("tell the machine to be saved");
  };
  GB_TRY(say(Saving::kSave));
  GB_TRY(receive_machine(saving_.get(), directory, memory_));
  return goes_on ? say(Saving::kGoOn) : Result<void>();
}

Result<void> Machine::remove() {
  warden_.close();
  return {};
}

}  // namespace glovebox::microvm
