// SPDX-License-Identifier: Apache-2.0
#include "spec/json/network_rules_json.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox {
namespace {

std::string canonical(std::string_view text) {
  const auto rules = parse_network_rules(text);
  return rules ? to_json(*rules) : rules.error().message();
}

TEST(NetworkRulesJsonTest, HasOneFormThatReadsBack) {
  EXPECT_EQ(canonical("{}"), R"({"allow":[],"default":"deny","deny":[]})");
  const std::string text =
      R"({"allow":["*.a.example:443","10.0.0.0/8"],"default":"allow","deny":["[::1]:80"]})";
  EXPECT_EQ(canonical(text), text);
  EXPECT_EQ(canonical(R"({"default": null, "deny": null, "allow": ["A.example"]})"),
            R"({"allow":["a.example"],"default":"deny","deny":[]})");
}

TEST(NetworkRulesJsonTest, AnErrorNamesTheField) {
  EXPECT_EQ(canonical("[]"), "field 'network': expected an object");
  EXPECT_EQ(canonical(R"({"alow": []})"), "unknown field 'network.alow'");
  EXPECT_EQ(canonical(R"({"allow": "x"})"),
            "field 'network.allow': expected a list of at most 1000 strings");
  EXPECT_EQ(canonical(R"({"deny": ["a.example", 1]})"),
            "field 'network.deny[1]': expected a string");
  EXPECT_EQ(canonical(R"({"deny": ["a.example", "127.1"]})"),
            "field 'network.deny[1]': invalid network rule '127.1'");
  EXPECT_EQ(canonical(R"({"default": true})"),
            R"(field 'network.default': expected "allow" or "deny")");
  EXPECT_FALSE(parse_network_rules(R"({"allow": ["127.1"]})").error().hint().empty());
}

TEST(NetworkRulesJsonTest, CredentialsAndABudgetReadBack) {
  EXPECT_EQ(
      canonical(R"({"secrets": [{"secret": "TOKEN", "hosts": ["A.example", "http://b.example"]}],
                    "headers": [{"host": "*.c.example", "name": "X-Key", "value": "k {other key}"}],
                    "budget": {"sent": 10, "rate": 2048}})"),
      R"({"allow":[],"budget":{"rate":2048,"sent":10},"default":"deny","deny":[],)"
      R"("headers":[{"host":"*.c.example:443","name":"X-Key","value":"k {other key}"}],)"
      R"("secrets":[{"env":"TOKEN","hosts":["a.example:443","http://b.example:80"],)"
      R"("secret":"TOKEN"}]})");
}

TEST(NetworkRulesJsonTest, WhatACredentialCannotBeIsRefusedByItsPlace) {
  constexpr const char* kCases[][2] = {
      {R"({"secrets": {}})", "field 'network.secrets': expected a list of at most 64 objects"},
      {R"({"secrets": [1]})", "field 'network.secrets[0]': expected an object"},
      {R"({"secrets": [{"secret": "A", "hosts": []}]})",
       "field 'network.secrets[0].hosts': expected a list of 1 to 32 hosts"},
      {R"({"secrets": [{"secret": "a b", "hosts": ["a.example"]}]})",
       "field 'network.secrets[0].env': expected the name of an environment variable"},
      {R"({"secrets": [{"secret": "A", "hosts": ["a.example"], "value": "x"}]})",
       "field 'network.secrets[0]': unknown member 'value'"},
      {R"({"headers": [{"name": "X", "value": "x"}]})",
       "field 'network.headers[0].host': expected a string"},
      {R"({"budget": {"rate": -1}})", "field 'network.budget.rate': expected a whole number"},
      {R"({"budget": {"rate": 1}})", "field 'network.budget': a rate below 1024 bytes a second"},
  };
  for (const auto& [text, message] : kCases) {
    EXPECT_EQ(canonical(text), message);
  }
}

TEST(NetworkRulesJsonTest, AListIsBounded) {
  const auto with = [](std::size_t count) {
    std::string text = R"({"allow": [)";
    for (std::size_t i = 0; i < count; ++i) {
      text += std::string(i == 0 ? "" : ",") + R"("a.example")";
    }
    return text + "]}";
  };
  EXPECT_TRUE(parse_network_rules(with(1'000)));
  EXPECT_FALSE(parse_network_rules(with(1'001)));
}

TEST(StoredNetworkRulesTest, AreReadInTheFormsOfFormerVersions) {
  const auto read = [](std::string_view text) { return to_json(read_stored_network_rules(text)); };
  const std::string nothing = R"({"allow":[],"default":"deny","deny":[]})";
  EXPECT_EQ(read(R"({"allow":["a.example:443"]})"),
            R"({"allow":["a.example:443"],"default":"deny","deny":[]})");
  EXPECT_EQ(read(R"({"allow":["https://a.example","b.example"]})"),
            R"({"allow":["b.example"],"default":"deny","deny":[]})");
  EXPECT_EQ(read(R"({"allow":["*"],"deny":["10.0.0.0/8"],"e2b":{"denyOut":["10.0.0.0/8"]}})"),
            R"({"allow":[],"default":"allow","deny":["10.0.0.0/8"]})");
  EXPECT_EQ(read(R"({"allow":["a.example"],"deny":["0.0.0.0/0"],"e2b":{}})"),
            R"({"allow":["a.example"],"default":"deny","deny":[]})");
  EXPECT_EQ(read(R"({"allow":["*"],"deny":["what is this"],"e2b":{}})"), nothing);
  for (const char* damaged : {"", "[]", "{", "null", R"({"allow":[1]})"}) {
    EXPECT_EQ(read(damaged), nothing) << damaged;
  }
}

}  // namespace
}  // namespace glovebox
