// SPDX-License-Identifier: Apache-2.0
#include "spec/network_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace glovebox {
namespace {

using Otherwise = NetworkRules::Otherwise;

struct Spelling {
  std::string text;
  std::string canonical;  // Empty: refused.
};

class NetworkRuleTest : public ::testing::TestWithParam<Spelling> {};

TEST_P(NetworkRuleTest, HasOneSpellingOrIsRefusedWithAHint) {
  const auto& [text, canonical] = GetParam();
  const auto rule = NetworkRule::parse(text);
  if (canonical.empty()) {
    ASSERT_FALSE(rule) << rule->to_text();
    EXPECT_EQ(rule.error().code(), ErrorCode::kInvalid);
    EXPECT_FALSE(rule.error().hint().empty());
    return;
  }
  ASSERT_TRUE(rule) << rule.error().message();
  EXPECT_EQ(rule->to_text(), canonical);
  const auto again = NetworkRule::parse(canonical);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *rule);
}

const std::string kLabel63(63, 'a');

INSTANTIATE_TEST_SUITE_P(Names,
                         NetworkRuleTest,
                         ::testing::Values(Spelling{"example.com", "example.com"},
                                           Spelling{"EXAMPLE.Com", "example.com"},
                                           Spelling{"localhost", "localhost"},
                                           Spelling{"a-b.c-d", "a-b.c-d"},
                                           Spelling{"under_score.example", "under_score.example"},
                                           Spelling{"xn--bcher-kva.example",
                                                    "xn--bcher-kva.example"},
                                           Spelling{"*.example.com", "*.example.com"},
                                           Spelling{"*.Example.com:443", "*.example.com:443"},
                                           Spelling{"example.com:1", "example.com:1"},
                                           Spelling{"example.com:65535", "example.com:65535"},
                                           Spelling{"1.example", "1.example"},
                                           Spelling{"3com.com", "3com.com"},
                                           Spelling{"1.2.3.4.example", "1.2.3.4.example"},
                                           Spelling{kLabel63 + ".com", kLabel63 + ".com"},
                                           Spelling{"", ""},
                                           Spelling{".", ""},
                                           Spelling{"*", ""},
                                           Spelling{"*.", ""},
                                           Spelling{"*:443", ""},
                                           Spelling{"*example.com", ""},
                                           Spelling{"a.*.com", ""},
                                           Spelling{"*.*.com", ""},
                                           Spelling{"example.*", ""},
                                           Spelling{"example.com.", ""},
                                           Spelling{"*.example.com.", ""},
                                           Spelling{".example.com", ""},
                                           Spelling{"a..b", ""},
                                           Spelling{"-a.com", ""},
                                           Spelling{"a-.com", ""},
                                           Spelling{"a" + kLabel63 + ".com", ""},
                                           Spelling{std::string(254, 'a'), ""},
                                           Spelling{std::string(301, 'a'), ""},
                                           Spelling{"bücher.example", ""},
                                           Spelling{"ex\u3002ample", ""},
                                           Spelling{"exa mple.com", ""},
                                           Spelling{" example.com", ""},
                                           Spelling{"example.com\n", ""},
                                           Spelling{std::string("a\0b.com", 7), ""},
                                           Spelling{"user@example.com", ""},
                                           Spelling{"http://example.com", ""},
                                           Spelling{"example.com/", ""},
                                           Spelling{"example.com/8", ""},
                                           Spelling{"%65xample.com", ""}));

INSTANTIATE_TEST_SUITE_P(Ports,
                         NetworkRuleTest,
                         ::testing::Values(Spelling{"example.com:", ""},
                                           Spelling{"example.com:0", ""},
                                           Spelling{"example.com:00", ""},
                                           Spelling{"example.com:0443", ""},
                                           Spelling{"example.com:+443", ""},
                                           Spelling{"example.com:-1", ""},
                                           Spelling{"example.com: 443", ""},
                                           Spelling{"example.com:65536", ""},
                                           Spelling{"example.com:99999999999", ""},
                                           Spelling{"example.com:https", ""},
                                           Spelling{"example.com:1-2", ""},
                                           Spelling{"example.com:1:2", ""},
                                           Spelling{":443", ""}));

