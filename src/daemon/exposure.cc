// SPDX-License-Identifier: Apache-2.0
#include "daemon/exposure.h"

#include <arpa/inet.h>

#include <string_view>

namespace glovebox {
namespace {

// Of HOST:PORT, with or without the brackets of IPv6.
bool is_loopback(const std::string& listen) {
  std::string host = listen.substr(0, listen.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24U == 127;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&six) != 0;
  }
  return host == "localhost";
}

}  // namespace

std::vector<std::string> exposure_warnings(const http::ServerOptions& options) {
  std::vector<std::string> warnings;
  if (!options.listen.empty() && options.certificate_file.empty() && !is_loopback(options.listen)) {
    warnings.push_back("listening on " + options.listen +
                       " without TLS: API keys cross the network in plain text; hint: give "
                       "--certificate and --key, or listen on 127.0.0.1 behind a proxy with TLS");
  }
  return warnings;
}

}  // namespace glovebox
