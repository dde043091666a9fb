// SPDX-License-Identifier: Apache-2.0
// glovebox-egress: the only way out of one sandbox. Descriptor 0 is the socket to glovebox
// (spec/egress_protocol.h), 1 a socket that listens in the sandbox's network namespace, and 3 a
// socket that receives questions about names there.
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

#include "base/confined/confine.h"
#include "base/frame.h"
#include "egress/confinement.h"
#include "egress/credentials.h"
#include "egress/owner.h"
#include "egress/playback.h"
#include "egress/proxy.h"
#include "egress/recorder.h"
#include "egress/recording.h"
#include "egress/resolver.h"
#include "egress/taping.h"
#include "egress/tls.h"

namespace glovebox::egress {
namespace {

constexpr int kControl = STDIN_FILENO;
constexpr int kListener = STDOUT_FILENO;
constexpr int kNames = 3;
// For the records of connections that are cut at the end.
constexpr std::chrono::milliseconds kLastWords{1'000};
constexpr std::size_t kMostLeft = 20;

// The payload of the next message, which must be `wanted`.
Result<std::string> read_message(FrameParser& parser, Message wanted) {
  std::array<char, 64 * 1024> block{};
  for (;;) {
    Frame frame;
    if (GB_TRY(parser.next(frame))) {
      return frame.type == static_cast<std::uint8_t>(wanted)
                 ? Result<std::string>(std::string(frame.payload))
                 : Error(ErrorCode::kInvalid, "glovebox sent no order");
    }
    const ssize_t got = ::read(kControl, block.data(), block.size());
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return Error(ErrorCode::kUnavailable, "glovebox has ended");
    }
    parser.feed({block.data(), static_cast<std::size_t>(got > 0 ? got : 0)});
  }
}

// What was recorded and has not been asked for again.
void tell_left(const Playback& playback, Recorder& recorder) {
  std::size_t told = 0;
  playback.each_left([&](const RecordedExchange& left) {
    if (++told <= kMostLeft) {
      ConnectionRecord missing;
      missing.host = left.place.host;
      missing.port = left.place.port;
      missing.rule = kRecordingRule;
      missing.reason = left.to_text() + " is in the recording, and was not made";
      recorder.tell(missing);
    }
  });
}

Result<void> serve() {
  FrameParser parser;
  const Order order = GB_TRY(Order::decode(GB_TRY(read_message(parser, Message::kOrder))));
  Credentials credentials;
  std::string trust;
  if (order.has_credentials) {
    credentials = GB_TRY(Credentials::decode(GB_TRY(read_message(parser, Message::kCredentials))));
    trust = GB_TRY(read_message(parser, Message::kTrust));
  }
  const bool replays = order.taping == Taping::kReplay;
  std::string recorded;
  for (bool more = replays; more;) {
    const std::string piece = GB_TRY(read_message(parser, Message::kRecording));
    recorded += piece;
    more = !piece.empty() && recorded.size() <= kMostRecorded;
  }
  GB_TRY(take_identity(order.identity));
  const CredentialFiller filler(credentials);
  const std::unique_ptr<TlsAuthority> authority =
      credentials.authority_key.empty() ? nullptr : GB_TRY(TlsAuthority::make(credentials, trust));
  const std::unique_ptr<DnsResolver> resolver = GB_TRY(DnsResolver::make(order.name_servers));
  GB_TRY(confine(replays ? Reach::kNone : Reach::kOut));
  Playback playback(replays ? GB_TRY(Recording::parse(recorded)) : Recording());
  boost::asio::io_context loop(1);
  resolver->run_on(loop);
  Proxy* running = nullptr;
  bool over = false;
  Recorder recorder(loop, kControl, [&] {
    over = true;
    if (running != nullptr) {
      running->stop();
    }
    loop.stop();
  });
  Tape tape(
      order.recorded_bytes, [&recorder](std::string_view bytes) { recorder.keep(bytes); },
      [&recorder] { recorder.cut(); });
  Proxy proxy(
      {.loop = loop,
       .order = order,
       .resolver = *resolver,
       .owner_of = replays ? OwnerOf([](const IpAddress&) { return AddressOwner::kOther; })
                           : OwnerOf(owner_of),
       .tell = [&recorder](const ConnectionRecord& connection) { recorder.tell(connection); },
       .may_accept = [&recorder] { return !recorder.full(); },
       .filler = order.has_credentials ? &filler : nullptr,
       .authority = authority.get(),
       .tape = order.taping == Taping::kRecord ? &tape : nullptr,
       .playback = replays ? &playback : nullptr,
       .bounds = Bounds().within(order.budget)},
      kListener, kNames);
  running = &proxy;
  proxy.start();
  recorder.ready();
  loop.run();
  if (over) {
    tell_left(playback, recorder);
    loop.restart();
    loop.run_for(kLastWords);
  }
  // Coroutines that wait for an answer still refer to objects that are about to be destroyed.
  ::_exit(0);
}

}  // namespace
}  // namespace glovebox::egress

int main() { ::_exit(glovebox::confined::exit_status_of(glovebox::egress::serve())); }
