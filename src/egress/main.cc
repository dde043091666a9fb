// SPDX-License-Identifier: Apache-2.0
// glovebox-egress: the only way out of one sandbox. On descriptor 0 the socket to glovebox
// (spec/egress_protocol.h), on 1 a socket that listens in the sandbox's network namespace, on 3 one
// that gets questions about names there.
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
#include "egress/owner.h"
#include "egress/proxy.h"
#include "egress/recorder.h"
#include "egress/resolver.h"

namespace glovebox::egress {
namespace {

constexpr int kControl = STDIN_FILENO;
constexpr int kListener = STDOUT_FILENO;
constexpr int kNames = 3;
// For the records of what is cut at the end.
constexpr std::chrono::milliseconds kLastWords{1'000};

Result<Order> read_order() {
  FrameParser parser;
  std::array<char, 64 * 1024> block{};
  for (;;) {
    Frame frame;
    if (GB_TRY(parser.next(frame))) {
      return frame.type == static_cast<std::uint8_t>(Message::kOrder)
                 ? Order::decode(frame.payload)
                 : Error(ErrorCode::kInvalid, "glovebox sent no order");
    }
    const ssize_t got = ::read(kControl, block.data(), block.size());
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return Error(ErrorCode::kUnavailable, "glovebox has gone");
    }
    parser.feed({block.data(), static_cast<std::size_t>(got > 0 ? got : 0)});
  }
}

Result<void> serve() {
  const Order order = GB_TRY(read_order());
  GB_TRY(take_identity(order.identity));
  const std::unique_ptr<DnsResolver> resolver = GB_TRY(DnsResolver::make(order.name_servers));
  GB_TRY(confine());
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
  Proxy proxy(
      {.loop = loop,
       .order = order,
       .resolver = *resolver,
       .owner_of = owner_of,
       .tell = [&recorder](const ConnectionRecord& connection) { recorder.tell(connection); },
       .may_accept = [&recorder] { return !recorder.full(); }},
      kListener, kNames);
  running = &proxy;
  proxy.start();
  recorder.ready();
  loop.run();
  if (over) {
    loop.restart();
    loop.run_for(kLastWords);
  }
  // What waits for an answer still refers to what is about to go.
  ::_exit(0);
}

}  // namespace
}  // namespace glovebox::egress

int main() { ::_exit(glovebox::confined::exit_status_of(glovebox::egress::serve())); }
