// SPDX-License-Identifier: Apache-2.0
#include "doors/ports/port_host.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(PortHostTest, TheFirstLabelTellsPortAndSandbox) {
  const auto name = parse_port_host("8000-abc123.example.org:8440");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->port, 8000);
  EXPECT_EQ(name->sandbox, "abc123");
  EXPECT_EQ(parse_port_host("3000-iabc-client.sb.test")->sandbox, "iabc");
}

TEST(PortHostTest, IsNotMistakenForOtherNames) {
  for (const char* host :
       {"", "localhost", "127.0.0.1:8440", "8000-abc", "0-abc.x", "70000-abc.x", "-1-abc.x",
        "a-b.x", "8000-.x", "8000-ABC.x", "8000-a/b.x", "[::1]:1", "my-host.example",
        "99999-i.example", "80-i", "80-../x.example", "80-a:1.x"}) {
    EXPECT_FALSE(parse_port_host(host)) << host;
  }
}

}  // namespace
}  // namespace glovebox
