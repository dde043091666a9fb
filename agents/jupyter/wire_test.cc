// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::jupyter {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string_view> views(const std::vector<std::string>& parts) {
  return {parts.begin(), parts.end()};
}

std::vector<std::string> signed_parts(const Signer& signer, std::vector<std::string> body) {
  std::vector<std::string> parts{"<IDS|MSG>", signer.sign(views(body))};
  parts.insert(parts.end(), body.begin(), body.end());
  return parts;
}

TEST(Signer, SignsAsRfc4231SaysInItsSecondTestCase) {
  const Signer signer("Jefe");
  const std::string expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
  EXPECT_EQ(signer.sign({"what do ya want for nothing?"}), expected);
  EXPECT_EQ(signer.sign({"what do ya ", "want for", "", " nothing?"}), expected);
}

TEST(Signer, RefusesEverySignatureThatDiffersInOneDigit) {
  const Signer signer("key");
  const std::string good = signer.sign({"a", "b"});
  EXPECT_TRUE(signer.verify(good, {"a", "b"}));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '0' ? '1' : '0';
    EXPECT_FALSE(signer.verify(bad, {"a", "b"})) << i;
  }
}

TEST(Signer, RefusesSignaturesOfAnotherLengthOrKey) {
  const Signer signer("key");
  const std::string good = signer.sign({"a"});
  EXPECT_FALSE(signer.verify("", {"a"}));
  EXPECT_FALSE(signer.verify(good.substr(1), {"a"}));
  EXPECT_FALSE(signer.verify(good + "0", {"a"}));
  EXPECT_FALSE(signer.verify(Signer("another").sign({"a"}), {"a"}));
}

TEST(Wire, MessageComesBackAsItWasSent) {
  const Signer signer("key");
  RequestMaker maker("session");
  Message sent = maker.make("execute_request", {{"code", "print('ä')"}, {"silent", false}});
  sent.parent = {{"msg_id", "p"}};
  const auto parts = serialise(sent, signer);
  const auto received = parse_message(views(parts), signer);
  ASSERT_TRUE(received) << received.error().message();
  EXPECT_EQ(received->type(), "execute_request");
  EXPECT_EQ(received->header, sent.header);
  EXPECT_EQ(received->parent_id(), "p");
  EXPECT_EQ(received->content, sent.content);
}

TEST(Wire, RequestsOfOneSessionHaveIdsThatDiffer) {
  RequestMaker maker("session");
  EXPECT_NE(maker.make("a", Json::object()).id(), maker.make("a", Json::object()).id());
}

TEST(Wire, RoutingIdsInFrontAndBuffersBehindAreSkipped) {
  const Signer signer("key");
  auto parts = signed_parts(signer, {R"({"msg_type":"status"})", "{}", "{}", "{}"});
  parts.insert(parts.begin(), "kernel.1.status");
  parts.emplace_back("\x00\xff buffer");
  const auto message = parse_message(views(parts), signer);
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_EQ(message->type(), "status");
}

TEST(Wire, AMessageChangedInAnyPartIsRefused) {
  const Signer signer("key");
  const auto good = signed_parts(signer, {"{}", "{}", "{}", "{}"});
  for (std::size_t i = 2; i < good.size(); ++i) {
    auto parts = good;
    parts[i] = R"({"a":1})";
    const auto message = parse_message(views(parts), signer);
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().code(), ErrorCode::kRefused);
  }
}

TEST(Wire, TheBordersBetweenPartsAreTheOnlyThingThatASignatureDoesNotCover) {
  const Signer signer("key");
  const auto parts = signed_parts(signer, {"{}{", "}", "{}", "{}"});
  const auto message = parse_message(views(parts), signer);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code(), ErrorCode::kInvalid);
}

TEST(Wire, TooFewPartsAreInvalid) {
  const Signer signer("key");
  const auto good = signed_parts(signer, {"{}", "{}", "{}", "{}"});
  for (std::size_t count = 0; count < good.size(); ++count) {
    const auto message =
        parse_message(views({good.begin(), good.begin() + static_cast<long>(count)}), signer);
    ASSERT_FALSE(message) << count;
    EXPECT_EQ(message.error().code(), ErrorCode::kInvalid);
  }
}

TEST(Wire, OnlyObjectsAreMessages) {
  const Signer signer("key");
  for (const char* content : {"[]", "1", "null", "\"\"", "", "{", "{}x", R"({"a":nan})"}) {
    const auto parts = signed_parts(signer, {"{}", "{}", "{}", content});
    EXPECT_FALSE(parse_message(views(parts), signer)) << content;
  }
}

TEST(Wire, MembersOfAnotherTypeReadAsAbsent) {
  const Signer signer("key");
  const auto parts =
      signed_parts(signer, {R"({"msg_type":7,"msg_id":{}})", R"({"msg_id":[]})", "{}", "{}"});
  const auto message = parse_message(views(parts), signer);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type() + message->id() + message->parent_id(), "");
}

TEST(JsonGuard, NestingIsBoundedBeforeItIsParsed) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth), kMaxPart));
  EXPECT_FALSE(parse_json(nested(kMaxJsonDepth + 1), kMaxPart));
  EXPECT_FALSE(parse_json(std::string(8'000'000, '['), kMaxPart));
}

TEST(JsonGuard, BracketsInStringsDoNotNest) {
  const std::string text = "\"\\\"" + std::string(1000, '[') + "\"";
  const auto value = parse_json(text, kMaxPart);
  ASSERT_TRUE(value);
  EXPECT_THAT(value->get<std::string>(), SizeIs(1001));
}

TEST(JsonGuard, BytesThatAreNoUtf8AreReplaced) {
  const auto value = parse_json("{\"a\":\"x\xff\"}", kMaxPart);
  ASSERT_TRUE(value);
  EXPECT_EQ(string_at(*value, "a"), "x\xEF\xBF\xBD");
}

TEST(JsonGuard, SizeIsBounded) {
  const auto value = parse_json("[1,2,3]", 6);
  ASSERT_FALSE(value);
  EXPECT_THAT(value.error().message(), HasSubstr("7 bytes"));
}

TEST(JsonGuard, NumbersOutOfRangeReadAsTheFallback) {
  const auto value = parse_json(R"({"a":18446744073709551615,"b":1e300,"c":-5})", 100);
  ASSERT_TRUE(value);
  EXPECT_EQ(integer_at(*value, "a", -1), -1);
  EXPECT_EQ(integer_at(*value, "b", -1), -1);
  EXPECT_EQ(integer_at(*value, "c", -1), -5);
}

}  // namespace
}  // namespace glovebox::jupyter
