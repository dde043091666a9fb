// SPDX-License-Identifier: Apache-2.0
#include "audit/ocsf.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace glovebox::audit
