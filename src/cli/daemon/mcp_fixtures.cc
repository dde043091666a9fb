// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/mcp_fixtures.h"

#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdio>

#include "doors/mcp/fixtures.h"
#include "doors/mcp/http/door.h"
#include "doors/transport/http.h"

namespace glovebox::cli {

Result<void> serve_mcp_fixtures(const std::string& listen, int stop_fd) {
  mcp::Fixtures fixtures;
  mcp::HttpDoor door(fixtures,
                     {.admission = {.authenticate = [](const http::Request&) -> Result<Caller> {
                        return Caller{.tenant = "fixtures"};
                      }}});
  http::ServerOptions options;
  options.listen = listen;
  const auto server = GB_TRY(http::Server::start(
      std::move(options), [&](http::Request& request, http::Response& response) {
        const Arrival arrival(request);
        if (door.claims(arrival)) {
          door.handle(arrival, response);
        } else {
          (void)response.send(404, {}, "");
        }
      }));
  (void)std::printf("fixtures at http://%s:%u/mcp\n", listen.substr(0, listen.rfind(':')).c_str(),
                    unsigned{server->port()});
  (void)std::fflush(stdout);
  pollfd polled{stop_fd, POLLIN, 0};
  while (::poll(&polled, 1, -1) < 0 && errno == EINTR) {
  }
  server->drain(std::chrono::seconds(1));
  return {};
}

}  // namespace glovebox::cli
