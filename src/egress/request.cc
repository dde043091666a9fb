// SPDX-License-Identifier: Apache-2.0
#include "egress/request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "spec/network_rules.h"

namespace glovebox::egress {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lowered;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, port);
  if (failure != std::errc{} || rest != end || text.front() == '0') {
    return std::nullopt;
  }
  return port;
}

// Headers that concern only the connection with us (RFC 9110, 7.6.1), or that are written anew.
bool is_for_us(std::string_view name, const http::Headers& headers) {
  constexpr std::array<std::string_view, 11> kNames = {"connection",
                                                       "content-length",
                                                       "host",
                                                       "keep-alive",
                                                       "proxy-authenticate",
                                                       "te",
                                                       "proxy-connection",
                                                       "trailer",
                                                       "upgrade",
                                                       "proxy-authorization",
                                                       "transfer-encoding"};
  return std::ranges::find(kNames, lower(name)) != kNames.end() ||
         http::has_token(headers, "connection", name);
}

// All of the head except what says how long the connection lasts, and the empty line.
std::string head_start(const Request& request, bool whole_url) {
  const std::string host = request.place.to_authority(request.secure ? kHttpsPort : kHttpPort);
  const http::Head& head = request.head;
  std::string text = head.method + " " + (whole_url ? "http://" + host : std::string()) +
                     head.target + " HTTP/1.1\r\nHost: " + host + "\r\n";
  for (const auto& [name, value] : head.headers) {
    if (!is_for_us(name, head.headers)) {
      text += name + ": " + value + "\r\n";
    }
  }
  if (head.chunked) {
    text += "Transfer-Encoding: chunked\r\n";
  } else if (head.content_length) {
    text += "Content-Length: " + std::to_string(*head.content_length) + "\r\n";
  }
  return text;
}

http::BadRequest bad(std::string message) { return {.message = std::move(message)}; }

}  // namespace

std::string Place::to_text() const {
  const bool bracketed = address && !address->v4;
  return (bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Place::to_authority(std::uint16_t usual_port) const {
  const std::string text = to_text();
  return port == usual_port ? text.substr(0, text.rfind(':')) : text;
}

std::optional<Place> parse_place(std::string_view text, std::uint16_t port) {
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  const std::string_view rest =
      end == std::string_view::npos ? std::string_view() : text.substr(end + (bracketed ? 1 : 0));
  Place place{.host = lower(host), .address = IpAddress::parse(host), .port = port};
  if (place.address) {
    place.host = place.address->to_text();
  }
  if (bracketed ? !place.address || place.address->v4 : !place.address && !is_host_name(host)) {
    return std::nullopt;
  }
  if (!rest.empty()) {
    const auto named =
        rest.size() > 1 && rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
    if (!named) {
      return std::nullopt;
    }
    place.port = *named;
  }
  return place.port == 0 ? std::nullopt : std::optional(std::move(place));
}

std::variant<Request, http::BadRequest> parse_request(std::string_view bytes) {
  auto parsed = http::parse_proxy_head(bytes);
  if (auto* const wrong = std::get_if<http::BadRequest>(&parsed)) {
    return std::move(*wrong);
  }
  auto& proxied = std::get<http::ProxyHead>(parsed);
  if (proxied.secure) {
    return bad("send CONNECT for an https:// URL: the proxy does not read what is encrypted");
  }
  if (proxied.head.method == "TRACE") {
    return http::BadRequest{.status = 405, .error = "invalid", .message = "TRACE is not allowed"};
  }
  const auto place = parse_place(proxied.authority, proxied.connect ? 0 : kHttpPort);
  if (!place) {
    return bad("'" + printable(proxied.authority.substr(0, 300)) +
               "' is not a host: send a name, or an address in its usual spelling" +
               (proxied.connect ? ", with :PORT" : ""));
  }
  if (const auto header = http::find_header(proxied.head.headers, "host")) {
    const auto named = parse_place(*header, proxied.connect ? place->port : kHttpPort);
    if (!named || named->host != place->host || named->port != place->port) {
      return bad("the request target and the Host header name different hosts");
    }
  }
  return Request{.connect = proxied.connect, .place = *place, .head = std::move(proxied.head)};
}

std::variant<Request, http::BadRequest> parse_request_at(const Place& place,
                                                         std::string_view bytes,
                                                         bool secure) {
  auto parsed = http::parse_head(bytes);
  if (auto* const wrong = std::get_if<http::BadRequest>(&parsed)) {
    return std::move(*wrong);
  }
  auto& head = std::get<http::Head>(parsed);
  if (head.method == "TRACE" || head.method == "CONNECT") {
    return http::BadRequest{.status = 405,
                            .error = "invalid",
                            .message = head.method + " is not allowed"};
  }
  if (!head.target.starts_with('/') && head.target != "*") {
    return bad("the request target is not a path");
  }
  const auto header = http::find_header(head.headers, "host");
  const auto named = header ? parse_place(*header, secure ? kHttpsPort : kHttpPort) : std::nullopt;
  if (!named || named->host != place.host || named->port != place.port) {
    return bad("the Host header does not name the host that was connected to");
  }
  return Request{.connect = false, .secure = secure, .place = place, .head = std::move(head)};
}

void drop_hop_by_hop(http::Head& head) {
  std::erase_if(head.headers,
                [all = head.headers](const auto& header) { return is_for_us(header.first, all); });
}

std::string onward_head(const Request& request, const Upstream* upstream) {
  std::string text = head_start(request, upstream != nullptr);
  if (upstream != nullptr && !upstream->credentials.empty()) {
    text += "Proxy-Authorization: Basic " + upstream->credentials + "\r\n";
  }
  return text + "Connection: close\r\n\r\n";
}

std::string kept_head(const Request& request) {
  std::string text = head_start(request, false);
  if (request.head.upgrade) {
    text += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  } else if (!request.head.keep_alive) {
    text += "Connection: close\r\n";
  }
  return text + "\r\n";
}

std::string tunnel_head(const Place& place, const Upstream& upstream) {
  const std::string host = place.to_text();
  return "CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n" +
         (upstream.credentials.empty()
              ? std::string()
              : "Proxy-Authorization: Basic " + upstream.credentials + "\r\n") +
         "\r\n";
}

std::string frame_piece(const Request& request, std::string_view piece) {
  if (!request.head.chunked) {
    return std::string(piece);
  }
  std::array<char, 16> digits{};
  const auto [end, failure] =
      std::to_chars(digits.data(), digits.data() + digits.size(), piece.size(), 16);
  (void)failure;  // There is room for any size.
  return std::string(digits.data(), end) + "\r\n" + std::string(piece) + "\r\n";
}

}  // namespace glovebox::egress
