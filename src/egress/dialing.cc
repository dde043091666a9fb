// SPDX-License-Identifier: Apache-2.0
#include "egress/dialing.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "egress/session.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

tcp::endpoint endpoint_of(const IpAddress& address, std::uint16_t port) {
  if (address.v4) {
    asio::ip::address_v4::bytes_type bytes{};
    std::memcpy(bytes.data(), address.bytes.data(), bytes.size());
    return {asio::ip::address_v4(bytes), port};
  }
  asio::ip::address_v6::bytes_type bytes{};
  std::memcpy(bytes.data(), address.bytes.data(), bytes.size());
  return {asio::ip::address_v6(bytes), port};
}

}  // namespace

asio::awaitable<Dialed> Dialing::connect(const Request& request, const Route& route) {
  dialed_.upstream = route.upstream;
  if (route.way == Route::Way::kDirect) {
    co_await connect_direct(request.place);
  } else {
    co_await connect_upstream(request);
  }
  co_return std::move(dialed_);
}

asio::awaitable<void> Dialing::connect_direct(const Place& place) {
  std::vector<IpAddress> addresses;
  if (place.address) {
    addresses.push_back(*place.address);
  } else {
    addresses = co_await look_up(place.host);
    if (addresses.empty()) {
      co_return;
    }
  }
  const Surroundings& here = session_.surroundings();
  Candidates candidates = allowed_addresses(here.order, place, addresses, here.owner_of);
  session_.record().rule = std::move(candidates.rule);
  if (candidates.allowed.empty()) {
    session_.record().verdict = ConnectionRecord::Verdict::kDenied;
    session_.record().address = addresses.front().to_text();
    co_return;
  }
  // What was checked is what is dialed: nobody looks the name up again.
  dialed_.open = co_await dial_any(candidates.allowed, place.port);
}

asio::awaitable<void> Dialing::connect_upstream(const Request& request) {
  ConnectionRecord& record = session_.record();
  record.upstream = true;
  // The operator's own proxy may have any address, so no rule is asked about it.
  std::vector<IpAddress> addresses;
  if (const auto address = IpAddress::parse(dialed_.upstream->host)) {
    addresses.push_back(*address);
  } else {
    addresses = co_await look_up(dialed_.upstream->host);
  }
  const bool reached = co_await dial_any(addresses, dialed_.upstream->port);
  record.address.clear();
  if (reached && request.connect) {
    co_await open_tunnel(request.place);
  } else if (reached) {
    dialed_.open = true;
  } else if (session_.guest().is_open()) {
    record.reason = "the proxy of this host cannot be reached: " + record.reason;
  }
}

asio::awaitable<std::vector<IpAddress>> Dialing::look_up(std::string name) {
  // The answer may come after the session has ended, so both keep alive what it is put into.
  struct Waiting {
    explicit Waiting(asio::io_context& loop) : told(loop) {}
    asio::steady_timer told;
    std::vector<IpAddress> addresses;
    std::string failure;
    bool done = false;
  };
  const auto waiting = std::make_shared<Waiting>(session_.surroundings().loop);
  waiting->told.expires_at(asio::steady_timer::time_point::max());
  session_.give(2 * session_.bounds().for_dial);  // The resolver gives up earlier.
  session_.surroundings().resolver.resolve(name, [waiting](Result<std::vector<IpAddress>> found) {
    waiting->done = true;
    if (found) {
      waiting->addresses = std::move(found).value();
    } else {
      waiting->failure = found.error().message();
    }
    waiting->told.cancel();
  });
  if (!waiting->done) {
    error_code ignored;
    co_await waiting->told.async_wait(with(ignored));
  }
  if (waiting->addresses.empty()) {
    session_.record().reason = waiting->failure;
  }
  co_return std::move(waiting->addresses);
}

// One after the other, until one answers or the guest is gone.
asio::awaitable<bool> Dialing::dial_any(const std::vector<IpAddress>& addresses,
                                        std::uint16_t port) {
  bool open = false;
  for (auto next = addresses.begin(); !open && next != addresses.end(); ++next) {
    if (!session_.guest().is_open()) {
      break;
    }
    open = co_await dial(*next, port);
  }
  co_return open;
}

asio::awaitable<bool> Dialing::dial(IpAddress address, std::uint16_t port) {
  ConnectionRecord& record = session_.record();
  record.address = address.to_text();
  const error_code error = co_await session_.connect(endpoint_of(address, port));
  if (!error) {
    record.reason.clear();
    co_return true;
  }
  const bool late = error == asio::error::operation_aborted;
  dialed_.refusal = late ? 504 : 502;
  record.reason = late ? "no answer in time" : "connect: " + error.message();
  co_return false;
}

// Asks the upstream for a tunnel, and reads no further than its answer's head and what came with
// it.
asio::awaitable<void> Dialing::open_tunnel(const Place& place) {
  session_.give(2 * session_.bounds().for_dial);
  const std::string asked = tunnel_head(place, *dialed_.upstream);
  std::string& answer = dialed_.early;
  error_code error;
  co_await asio::async_write(session_.server(), asio::buffer(asked), with(error));
  std::size_t searched = 0;
  std::optional<std::size_t> end;
  std::array<char, 4096> block{};
  while (!error && !(end = http::end_of_head(answer, searched)) &&
         answer.size() < session_.bounds().head) {
    const std::size_t got =
        co_await session_.server().async_read_some(asio::buffer(block), with(error));
    answer.append(block.data(), error ? 0 : got);
  }
  // "HTTP/1.1 200 …"; any 2xx opens the tunnel (RFC 9110, 9.3.6).
  constexpr std::string_view kStart = "HTTP/1.";
  const bool understood = end && answer.starts_with(kStart);
  dialed_.open = understood && answer.size() > 12 && answer[9] == '2';
  if (dialed_.open) {
    answer.erase(0, *end);
    co_return;
  }
  const std::string status = understood ? " with status " + answer.substr(9, 3) : "";
  session_.record().reason = "the proxy of this host refused the connection" + status;
}

}  // namespace glovebox::egress
