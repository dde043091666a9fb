// SPDX-License-Identifier: Apache-2.0
#include "audit/ocsf.h"

#include <gtest/gtest.h>

#include "base/json/json.h"

namespace glovebox::audit {
namespace {

TEST(OcsfTest, ARecordIsAnEventOfApiActivity) {
  const Record record{.number = 12,
                      .time = "2026-11-25T00:00:00.250Z",
                      .entry = {.tenant = "acme",
                                .key = "k1",
                                .door = "e2b",
                                .action = "sandbox.kill",
                                .sandbox = "sb1",
                                .decision = "refused",
                                .result = "refused",
                                .details = R"({"a":1})"},
                      .hash = "h"};
  const auto event = nlohmann::json::parse(to_ocsf(record, "0.1.0"));
  EXPECT_EQ(event["class_uid"], 6003);
  EXPECT_EQ(event["activity_id"], 4);
  EXPECT_EQ(event["type_uid"], 600304);
  EXPECT_EQ(event["status_id"], 2);
  EXPECT_EQ(event["time"], 1795564800250);
  EXPECT_EQ(event["metadata"]["sequence"], 12);
  EXPECT_EQ(event["actor"]["user"]["org"]["uid"], "acme");
  EXPECT_EQ(event["resources"][0]["uid"], "sb1");
  EXPECT_EQ(event["unmapped"]["a"], 1);
}

TEST(OcsfTest, WhatCodeDidHasItsActivityStatusAndSeverity) {
  const auto event = [](const std::string& action, const std::string& result) {
    const Record record{.number = 1,
                        .time = "2026-11-25T00:00:00.250Z",
                        .entry = {.action = action, .decision = "", .result = result}};
    return nlohmann::json::parse(to_ocsf(record, "0.1.0"));
  };
  EXPECT_EQ(event("process.start", "ok")["activity_id"], 1);
  EXPECT_EQ(event("files.change", "ok")["activity_id"], 3);
  EXPECT_EQ(event("files.write", "ok")["activity_id"], 3);
  EXPECT_EQ(event("files.remove", "ok")["activity_id"], 4);
  EXPECT_EQ(event("connection", "allowed")["status_id"], 1);
  EXPECT_EQ(event("connection", "denied")["status_id"], 2);
  EXPECT_EQ(event("connection", "denied")["severity_id"], 2);
  EXPECT_EQ(event("limit.hit", "ok")["severity_id"], 2);
  EXPECT_EQ(event("process.end", "error")["status_id"], 2);
}

}  // namespace
}  // namespace glovebox::audit