INSTANTIATE_TEST_SUITE_P(Addresses,
                         NetworkRuleTest,
                         ::testing::Values(Spelling{"192.0.2.1", "192.0.2.1"},
                                           Spelling{"192.0.2.1/32", "192.0.2.1"},
                                           Spelling{"192.0.2.1:80", "192.0.2.1:80"},
                                           Spelling{"10.0.0.0/8", "10.0.0.0/8"},
                                           Spelling{"10.1.2.3/8", "10.0.0.0/8"},
                                           Spelling{"10.0.0.0/8:443", "10.0.0.0/8:443"},
                                           Spelling{"0.0.0.0/0", "0.0.0.0/0"},
                                           Spelling{"255.255.255.255", "255.255.255.255"},
                                           Spelling{"2001:db8::1", "2001:db8::1"},
                                           Spelling{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
                                           Spelling{"2001:db8::/32", "2001:db8::/32"},
                                           Spelling{"2001:db8:ffff::1/32", "2001:db8::/32"},
                                           Spelling{"2001:db8::1/128", "2001:db8::1"},
                                           Spelling{"::1", "::1"},
                                           Spelling{"::1:1", "::1:1"},
                                           Spelling{"::1:0", "::1:0"},
                                           Spelling{"::192.0.2.1", ""},
                                           Spelling{"::/0", "::/0"},
                                           Spelling{"[::1]:80", "[::1]:80"},
                                           Spelling{"[2001:db8::/32]:443", "[2001:db8::/32]:443"},
                                           Spelling{"2130706433", ""},
                                           Spelling{"0x7f000001", ""},
                                           Spelling{"0x7f.1", ""},
                                           Spelling{"0X7F.0.0.1", ""},
                                           Spelling{"0177.0.0.1", ""},
                                           Spelling{"127.1", ""},
                                           Spelling{"127.0.1", ""},
                                           Spelling{"127.0.0.01", ""},
                                           Spelling{"127.0.0.1.", ""},
                                           Spelling{"example.0x1", ""},
                                           Spelling{"example.123", ""},
                                           Spelling{"*.1", ""},
                                           Spelling{"*.10.0.0.0", ""},
                                           Spelling{"1.2.3.256", ""},
                                           Spelling{"1.2.3.4.5", ""},
                                           Spelling{"1.2.3", ""},
                                           Spelling{"10.0.0.0/", ""},
                                           Spelling{"10.0.0.0/33", ""},
                                           Spelling{"10.0.0.0/08", ""},
                                           Spelling{"10.0.0.0/+8", ""},
                                           Spelling{"10.0.0.0/-1", ""},
                                           Spelling{"10.0.0.0/8/8", ""},
                                           Spelling{"10.0.0.0/255.0.0.0", ""},
                                           Spelling{"10.0.0.0:80/8", ""},
                                           Spelling{"10/8", ""},
                                           Spelling{"::ffff:127.0.0.1", ""},
                                           Spelling{"::ffff:7f00:1", ""},
                                           Spelling{"::127.0.0.1", ""},
                                           Spelling{"[::ffff:127.0.0.1]:80", ""},
                                           Spelling{"64:ff9b::1.2.3.4", ""},
                                           Spelling{"2001:db8::/129", ""},
                                           Spelling{"2001:db8::/", ""},
                                           Spelling{"fe80::1%eth0", ""},
                                           Spelling{"fe80::1%25eth0", ""},
                                           Spelling{"2001:db8", ""},
                                           Spelling{"2001::db8::1", ""},
                                           Spelling{":::", ""},
                                           Spelling{"[2001:db8::1]", ""},
                                           Spelling{"[2001:db8::1]:", ""},
                                           Spelling{"[2001:db8::1]:0", ""},
                                           Spelling{"[2001:db8::1]/32:80", ""},
                                           Spelling{"[192.0.2.1]:80", ""},
                                           Spelling{"[example.com]:80", ""},
                                           Spelling{"[", ""},
                                           Spelling{"[]:80", ""}));

// Rules as lists of words; what is asked; what is decided, and by which rule.
struct Question {
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  std::string name;
  std::string address;
  std::uint16_t port;
  bool allowed;
  std::string rule;
  Otherwise otherwise = Otherwise::kDeny;
};

class DecisionTest : public ::testing::TestWithParam<Question> {};

TEST_P(DecisionTest, IsAsTheRulesSay) {
  const Question& asked = GetParam();
  NetworkRules rules{.otherwise = asked.otherwise};
  for (const std::string& text : asked.allow) {
    rules.allow.push_back(*NetworkRule::parse(text));
  }
  for (const std::string& text : asked.deny) {
    rules.deny.push_back(*NetworkRule::parse(text));
  }
  const auto address = IpAddress::parse(asked.address);
  ASSERT_TRUE(address) << asked.address;

  const NetworkDecision decision = decide(rules, asked.name, *address, asked.port);

  EXPECT_EQ(std::tuple(decision.allowed, decision.rule), std::tuple(asked.allowed, asked.rule))
      << asked.name << " " << asked.address << ":" << asked.port;
}

INSTANTIATE_TEST_SUITE_P(
    Rules,
    DecisionTest,
    ::testing::Values(
        Question{{}, {}, "a.example", "8.8.8.8", 443, false, "default"},
        Question{{}, {}, "a.example", "8.8.8.8", 443, true, "default", Otherwise::kAllow},
        Question{{"a.example"}, {}, "a.example", "8.8.8.8", 443, true, "allow a.example"},
        Question{{"a.example"}, {}, "A.EXAMPLE", "8.8.8.8", 443, true, "allow a.example"},
        Question{{"a.example"}, {}, "a.example.", "8.8.8.8", 443, true, "allow a.example"},
        Question{{"a.example"}, {}, "b.a.example", "8.8.8.8", 443, false, "default"},
        Question{{"a.example"}, {}, "aa.example", "8.8.8.8", 443, false, "default"},
        Question{{"a.example"}, {}, "", "8.8.8.8", 443, false, "default"},
        Question{{"a.example:443"}, {}, "a.example", "8.8.8.8", 443, true, "allow a.example:443"},
        Question{{"a.example:443"}, {}, "a.example", "8.8.8.8", 80, false, "default"},
        Question{{"*.example"}, {}, "a.example", "8.8.8.8", 443, true, "allow *.example"},
        Question{{"*.example"}, {}, "b.a.example", "8.8.8.8", 443, true, "allow *.example"},
        Question{{"*.example"}, {}, "example", "8.8.8.8", 443, false, "default"},
        Question{{"*.example"}, {}, "badexample", "8.8.8.8", 443, false, "default"},
        Question{{"*.example"}, {}, ".example", "8.8.8.8", 443, false, "default"},
        Question{{"8.8.0.0/16"}, {}, "", "8.8.8.8", 443, true, "allow 8.8.0.0/16"},
        Question{{"8.8.0.0/16"}, {}, "", "8.9.0.0", 443, false, "default"},
        Question{{"8.8.8.8:53"}, {}, "", "8.8.8.8", 53, true, "allow 8.8.8.8:53"},
        Question{{"8.8.8.8:53"}, {}, "", "8.8.8.8", 54, false, "default"},
        Question{{"2606::/16"}, {}, "", "2606:4700::1", 443, true, "allow 2606::/16"},
        Question{{"0.0.0.0/0"}, {}, "", "2606:4700::1", 443, false, "default"},
        Question{{"a.example"}, {"a.example"}, "a.example", "8.8.8.8", 1, false, "deny a.example"},
        Question{{"a.example"}, {"*.example"}, "a.example", "8.8.8.8", 1, false, "deny *.example"},
        Question{{"a.example"}, {"a.example"}, "a.example.", "8.8.8.8", 1, false, "deny a.example"},
        Question{{"a.example"}, {"8.0.0.0/8"}, "a.example", "8.8.8.8", 1, false, "deny 8.0.0.0/8"},
        Question{{"8.8.8.8"}, {"8.0.0.0/8"}, "", "8.8.8.8", 1, false, "deny 8.0.0.0/8"},
        Question{{"8.8.8.8"}, {"8.8.8.8:25"}, "", "8.8.8.8", 443, true, "allow 8.8.8.8"},
        Question{
            {}, {"8.8.8.8:25"}, "", "8.8.8.8", 25, false, "deny 8.8.8.8:25", Otherwise::kAllow}));

INSTANTIATE_TEST_SUITE_P(
    WhatIsNotPublic,
    DecisionTest,
    ::testing::Values(
        Question{{"a.example"}, {}, "a.example", "127.0.0.1", 80, false, "loopback addresses"},
        Question{{"a.example"}, {}, "a.example", "10.1.2.3", 80, false, "private addresses"},
        Question{{"0.0.0.0/0"}, {}, "", "10.1.2.3", 80, false, "private addresses"},
        Question{{"8.0.0.0/5"}, {}, "", "10.1.2.3", 80, false, "private addresses"},
        Question{{"10.0.0.0/8"}, {}, "", "10.1.2.3", 80, true, "allow 10.0.0.0/8"},
        Question{{"10.1.2.3:80"}, {}, "", "10.1.2.3", 80, true, "allow 10.1.2.3:80"},
        Question{{"10.0.0.0/8"}, {"10.1.0.0/16"}, "", "10.1.2.3", 80, false, "deny 10.1.0.0/16"},
        Question{{}, {}, "", "0.0.0.0", 80, false, "unspecified addresses", Otherwise::kAllow},
        Question{{}, {}, "", "172.16.0.1", 80, false, "private addresses", Otherwise::kAllow},
        Question{{}, {}, "", "172.32.0.1", 80, true, "default", Otherwise::kAllow},
        Question{{}, {}, "", "192.168.1.1", 80, false, "private addresses", Otherwise::kAllow},
        Question{{}, {}, "", "100.64.0.1", 80, false, "private addresses", Otherwise::kAllow},
        Question{{}, {}, "", "169.254.1.1", 80, false, "link-local addresses", Otherwise::kAllow},
        Question{{}, {}, "", "169.254.169.254", 80, false, "metadata addresses", Otherwise::kAllow},
        Question{{"169.254.0.0/16"}, {}, "", "169.254.169.254", 80, false, "metadata addresses"},
        Question{{"169.254.169.254"}, {}, "", "169.254.169.254", 80, true, "allow 169.254.169.254"},
        Question{{"168.0.0.0/8"}, {}, "", "168.63.129.16", 80, false, "metadata addresses"},
        Question{{}, {}, "", "224.0.0.1", 80, false, "multicast addresses", Otherwise::kAllow},
        Question{{}, {}, "", "255.255.255.255", 80, false, "reserved addresses", Otherwise::kAllow},
        Question{{}, {}, "", "::", 80, false, "unspecified addresses", Otherwise::kAllow},
        Question{{}, {}, "", "::1", 80, false, "loopback addresses", Otherwise::kAllow},
        Question{{"::/0"}, {}, "", "::1", 80, false, "loopback addresses"},
        Question{{"::1"}, {}, "", "::1", 80, true, "allow ::1"},
        Question{{}, {}, "", "fe80::1", 80, false, "link-local addresses", Otherwise::kAllow},
        Question{{}, {}, "", "fd00::1", 80, false, "private addresses", Otherwise::kAllow},
        Question{{}, {}, "", "fd00:ec2::254", 80, false, "metadata addresses", Otherwise::kAllow},
        Question{{}, {}, "", "ff02::1", 80, false, "multicast addresses", Otherwise::kAllow},
        Question{{}, {}, "", "64:ff9b::7f00:1", 80, false, "IPv4 within IPv6", Otherwise::kAllow},
        Question{{}, {}, "", "2002:7f00:1::", 80, false, "IPv4 within IPv6", Otherwise::kAllow},
        Question{{}, {}, "", "2606:4700::1", 80, true, "default", Otherwise::kAllow}));

TEST(DecisionOfBothTest, IsTheDenyingRulesUnlessAllowComesFirst) {
  NetworkRules rules{.allow = {*NetworkRule::parse("93.184.216.34")},
                     .deny = {*NetworkRule::parse("93.184.0.0/16")}};
  const auto address = IpAddress::parse("93.184.216.34");
  const auto neighbour = IpAddress::parse("93.184.216.35");
  ASSERT_TRUE(address && neighbour);
  EXPECT_EQ(decide(rules, "", *address, 80).rule, "deny 93.184.0.0/16");
  rules.allow_first = true;
  EXPECT_EQ(decide(rules, "", *address, 80).rule, "allow 93.184.216.34");
  EXPECT_EQ(decide(rules, "", *neighbour, 80).rule, "deny 93.184.0.0/16");
}

TEST(DecisionOfMappedAddressTest, IsThatOfTheIPv4Address) {
  IpAddress mapped;
  mapped.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  const NetworkRules open{.otherwise = Otherwise::kAllow};

  EXPECT_EQ(decide(open, "", mapped, 80).rule, "loopback addresses");
  NetworkRules closed;
  closed.allow = {*NetworkRule::parse("127.0.0.1")};
  EXPECT_TRUE(decide(closed, "", mapped, 80).allowed);
}

// Rules as lists of words; a name, and its fate with the rule that says so.
struct NameQuestion {
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  std::string name;
  std::uint16_t port;
  NameDecision::Fate fate;
  std::string rule;
  Otherwise otherwise = Otherwise::kDeny;
  bool allow_first = false;
};

class NameDecisionTest : public ::testing::TestWithParam<NameQuestion> {};

TEST_P(NameDecisionTest, IsMadeBeforeAnybodyLooksTheNameUp) {
  const NameQuestion& asked = GetParam();
  NetworkRules rules{.otherwise = asked.otherwise, .allow_first = asked.allow_first};
  for (const std::string& text : asked.allow) {
    rules.allow.push_back(*NetworkRule::parse(text));
  }
  for (const std::string& text : asked.deny) {
    rules.deny.push_back(*NetworkRule::parse(text));
  }
  const NameDecision decision = decide_name(rules, asked.name, asked.port);
  EXPECT_EQ(decision.fate, asked.fate);
  EXPECT_EQ(decision.rule, asked.rule);
}

using Fate = NameDecision::Fate;
INSTANTIATE_TEST_SUITE_P(
    Names,
    NameDecisionTest,
    ::testing::Values(
        NameQuestion{{}, {}, "a.example", 80, Fate::kDenied, "default"},
        NameQuestion{{"a.example"}, {}, "A.example.", 80, Fate::kAllowed, "allow a.example"},
        NameQuestion{{"a.example"}, {}, "b.a.example", 80, Fate::kDenied, "default"},
        NameQuestion{{"a.example:443"}, {}, "a.example", 80, Fate::kDenied, "default"},
        NameQuestion{
            {"*.example"}, {"a.example"}, "a.example", 80, Fate::kDenied, "deny a.example"},
        NameQuestion{{"*.example"},
                     {"a.example"},
                     "a.example",
                     80,
                     Fate::kAllowed,
                     "allow *.example",
                     Otherwise::kDeny,
                     true},
        NameQuestion{{"10.0.0.0/8"}, {}, "a.example", 80, Fate::kOpen, "default"},
        NameQuestion{{"10.0.0.0/8:443"}, {}, "a.example", 80, Fate::kDenied, "default"},
        NameQuestion{
            {"10.0.0.0/8"}, {"a.example"}, "a.example", 80, Fate::kDenied, "deny a.example"},
        NameQuestion{{}, {}, "a.example", 80, Fate::kAllowed, "default", Otherwise::kAllow},
        NameQuestion{{},
                     {"*.example"},
                     "a.example",
                     80,
                     Fate::kDenied,
                     "deny *.example",
                     Otherwise::kAllow}));

TEST(DecisionOfOwnAddressTest, NeedsARuleForJustThatAddress) {
  const auto address = IpAddress::parse("93.184.216.34");
  const auto loopback = IpAddress::parse("127.0.0.5");
  ASSERT_TRUE(address && loopback);
  const auto decide_with = [&](const char* rule, const IpAddress& reached) {
    NetworkRules rules{.allow = {*NetworkRule::parse(rule)}};
    return decide(rules, "a.example", reached, 80, AddressOwner::kThisHost).rule;
  };
  EXPECT_EQ(decide_with("a.example", *address), "addresses of this machine");
  EXPECT_EQ(decide_with("93.184.216.0/24", *address), "addresses of this machine");
  EXPECT_EQ(decide_with("93.184.216.34:80", *address), "allow 93.184.216.34:80");
  EXPECT_EQ(decide_with("127.0.0.0/8", *loopback), "allow 127.0.0.0/8");
  EXPECT_EQ(decide_with("a.example", *loopback), "loopback addresses");
}

TEST(ConcernsTest, IsSaidOfNamesAndAddresses) {
  const std::vector<NetworkRule> rules = {*NetworkRule::parse("*.corp.example"),
                                          *NetworkRule::parse("10.0.0.0/8")};
  EXPECT_TRUE(concerns(rules, "a.corp.example", std::nullopt, 80));
  EXPECT_FALSE(concerns(rules, "corp.example", std::nullopt, 80));
  EXPECT_TRUE(concerns(rules, "", IpAddress::parse("10.1.2.3"), 80));
  EXPECT_FALSE(concerns(rules, "", IpAddress::parse("11.1.2.3"), 80));
}

NetworkRules allowing(std::vector<std::string> texts) {
  NetworkRules rules;
  for (const std::string& text : texts) {
    rules.allow.push_back(*NetworkRule::parse(text));
  }
  return rules;
}

TEST(NetworkPolicyTest, IsReadByItsName) {
  EXPECT_EQ(parse_network_policy("none"), NetworkPolicy::kNone);
  EXPECT_EQ(parse_network_policy("public"), NetworkPolicy::kPublic);
  EXPECT_EQ(parse_network_policy("any"), NetworkPolicy::kAny);
  EXPECT_FALSE(parse_network_policy("Any"));
  EXPECT_FALSE(parse_network_policy(""));
}

TEST(NetworkPolicyTest, OfNothingForbidsWhatLetsOut) {
  EXPECT_TRUE(check_policy({}, NetworkPolicy::kNone));
  EXPECT_TRUE(check_policy({.deny = {*NetworkRule::parse("a.example")}}, NetworkPolicy::kNone));
  EXPECT_EQ(check_policy(allowing({"a.example"}), NetworkPolicy::kNone).error().code(),
            ErrorCode::kRefused);
  EXPECT_FALSE(check_policy({.otherwise = Otherwise::kAllow}, NetworkPolicy::kNone));
}

TEST(NetworkPolicyTest, OfPublicAddressesForbidsRulesThatAreAboutOthersOnly) {
  for (const char* rule : {"10.0.0.0/8", "10.1.2.3:80", "127.0.0.1", "169.254.169.254", "::1",
                           "fd00::/8", "[fe80::1]:80", "192.168.0.0/16"}) {
    const auto checked = check_policy(allowing({"a.example", rule}), NetworkPolicy::kPublic);
    ASSERT_FALSE(checked) << rule;
    EXPECT_NE(checked.error().message().find(rule), std::string::npos);
    EXPECT_TRUE(check_policy(allowing({rule}), NetworkPolicy::kAny)) << rule;
  }
  for (const char* rule :
       {"a.example", "*.example", "0.0.0.0/0", "8.8.8.8", "::/0", "10.0.0.0/7"}) {
    EXPECT_TRUE(check_policy(allowing({rule}), NetworkPolicy::kPublic)) << rule;
  }
}

}  // namespace
}  // namespace glovebox
