// SPDX-License-Identifier: Apache-2.0
#include "egress/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace glovebox::egress {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// A question with id 0x1234 that wants recursion. `labels` is the name as it goes over the wire.
Bytes question(std::string_view labels, std::uint8_t type = 1, std::uint8_t kind = 1) {
  using namespace std::string_view_literals;
  std::string text("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"sv);
  text += labels;
  text += {'\0', '\0', static_cast<char>(type), '\0', static_cast<char>(kind)};
  return bytes_of(text);
}

constexpr std::string_view kExample =
    "\x07"
    "example"
    "\x03"
    "org";

int code_of(const std::optional<Bytes>& answer) { return answer ? (*answer)[3] & 0xF : -1; }
int answers_of(const std::optional<Bytes>& answer) { return answer ? (*answer)[7] : -1; }

TEST(NamesTest, AQuestionForAnAddressGetsOneThatLeadsBackToTheName) {
  Names names;
  const Bytes asked = question(kExample);
  const auto answer = names.answer(asked);
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)[0], 0x12);
  EXPECT_EQ((*answer)[1], 0x34);
  EXPECT_EQ((*answer)[2], 0x81);
  EXPECT_EQ(code_of(answer), 0);
  ASSERT_EQ(answers_of(answer), 1);
  EXPECT_EQ(Bytes(answer->begin() + 12, answer->begin() + 29),
            Bytes(asked.begin() + 12, asked.end()));
  const Bytes record(answer->begin() + 29, answer->end());
  ASSERT_EQ(record.size(), 16U);
  EXPECT_EQ(Bytes(record.begin(), record.end() - 4),
            (Bytes{0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4}));
  IpAddress address{.v4 = true};
  std::copy(record.end() - 4, record.end(), address.bytes.begin());
  EXPECT_TRUE(IpBlock::parse("198.18.0.0/15")->contains(address)) << address.to_text();
  EXPECT_EQ(names.name_of(address), "example.org");
}

TEST(NamesTest, ANameKeepsItsAddressInAnyCase) {
  Names names;
  const auto first = names.answer(question(kExample));
  (void)names.answer(
      question("\x05"
               "other"
               "\x03"
               "org"));
  const auto again =
      names.answer(question("\x07"
                            "eXaMpLe"
                            "\x03"
                            "ORG"));
  ASSERT_TRUE(first && again);
  EXPECT_EQ(Bytes(first->end() - 4, first->end()), Bytes(again->end() - 4, again->end()));
  EXPECT_NE(names.address_of("other.org"), names.address_of("example.org"));
}

TEST(NamesTest, AnotherProxyGivesTheSameNameTheSameAddress) {
  Names first;
  Names second;
  (void)second.address_of("other.org");
  EXPECT_EQ(first.address_of("example.org"), second.address_of("example.org"));
}

TEST(NamesTest, AddressesThatWereNotGivenOutAreNobodys) {
  Names names;
  EXPECT_TRUE(names.address_of("example.org"));
  for (const char* const text :
       {"198.18.0.0", "198.19.255.255", "198.17.255.255", "8.8.8.8", "::1"}) {
    EXPECT_FALSE(names.name_of(*IpAddress::parse(text))) << text;
  }
}

TEST(NamesTest, OtherTypesHaveNoRecords) {
  Names names;
  for (const std::uint8_t type : {std::uint8_t{28}, std::uint8_t{16}, std::uint8_t{65}}) {
    const auto answer = names.answer(question(kExample, type));
    EXPECT_EQ(code_of(answer), 0);
    EXPECT_EQ(answers_of(answer), 0);
  }
}

TEST(NamesTest, WhatIsNoHostNameDoesNotExist) {
  Names names;
  using namespace std::string_view_literals;
  for (const std::string_view labels : {""sv,
                                        "\x03"
                                        "a b"sv,
                                        "\x03"
                                        "a.b"sv,
                                        "\x03"
                                        "127"
                                        "\x01"
                                        "1"sv,
                                        "\x04"
                                        "0x7f"sv,
                                        "\x01"
                                        "\x00"sv}) {
    const auto answer = names.answer(question(labels));
    EXPECT_EQ(code_of(answer), 3) << labels;
    EXPECT_EQ(answers_of(answer), 0);
  }
  EXPECT_EQ(code_of(names.answer(question(kExample, 1, 3))), 3);
}

TEST(NamesTest, WhatIsNoQuestionGetsAnErrorOrNothing) {
  Names names;
  const Bytes good = question(kExample);
  EXPECT_FALSE(names.answer({}));
  EXPECT_FALSE(names.answer(std::span(good).first(11)));
  for (std::size_t size = 12; size < good.size(); ++size) {
    EXPECT_EQ(code_of(names.answer(std::span(good).first(size))), 1) << size;
  }
  Bytes answer = good;
  answer[2] |= 0x80;
  EXPECT_FALSE(names.answer(answer));
  Bytes update = good;
  update[2] = 0x28;
  EXPECT_EQ(code_of(names.answer(update)), 4);
  Bytes two = good;
  two[5] = 2;
  EXPECT_EQ(code_of(names.answer(two)), 1);
  // A name that goes on elsewhere, and one that is too long.
  EXPECT_EQ(code_of(names.answer(question("\xC0\x0C"))), 1);
  std::string longest;
  for (int i = 0; i < 5; ++i) {
    longest += "\x3F" + std::string(63, 'a');
  }
  EXPECT_EQ(code_of(names.answer(question(longest))), 1);
}

TEST(NamesTest, NamesAreBounded) {
  Names names;
  for (std::size_t i = 0; i < Names::kMost; ++i) {
    ASSERT_TRUE(names.address_of("n" + std::to_string(i)));
  }
  EXPECT_FALSE(names.address_of("example.org"));
  EXPECT_EQ(code_of(names.answer(question(kExample))), 2);
  EXPECT_TRUE(names.address_of("n7"));
}

}  // namespace
}  // namespace glovebox::egress
