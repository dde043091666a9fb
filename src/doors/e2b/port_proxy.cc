// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/port_proxy.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "doors/e2b/answers.h"
#include "doors/e2b/guest_http.h"
#include "doors/e2b/network.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kPiece = 64 * 1024;

constexpr std::array<std::string_view, 14> kNotForGuests{
    "host",           "connection",
    "keep-alive",     "te",
    "trailer",        "upgrade",
    "expect",         "transfer-encoding",
    "content-length", "proxy-connection",
    "e2b-sandbox-id", "e2b-sandbox-port",
    "x-access-token", "e2b-traffic-access-token"};

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

bool wants_upgrade(const http::Request& request) { return request.header("Upgrade").has_value(); }

Result<void> send_body(http::Request& request, GuestHttp& guest) {
  const bool chunked = !request.content_length() && request.header("Transfer-Encoding");
  std::vector<char> piece(kPiece);
  for (;;) {
    const std::size_t got = GB_TRY(request.read(piece));
    std::string bytes;
    if (chunked) {
      std::array<char, 24> size{};
      (void)std::snprintf(size.data(), size.size(), "%zx\r\n", got);
      bytes = size.data();
    }
    bytes.append(piece.data(), got);
    bytes += chunked ? "\r\n" : "";
    if (auto sent = guest.write(bytes); !sent || got == 0) {
      return sent;
    }
  }
}

void give_back(GuestHttp& guest, const GuestHttp::Head& head, http::Response& response) {
  http::Headers headers = head.headers;
  if (!head.has_body) {
    (void)response.send(head.status, headers, "");
    return;
  }
  if (head.length) {
    headers.emplace_back("Content-Length", std::to_string(*head.length));
  }
  if (!response.start(head.status, headers)) {
    return;
  }
  std::vector<char> piece(kPiece);
  for (;;) {
    const auto got = guest.read_body(piece);
    if (!got) {
      response.abort();
      return;
    }
    if (*got == 0) {
      (void)response.finish();
      return;
    }
    if (!response.write({piece.data(), *got})) {
      return;
    }
  }
}

}  // namespace

std::string guest_request_head(const http::Request& request, const Visit& visit, bool upgrades) {
  std::string host(request.header("Host").value_or("localhost"));
  const Json network = told_network(visit.info.network);
  if (const Json* mask = member(network, "maskRequestHost"); mask != nullptr && mask->is_string()) {
    host = mask->get<std::string>();
    std::erase_if(host, [](char c) { return c <= ' ' || c > '~'; });
  }
  std::string head = std::string(request.method()) + " " + std::string(request.target()) +
                     " HTTP/1.1\r\nHost: " + host + "\r\n";
  for (const auto& [name, value] : request.headers()) {
    const bool ours = std::ranges::any_of(
        kNotForGuests, [&](std::string_view each) { return same_name(name, each); });
    if (!ours) {
      head += name + ": " + value + "\r\n";
    }
  }
  if (const auto length = request.content_length()) {
    head += "Content-Length: " + std::to_string(*length) + "\r\n";
  } else if (request.header("Transfer-Encoding")) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  if (upgrades) {
    head += "Connection: Upgrade\r\nUpgrade: " + std::string(*request.header("Upgrade")) + "\r\n";
  } else {
    head += "Connection: close\r\n";
  }
  return head + "\r\n";
}

void PortProxy::serve(std::uint16_t port,
                      const Visit& visit,
                      http::Request& request,
                      http::Response& response) {
  auto files = service_.files(visit.caller, visit.info.id);
  auto connection = files ? files->connect(port) : Result<UniqueFd>(files.error());
  if (!connection) {
    answer(response, 502,
           {{"sandboxId", visit.info.id},
            {"message", "The sandbox is running but port is not open"},
            {"port", port},
            {"code", 502}});
    return;
  }
  const bool upgrades = wants_upgrade(request);
  const std::string head = guest_request_head(request, visit, upgrades);
  if (upgrades) {
    (void)response.relay(std::move(*connection), head);
    return;
  }
  GuestHttp guest(std::move(*connection), request.gone_fd());
  const auto answered = [&]() -> Result<GuestHttp::Head> {
    if (auto sent = guest.write(head); !sent) {
      return sent.error();
    }
    if (auto sent = send_body(request, guest); !sent) {
      return sent.error();
    }
    return guest.read_head(request.method() == "HEAD");
  }();
  if (answered) {
    give_back(guest, *answered, response);
  } else {
    refuse_traffic(response, 502, visit.info.id, answered.error().message());
  }
}

}  // namespace glovebox::e2b
