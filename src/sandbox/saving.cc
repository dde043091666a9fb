// SPDX-License-Identifier: Apache-2.0
// A sandbox that is saved with the memory of its processes, and one that continues it.
#include <signal.h>

#include <algorithm>
#include <utility>

#include "sandbox/sandbox.h"
#include "sandbox/saved_files.h"
#include "sandbox/stream_relay.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// For what the warden does at once unless the machine is starved.
constexpr auto kRestPatience = 30s;

// Tells the warden that somebody reads the process's streams, and takes this much of each.
void claim(WardenLink& link, std::uint32_t channel) {
  for (const auto stream :
       {warden::Stream::kOut, warden::Stream::kErr, warden::Stream::kFromChannel}) {
    const warden::StreamReport report{.stream = stream, .bytes = warden::kOutputWindow};
    link.send(warden::Request::kTaken, channel, report.encode());
  }
}

Result<void> await_rest(WardenLink::Channel& channel) {
  const auto deadline = WardenLink::Clock::now() + kRestPatience;
  while (static_cast<warden::Reply>(GB_TRY(channel.receive(deadline)).type) !=
         warden::Reply::kResting) {
  }
  return {};
}

}  // namespace

Result<void> Sandbox::save(const std::string& directory, Seal seal) {
  Tier* const tier = GB_TRY(tier_named(tier_));
  if (!enclosure_.features.snapshots_memory) {
    return tier->save(enclosure_, directory, Tier::Afterwards::kEnds);  // Which says why it cannot.
  }
  {
    WardenLink::Channel channel(link_);
    link_.rest(channel.number());
    GB_TRY(await_rest(channel));
  }
  // Once this has stopped, all that came before has reached its reader.
  relay_->stop();
  auto saved = tier->save(enclosure_, directory, Tier::Afterwards::kEnds);
  kill();
  GB_TRY(std::move(saved));
  return seal == Seal::kSealed ? seal_saved_files(directory, tier_) : Result<void>();
}

Result<void> Sandbox::copy(const std::string& directory) {
  Tier* const tier = GB_TRY(tier_named(tier_));
  if (!enclosure_.features.snapshots_memory) {
    return tier->save(enclosure_, directory, Tier::Afterwards::kGoesOn);  // Which says why.
  }
  WardenLink::Channel channel(link_);
  link_.rest_a_while(channel.number());
  auto copied = await_rest(channel);
  if (copied) {
    copied = tier->save(enclosure_, directory, Tier::Afterwards::kGoesOn);
  }
  link_.go_on();
  return copied;
}

Result<std::unique_ptr<Sandbox>> Sandbox::load(const SandboxSpec& spec,
                                               std::string_view tier,
                                               const std::string& directory,
                                               Seal seal) {
  GB_TRY(validate(spec.limits));
  Tier* const chosen = GB_TRY(tier_named(tier));
  if (seal == Seal::kSealed) {
    GB_TRY(check_saved_files(directory, tier));
  }
  std::unique_ptr<Sandbox> sandbox(new Sandbox(GB_TRY(chosen->load(spec, directory)), tier, spec));
  sandbox->link_.send(warden::Request::kWake, 0, {});
  if (auto stands = sandbox->await_walls(); !stands) {
    return sandbox->with_complaints(std::move(stands).error());
  }
  GB_TRY(sandbox->relay_streams());
  return sandbox;
}

Result<std::unique_ptr<GuestProcess>> Sandbox::adopt(const Resident& resident,
                                                     std::span<const int> descriptors) {
  if (descriptors.size() != warden::descriptors_of(resident.streams)) {
    return Error(ErrorCode::kInvalid, "a process of a saved sandbox has other streams");
  }
  auto channel = GB_TRY(relay_->add(
      std::make_unique<WardenLink::Channel>(link_, resident.channel), resident.streams, descriptors,
      {.in = resident.waiting_in, .to_channel = resident.waiting_to_channel}));
  claim(link_, resident.channel);
  const std::uint32_t pid = resident.pid;
  std::erase_if(residents_, [number = resident.channel](const Resident& each) {
    return each.channel == number;
  });
  return std::make_unique<GuestProcess>(std::move(channel), pid, /*relayed=*/true);
}

void Sandbox::dismiss(const Resident& resident) {
  const std::uint32_t channel = resident.channel;
  const warden::SignalRequest killing{.signal = SIGKILL};
  link_.send(warden::Request::kSignal, channel, killing.encode());
  claim(link_, channel);
  std::erase_if(residents_, [&](const Resident& each) { return each.channel == channel; });
}

}  // namespace glovebox
