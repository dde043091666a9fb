// SPDX-License-Identifier: Apache-2.0
#include "egress/client_hello.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::egress {
namespace {

using State = ClientHello::State;

std::string sized(int width, const std::string& bytes) {
  std::string text;
  for (int i = width - 1; i >= 0; --i) {
    text += static_cast<char>(bytes.size() >> (8 * i));
  }
  return text + bytes;
}

std::string server_name(const std::string& host) {
  return std::string("\0\0", 2) + sized(2, sized(2, std::string(1, '\0') + sized(2, host)));
}

// A ClientHello with these extensions.
std::string message(const std::string& extensions) {
  const std::string body = std::string("\x03\x03", 2) + std::string(32, 'r') + sized(1, "session") +
                           sized(2, std::string("\x13\x01", 2)) + sized(1, std::string(1, '\0')) +
                           extensions;
  return "\x01" + sized(3, body);
}

std::string record(const std::string& piece) { return "\x16\x03\x01" + sized(2, piece); }

std::string hello(const std::string& extensions) { return record(message(sized(2, extensions))); }

const std::string kOther = std::string("\x00\x2b", 2) + sized(2, "\x02\x03\x04");

TEST(ClientHelloTest, TheHostIsReadInLowerCase) {
  const ClientHello read = read_client_hello(hello(kOther + server_name("Example.ORG") + kOther));
  EXPECT_EQ(read.state, State::kWhole);
  EXPECT_EQ(read.host, "example.org");
}

TEST(ClientHelloTest, ItMayAskForNoHost) {
  for (const std::string& bytes : {hello(kOther), record(message(""))}) {
    const ClientHello read = read_client_hello(bytes);
    EXPECT_EQ(read.state, State::kWhole);
    EXPECT_EQ(read.host, "");
  }
}

TEST(ClientHelloTest, WhatComesInPiecesIsPartialUntilItIsWhole) {
  const std::string bytes = hello(server_name("example.org"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(read_client_hello(bytes.substr(0, size)).state, State::kPartial) << size;
  }
  EXPECT_EQ(read_client_hello(bytes + "more").host, "example.org");
}

TEST(ClientHelloTest, AMessageMayBeSpreadOverRecords) {
  const std::string whole = message(sized(2, server_name("example.org")));
  std::string bytes;
  for (const char c : whole) {
    bytes += record(std::string(1, c));
  }
  EXPECT_EQ(read_client_hello(bytes).host, "example.org");
  EXPECT_EQ(read_client_hello(bytes.substr(0, bytes.size() - 1)).state, State::kPartial);
}

TEST(ClientHelloTest, OtherProtocolsAreNone) {
  for (const char* const text : {"GET / HTTP/1.1\r\n", "SSH-2.0-x", "\x16\x02", "\x17\x03\x03"}) {
    EXPECT_EQ(read_client_hello(text).state, State::kNone) << text;
  }
}

TEST(ClientHelloTest, WhatCanBeReadInTwoWaysIsBroken) {
  const std::string two_names =
      std::string("\0\0", 2) + sized(2, sized(2, std::string(1, '\0') + sized(2, "a.example") +
                                                     std::string(1, '\0') + sized(2, "b.example")));
  const std::string no_name = std::string("\0\0", 2) + sized(2, sized(2, std::string("\0\0\0", 3)));
  std::string other_kind = server_name("example.org");
  other_kind[6] = '\x01';
  const std::string whole = message(sized(2, server_name("example.org")));
  for (const std::string& bytes : {
           hello(server_name("a.example") + server_name("b.example")),
           hello(server_name("a.example") + server_name("a.example")),
           hello(two_names),
           hello(no_name),
           hello(other_kind),
           hello(server_name("example.org") + "x"),
           record(message(sized(2, kOther) + "behind")),
           record("\x01" + sized(3, "short")),
           record("\x02" + sized(3, "no hello")),
           record(""),
           record(whole.substr(0, 10)) + "\x17\x03\x03" + sized(2, whole.substr(10)),
           std::string("\x16\x03\x01\xff\xff", 5),
           record(std::string("\x01\xff\xff\xff", 4)),
       }) {
    EXPECT_EQ(read_client_hello(bytes).state, State::kBroken) << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace glovebox::egress
