// SPDX-License-Identifier: Apache-2.0
#include "audit/record.h"

#include <gtest/gtest.h>

#include "audit/record_hash.h"
#include "base/digest/digest.h"

namespace glovebox::audit {
namespace {

const Entry kEntry{.tenant = "acme",
                   .key = "0123456789abcdef",
                   .door = "rest",
                   .action = "sandbox.kill",
                   .sandbox = "sb1",
                   .details = R"({"connections":2})"};

std::string line() {
  std::string text = body_of(fields_of(kEntry), 7, no_hash(), "2026-11-25T01:02:03.004Z", 99);
  (void)end_line(text);
  text.pop_back();
  return text;
}

TEST(RecordTest, ALineIsReadAsItWasWritten) {
  const auto record = parse_record(line());
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(record->number, 7);
  EXPECT_EQ(record->uptime_ms, 99);
  EXPECT_EQ(record->time, "2026-11-25T01:02:03.004Z");
  EXPECT_EQ(record->entry.tenant, "acme");
  EXPECT_EQ(record->entry.sandbox, "sb1");
  EXPECT_EQ(record->entry.details, R"({"connections":2})");
  EXPECT_EQ(record->entry.result, "ok");
}

TEST(RecordTest, TheHashIsOfTheBytesInFrontOfIt) {
  const std::string text = line();
  const auto link = parse_link(text);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->hash, sha256_hex(text.substr(0, text.size() - 75)));
  EXPECT_EQ(link->hashed.size(), text.size() - 75);
  EXPECT_TRUE(link->signature.empty());
}

TEST(RecordTest, TextIsCutAndNeverBreaksALine) {
  Entry hostile = kEntry;
  hostile.subject = std::string("a\"},\"hash\":\"b\n\0\xff", 17) + std::string(5000, 'x');
  std::string text = body_of(fields_of(hostile), 1, no_hash(), "t", 0);
  (void)end_line(text);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_LT(text.size(), 2000);
  EXPECT_TRUE(parse_record(std::string_view(text).substr(0, text.size() - 1)));
}

TEST(RecordTest, WhatIsNoRecordIsRefused) {
  const std::string good = line();
  for (const std::string& bad :
       {std::string(), std::string("{}"), good.substr(1), good.substr(0, good.size() - 1),
        R"({"seq":0)" + good.substr(8), R"({"seq":07)" + good.substr(8),
        R"({"seq":99999999999999999999)" + good.substr(8), good + "}",
        std::string(kMostLine + 1, 'x')}) {
    EXPECT_FALSE(parse_record(bad)) << bad.substr(0, 60);
  }
  std::string twice = good;
  twice.insert(twice.find(R"("action")"), R"("tenant":"other",)");
  EXPECT_FALSE(parse_record(twice)) << "a name that is there twice";
}

}  // namespace
}  // namespace glovebox::audit
