// SPDX-License-Identifier: Apache-2.0
#include "egress/recording.h"

#include <gtest/gtest.h>

#include <string>

#include "egress/playback.h"
#include "egress/taping.h"

namespace glovebox::egress {
namespace {

using End = RecordedExchange::End;

const Place kPlace = *parse_place("api.example:443", 0);

http::Head head_of(std::string method, std::string target) {
  http::Head head;
  head.method = std::move(method);
  head.target = std::move(target);
  return head;
}

struct Taped {
  std::string bytes{};
  bool full = false;
  Tape tape;

  explicit Taped(std::uint64_t room = kMostRecorded)
      : tape(
            room, [this](std::string_view more) { bytes += more; }, [this] { full = true; }) {}

  void exchange(const http::Head& head, std::string_view body, std::string_view answer) {
    TapedExchange one(tape, nullptr, kPlace, /*secure=*/true, head);
    one.sent(body);
    one.asked();
    one.answered(answer);
    one.end(End::kKept);
  }
};

std::string hash_of(const http::Head& head, std::string_view body) {
  return asked_hash(head).add(body).hex();
}

std::string answer_of(const RecordedExchange* exchange) {
  return exchange == nullptr ? "none" : exchange->turns.at(0).bytes;
}

TEST(RecordingTest, AnswersEqualRequestsInTheirOrderAndEachOnce) {
  Taped taped;
  const http::Head get = head_of("GET", "/a");
  taped.exchange(get, "", "first");
  taped.exchange(get, "body", "other");
  taped.exchange(get, "", "second");
  auto recording = Recording::parse(taped.bytes);
  ASSERT_TRUE(recording) << recording.error().message();
  Playback playback(*std::move(recording));
  EXPECT_EQ(answer_of(playback.answer(kPlace, true, hash_of(get, "body"))), "other");
  EXPECT_EQ(answer_of(playback.answer(kPlace, true, hash_of(get, ""))), "first");
  std::string left;
  playback.each_left([&](const RecordedExchange& each) { left += each.to_text() + ";"; });
  EXPECT_EQ(left, "GET https://api.example/a;");
  EXPECT_EQ(answer_of(playback.answer(kPlace, true, hash_of(get, ""))), "second");
  EXPECT_EQ(playback.answer(kPlace, true, hash_of(get, "")), nullptr);
}

TEST(RecordingTest, AnotherMethodPathBodyPlaceOrSchemeHasNoAnswer) {
  Taped taped;
  const http::Head post = head_of("POST", "/a");
  taped.exchange(post, "body", "answer");
  Playback playback(*Recording::parse(taped.bytes));
  EXPECT_EQ(playback.answer(kPlace, true, hash_of(head_of("PUT", "/a"), "body")), nullptr);
  EXPECT_EQ(playback.answer(kPlace, true, hash_of(head_of("POST", "/b"), "body")), nullptr);
  EXPECT_EQ(playback.answer(kPlace, true, hash_of(post, "Body")), nullptr);
  EXPECT_EQ(playback.answer(kPlace, false, hash_of(post, "body")), nullptr);
  const Place other = *parse_place("api.example:444", 0);
  EXPECT_EQ(playback.answer(other, true, hash_of(post, "body")), nullptr);
  EXPECT_EQ(answer_of(playback.answer(kPlace, true, hash_of(post, "body"))), "answer");
}

TEST(RecordingTest, KeepsTheTurnsOfAConnectionAndOnlyTheHashOfWhatTheGuestSent) {
  Taped taped;
  TapedExchange one(taped.tape, kPlace);
  one.answered("hel");
  one.answered("lo");
  one.sent("my pass");
  one.sent("word");
  one.answered("bye");
  one.end(End::kClosed);
  EXPECT_EQ(taped.bytes.find("pass"), std::string::npos);
  Playback playback(*Recording::parse(taped.bytes));
  EXPECT_TRUE(playback.server_begins(kPlace));
  const RecordedExchange* const found = playback.connection(kPlace);
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(found->turns.size(), 3U);
  EXPECT_EQ(found->turns[0].bytes, "hello");
  EXPECT_EQ(found->turns[1].size, 11U);
  EXPECT_EQ(found->turns[1].sha256, BytesHash().add("my password").hex());
  EXPECT_EQ(found->turns[2].bytes, "bye");
}

TEST(RecordingTest, AnAnswerThatEndsBeforeItsRequestSpoilsNothingElse) {
  Taped taped;
  TapedExchange early(taped.tape, nullptr, kPlace, /*secure=*/false, head_of("POST", "/upload"));
  early.answered("enough");
  early.end(End::kClosed);
  early.sent("and more");
  early.asked();
  taped.exchange(head_of("GET", "/a"), "", "answer");
  const auto recording = Recording::parse(taped.bytes);
  ASSERT_TRUE(recording) << recording.error().message();
  ASSERT_EQ(recording->exchanges.size(), 1U);
  EXPECT_EQ(recording->exchanges[0].target, "/a");
}

TEST(RecordingTest, WhatDoesNotFitIsLeftOutAndSaidSo) {
  Taped taped(400);
  const http::Head get = head_of("GET", "/a");
  taped.exchange(get, "", "short");
  EXPECT_FALSE(taped.full);
  taped.exchange(get, "", std::string(400, 'x'));
  taped.exchange(get, "", "short again");
  EXPECT_TRUE(taped.full);
  EXPECT_LE(taped.bytes.size(), 400U);
  const auto recording = Recording::parse(taped.bytes);
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->exchanges.size(), 1U);
}

TEST(RecordingTest, ASecretThatComesBackInPiecesIsNotKept) {
  const std::string value = "the-real-value-of-it";
  const Credentials credentials{.settings = {{.target = *CredentialTarget::parse("api.example"),
                                              .header = "Authorization",
                                              .value = "Bearer " + value}}};
  const CredentialFiller filler(credentials);
  Taped taped;
  TapedExchange one(taped.tape, &filler, kPlace, /*secure=*/true, head_of("GET", "/a"));
  one.asked();
  for (const std::string& piece : {std::string(20'000, 'a') + "the-real", std::string("-val"),
                                   "ue-of-it" + std::string(20'000, 'b')}) {
    one.answered(piece);
  }
  one.end(End::kKept);
  const auto recording = Recording::parse(taped.bytes);
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->exchanges.size(), 1U);
  EXPECT_EQ(recording->exchanges[0].turns.at(0).bytes,
            std::string(20'000, 'a') + std::string(value.size(), '*') + std::string(20'000, 'b'));
}

TEST(RecordingTest, IsRefusedWhereItIsCutOrMakesNoSense) {
  Taped taped;
  taped.tape.opened({.place = kPlace, .open = true, .refusal = 502, .connection = {}});
  taped.exchange(head_of("GET", "/a"), "", "answer");
  ASSERT_TRUE(Recording::parse(taped.bytes));
  EXPECT_FALSE(Recording::parse(taped.bytes.substr(0, taped.bytes.size() - 1)));
  EXPECT_FALSE(Recording::parse("x" + taped.bytes));
  EXPECT_FALSE(Recording::parse(taped.bytes + taped.bytes.substr(taped.bytes.size() - 10)));
  EXPECT_FALSE(Recording::parse(std::string(kMostRecorded + 1, '\0')));
}

TEST(PlaybackTest, ConnectionsGoAsTheyWentThatTimeAndTheLastOneCountsFromThenOn) {
  Taped taped;
  ConnectionRecord failed;
  failed.reason = "connect: refused";
  taped.tape.opened({.place = kPlace, .open = false, .refusal = 502, .connection = failed});
  taped.tape.opened({.place = kPlace, .open = true, .refusal = 502, .connection = {}});
  Playback playback(*Recording::parse(taped.bytes));
  EXPECT_EQ(playback.open(kPlace)->connection.reason, "connect: refused");
  EXPECT_TRUE(playback.open(kPlace)->open);
  EXPECT_TRUE(playback.open(kPlace)->open);
  EXPECT_EQ(playback.open(*parse_place("other.example:443", 0)), nullptr);
}

}  // namespace
}  // namespace glovebox::egress
