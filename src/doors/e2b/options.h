// SPDX-License-Identifier: Apache-2.0
// E2bOptions: what the daemon tells the E2B door.
#pragma once

#include <chrono>
#include <string>

namespace glovebox::e2b {

struct E2bOptions {
  // Told to clients, who reach ports as PORT-ID.DOMAIN. Empty: they use the domain that they were
  // configured with.
  std::string domain;
  // Whether clients reach us by TLS; if so, the links that they are given use it too.
  bool tls = false;
  // Silence on /execute after which a keepalive goes out.
  std::chrono::milliseconds keepalive{5'000};
  // Whether sandboxes made here have root inside, and so E2B's two users.
  bool root = false;
};

// The version of E2B's server whose behaviour this door shows: clients switch features on by it.
inline constexpr const char* kEnvdVersion = "0.6.13";

// Where the relative paths of the user "user" start, and everybody's if there is no root inside.
inline constexpr const char* kHome = "/home/user";

}  // namespace glovebox::e2b
