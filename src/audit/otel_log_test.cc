// SPDX-License-Identifier: Apache-2.0
#include "audit/otel_log.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json/json.h"

namespace glovebox::audit {
namespace {

TEST(OtelLogTest, ARecordIsALogRecordWithTheRecordItselfAsItsBody) {
  const Record record{.number = 12,
                      .time = "2026-11-25T00:00:00.250Z",
                      .entry = {.tenant = "acme",
                                .key = "k1",
                                .door = "e2b",
                                .action = "sandbox.kill",
                                .sandbox = "sb1",
                                .decision = "refused",
                                .result = "refused"},
                      .hash = "h"};
  const auto request = nlohmann::json::parse(to_otel_log(record, R"({"seq":12})", "0.1.0"));
  const auto& log = request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
  EXPECT_EQ(log["timeUnixNano"], "1795564800250000000");
  EXPECT_EQ(log["severityNumber"], 13);
  EXPECT_EQ(log["severityText"], "WARN");
  EXPECT_EQ(log["body"]["stringValue"], R"({"seq":12})");
  std::map<std::string, nlohmann::json> said;
  for (const auto& each : log["attributes"]) {
    said[each["key"]] = each["value"];
  }
  EXPECT_EQ(said["event.name"]["stringValue"], "glovebox.sandbox.kill");
  EXPECT_EQ(said["glovebox.seq"]["intValue"], "12");
  EXPECT_EQ(said["glovebox.sandbox"]["stringValue"], "sb1");
  EXPECT_FALSE(said.contains("glovebox.context"));
}

}  // namespace
}  // namespace glovebox::audit
