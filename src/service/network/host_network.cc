// SPDX-License-Identifier: Apache-2.0
#include "service/network/host_network.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/base64.h"
#include "base/text.h"
#include "spec/network_rules.h"

namespace glovebox {
namespace {

constexpr std::uint16_t kDnsPort = 53;

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failure == std::errc{} && rest == text.data() + text.size() && port != 0
             ? std::optional(port)
             : std::nullopt;
}

std::vector<std::string_view> words(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) {
      found.push_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

// HOST[:PORT] as URLs have it; the port is 0 if it is absent.
struct HostPort {
  std::string_view host;
  std::uint16_t port = 0;
};
std::optional<HostPort> split_port(std::string_view text) {
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == std::string_view::npos) {
    return std::nullopt;
  }
  HostPort split{.host = bracketed ? text.substr(1, end - 1) : text.substr(0, end)};
  const std::string_view rest =
      end == std::string_view::npos ? std::string_view() : text.substr(end + (bracketed ? 1 : 0));
  if (rest.empty() || rest == ":") {
    return split;
  }
  const auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) {
    return std::nullopt;
  }
  split.port = *port;
  return split;
}

// RFC 3986, 2.1.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (text.size() - i < 3 || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) {
      return std::nullopt;
    }
    decoded.push_back(static_cast<char>(value));
    i += 2;
  }
  return decoded;
}

Result<std::vector<egress::Endpoint>> parse_name_server_list(std::string_view list) {
  std::vector<egress::Endpoint> servers;
  for (const std::string_view word : words(list, ", ")) {
    auto address = IpAddress::parse(word);
    std::uint16_t port = kDnsPort;
    if (!address) {
      const auto split = split_port(word);
      address = split ? IpAddress::parse(split->host) : std::nullopt;
      port = split && split->port != 0 ? split->port : kDnsPort;
    }
    if (!address || servers.size() == egress::Order::kMaxNameServers) {
      return Error(ErrorCode::kInvalid,
                   "GLOVEBOX_NAME_SERVERS: invalid name server '" + printable(word) + "'",
                   "list at most 8 of ADDRESS or ADDRESS:PORT, with commas between them");
    }
    servers.push_back({.address = *address, .port = port});
  }
  return servers;
}

std::string read_all(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<std::optional<egress::Upstream>> upstream_from(const Variable& variable,
                                                      const char* lower,
                                                      const char* upper) {
  for (const char* const name : {lower, upper}) {
    const auto url = variable(name);
    if (url && !url->empty()) {
      auto upstream = parse_upstream(*url);
      // The URL may contain a password, so it is not shown.
      return upstream ? Result<std::optional<egress::Upstream>>(std::move(upstream).value())
                      : std::move(upstream).error().within(name);
    }
  }
  return std::optional<egress::Upstream>();
}

}  // namespace

std::vector<egress::Endpoint> parse_name_servers(std::string_view resolv_conf) {
  std::vector<egress::Endpoint> servers;
  for (const std::string_view line : words(resolv_conf, "\n")) {
    const std::vector<std::string_view> parts = words(line, " \t\r");
    if (parts.size() < 2 || parts[0] != "nameserver" ||
        servers.size() == egress::Order::kMaxNameServers) {
      continue;
    }
    if (const auto address = IpAddress::parse(parts[1])) {
      servers.push_back({.address = *address, .port = kDnsPort});
    }
  }
  return servers;
}

Result<egress::Upstream> parse_upstream(std::string_view url) {
  const auto wrong = [](std::string message) {
    return Error(ErrorCode::kInvalid, std::move(message),
                 "set it to http://HOST:PORT or http://USER:PASSWORD@HOST:PORT");
  };
  constexpr std::string_view kScheme = "http://";
  if (url.find("://") == std::string_view::npos) {
    // As curl and others take it.
  } else if (!url.starts_with(kScheme)) {
    return wrong("only proxies with http:// are supported");
  } else {
    url.remove_prefix(kScheme.size());
  }
  url = url.substr(0, url.find('/'));
  egress::Upstream upstream;
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) {
    const auto user = percent_decoded(url.substr(0, at));
    if (!user) {
      return wrong("the user or the password of the proxy is malformed");
    }
    upstream.credentials = to_base64(*user);
    url.remove_prefix(at + 1);
  }
  const auto split = split_port(url);
  if (!split || (!IpAddress::parse(split->host) && !is_host_name(split->host))) {
    return wrong("the host of the proxy is malformed");
  }
  constexpr std::uint16_t kUsual = 80;
  upstream.host = split->host;
  upstream.port = split->port == 0 ? kUsual : split->port;
  return upstream;
}

std::vector<NetworkRule> parse_no_proxy(std::string_view list) {
  std::vector<NetworkRule> rules;
  const auto add = [&rules](const std::string& text) {
    auto rule = NetworkRule::parse(text);
    if (rule && rules.size() < NetworkRules::kMaxRules) {
      rules.push_back(std::move(rule).value());
    }
  };
  for (std::string_view word : words(list, ", ")) {
    if (word == "*") {
      return {};
    }
    if (IpBlock::parse(word)) {
      add(std::string(word));
      continue;
    }
    word.remove_prefix(word.starts_with("*.") ? 2 : word.starts_with('.') ? 1 : 0);
    add(std::string(word));
    add("*." + std::string(word));
  }
  return rules;
}

Result<void> describe_host(egress::Order& order, const Variable& variable) {
  const auto named = variable("GLOVEBOX_NAME_SERVERS");
  order.name_servers = named && !named->empty() ? GB_TRY(parse_name_server_list(*named))
                                                : parse_name_servers(read_all("/etc/resolv.conf"));
  const std::string no_proxy =
      variable("no_proxy").value_or(variable("NO_PROXY").value_or(std::string()));
  for (const std::string_view word : words(no_proxy, ", ")) {
    if (word == "*") {
      return {};
    }
  }
  order.http_upstream = GB_TRY(upstream_from(variable, "http_proxy", "HTTP_PROXY"));
  order.https_upstream = GB_TRY(upstream_from(variable, "https_proxy", "HTTPS_PROXY"));
  order.without_upstream = parse_no_proxy(no_proxy);
  return {};
}

}  // namespace glovebox
