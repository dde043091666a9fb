// SPDX-License-Identifier: Apache-2.0
// glovebox-relay PORT SOCKET [PORT SOCKET]...: see relay.h. Descriptor 3 is a socket to glovebox:
// it gets one byte when connections are taken, and when it hangs up, we end.
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "relay.h"

int main(int argc, char** argv) {
  constexpr int kLink = 3;
  if (argc < 3 || argc % 2 == 0) {
    std::fprintf(stderr, "usage: glovebox-relay PORT SOCKET [PORT SOCKET]...\n");
    return 2;
  }
  glovebox::relay::Relay relay;
  for (int i = 1; i < argc; i += 2) {
    const unsigned long port = std::strtoul(argv[i], nullptr, 10);
    if (port == 0 || port > 65535 || !relay.listen(static_cast<std::uint16_t>(port), argv[i + 1])) {
      std::fprintf(stderr, "glovebox-relay: port %s: %s\n", argv[i], std::strerror(errno));
      return 1;
    }
  }
  if (::send(kLink, "+", 1, MSG_NOSIGNAL) != 1) {
    return 1;
  }
  relay.run(kLink);
  return 0;
}
