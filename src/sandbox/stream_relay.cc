// SPDX-License-Identifier: Apache-2.0
#include "sandbox/stream_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <array>
#include <system_error>
#include <utility>

namespace glovebox {
namespace {

void kill(WardenLink::Channel& channel) {
  const warden::SignalRequest killing{.signal = SIGKILL};
  channel.send(warden::Request::kSignal, killing.encode());
}

}  // namespace

Result<std::unique_ptr<StreamRelay>> StreamRelay::start(WardenLink& link) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd lost(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake || !lost) {
    return Error::from_errno("eventfd");
  }
  std::unique_ptr<StreamRelay> relay(new StreamRelay(link, std::move(wake), std::move(lost)));
  try {
    relay->thread_ = std::thread(&StreamRelay::run, relay.get());
  } catch (const std::system_error& error) {
    return Error::from_errno("start a thread", error.code().value());
  }
  link.listen_by(relay->wake_.get());
  return relay;
}

StreamRelay::StreamRelay(WardenLink& link, UniqueFd wake, UniqueFd lost)
    : link_(link), wake_(std::move(wake)), lost_fd_(std::move(lost)) {}

StreamRelay::~StreamRelay() { stop(); }

void StreamRelay::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  (void)::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) {
    thread_.join();
  }
  link_.listen_by(-1);
}

Result<std::unique_ptr<WardenLink::Channel>> StreamRelay::add(
    std::unique_ptr<WardenLink::Channel> channel,
    warden::Streams streams,
    std::span<const int> descriptors,
    UntakenInput untaken) {
  std::vector<UniqueFd> ours;
  for (const int fd : descriptors) {
    ours.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!ours.back()) {
      Error error = Error::from_errno("relay a stream");
      kill(*channel);
      return error;
    }
  }
  channel->wake_by(-1);  // The relay looks at each after it has listened.
  auto heard = std::make_unique<WardenLink::Channel>(*channel);
  WardenLink::Channel& wire = *channel;
  std::list<Relayed> added;
  added.push_back(
      {.channel = std::move(channel),
       .heard_on = heard->key(),
       .process = RelayedProcess(
           streams, std::move(ours),
           [&wire](warden::Request type, std::string_view payload) { wire.send(type, payload); },
           untaken)});
  {
    const std::scoped_lock lock(mutex_);
    if (!lost_) {
      added_.splice(added_.end(), added);
    }
  }
  (void)::eventfd_write(wake_.get(), 1);
  return heard;
}

bool StreamRelay::serve(Relayed& relayed) {
  for (;;) {
    const auto frame = relayed.channel->poll();
    if (!frame || (frame.value() && !relayed.process.take(*frame.value()))) {
      // The warden is gone, or the guest has taken it over: nothing of this process is believed.
      kill(*relayed.channel);
      if (!relayed.told) {
        const warden::EndedReport killed{.wait_status = SIGKILL};
        link_.hand_on(relayed.heard_on, warden::Reply::kEnded, killed.encode());
      }
      return false;
    }
    if (!frame.value()) {
      break;
    }
  }
  if (relayed.process.take_settled()) {
    link_.hand_on(relayed.heard_on, warden::Reply::kSettled, {});
  }
  if (const std::string* const ended = relayed.process.ended(); ended != nullptr && !relayed.told) {
    relayed.told = true;
    link_.hand_on(relayed.heard_on, warden::Reply::kEnded, *ended);
  }
  return !relayed.process.over();
}

void StreamRelay::run() {
  // A stream that nobody reads any more is an error of the call.
  sigset_t pipe;
  (void)::sigemptyset(&pipe);
  (void)::sigaddset(&pipe, SIGPIPE);
  (void)::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  std::list<Relayed> all;
  std::vector<pollfd> polled;
  for (bool living = true; living;) {
    {
      const std::scoped_lock lock(mutex_);
      all.splice(all.end(), added_);
      living = !stopping_;
      lost_ = link_.lost();
      living = living && !lost_;
    }
    // Before waiting: frames may have come for them before they were added.
    std::erase_if(all, [this](Relayed& relayed) { return !serve(relayed); });
    polled.assign({{wake_.get(), POLLIN, 0}, link_.watch()});
    for (const Relayed& relayed : all) {
      const auto watched = relayed.process.watch();
      polled.insert(polled.end(), watched.begin(), watched.end());
    }
    // At the end as well: what has come is passed on as far as possible.
    if (::poll(polled.data(), polled.size(), living ? -1 : 0) < 0) {
      continue;
    }
    if (polled[0].revents != 0) {
      eventfd_t times = 0;
      (void)::eventfd_read(wake_.get(), &times);
    }
    auto found = std::span<const pollfd>(polled).subspan(2);
    for (Relayed& relayed : all) {
      relayed.process.pass(found.first<RelayedProcess::kWatched>());
      found = found.subspan(RelayedProcess::kWatched);
    }
    if (polled[1].revents != 0) {
      link_.hear();
    }
  }
  all.clear();
  (void)::eventfd_write(lost_fd_.get(), 1);
}

}  // namespace glovebox
