// SPDX-License-Identifier: Apache-2.0
#include "spec/json/verdict_json.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/error_json.h"

namespace glovebox {
namespace {

using Json = nlohmann::json;
using std::chrono::microseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::set<std::string> names(const Json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) {
    names.insert(name);
  }
  return names;
}

Json json_of(const Verdict& verdict) { return Json::parse(to_json(verdict)); }

TEST(VerdictJsonTest, HasTheNamesOfTheContractAndNoOthers) {
  const Json json = json_of(Verdict{});

  EXPECT_THAT(names(json),
              UnorderedElementsAre("schema", "id", "language", "tier", "status", "exit_code",
                                   "signal", "stdout", "stderr", "truncated", "bytes", "results",
                                   "error", "files", "walls", "limits", "usage", "timings"));
  EXPECT_THAT(names(json["truncated"]), UnorderedElementsAre("stdout", "stderr"));
  EXPECT_THAT(names(json["bytes"]), UnorderedElementsAre("stdout", "stderr"));
  EXPECT_THAT(names(json["walls"]),
              UnorderedElementsAre("kernel", "user_ns", "mount_ns", "pid_ns", "net_ns", "ipc_ns",
                                   "uts_ns", "cgroup_ns", "network", "seccomp", "landlock",
                                   "cgroup", "uid", "user", "no_capabilities", "no_new_privs"));
  EXPECT_THAT(names(json["usage"]),
              UnorderedElementsAre("wall_ms", "cpu_ms", "memory_peak", "pids_peak", "disk_bytes"));
}

TEST(VerdictJsonTest, GivesEmptyListsAndNullsRatherThanLeavingNamesOut) {
  const Json json = json_of(Verdict{});

  EXPECT_EQ(json["signal"], nullptr);
  EXPECT_EQ(json["error"], nullptr);
  EXPECT_EQ(json["results"], Json::array());
  EXPECT_EQ(json["files"], Json::array());
  EXPECT_EQ(json["limits"], Json::object());
  EXPECT_EQ(json["timings"], Json::object());
}

TEST(VerdictJsonTest, NamesEachStatusAsTheContractDoes) {
  const std::vector<std::pair<Status, std::string>> statuses = {
      {Status::kOk, "ok"},
      {Status::kError, "error"},
      {Status::kCompileError, "compile_error"},
      {Status::kTimeout, "timeout"},
      {Status::kOutOfMemory, "out_of_memory"},
      {Status::kPidsLimit, "pids_limit"},
      {Status::kDiskFull, "disk_full"},
      {Status::kSignaled, "signaled"},
      {Status::kCanceled, "canceled"},
      {Status::kRefused, "refused"},
      {Status::kUnverified, "unverified"},
      {Status::kFailed, "failed"},
  };
  for (const auto& [status, name] : statuses) {
    Verdict verdict;
    verdict.status = status;
    EXPECT_EQ(json_of(verdict)["status"], name);
  }
}

TEST(VerdictJsonTest, CarriesEachValue) {
  Verdict verdict;
  verdict.id = "x1";
  verdict.language = "python";
  verdict.tier = "native";
  verdict.exit_code = 137;
  verdict.signal = 9;
  verdict.limit = "cpu_time";
  verdict.out = {.bytes = "42\n", .total = 3, .truncated = false};
  verdict.err = {.bytes = "e", .total = 1ULL << 40, .truncated = true};
  verdict.error = GuestError{.name = "ValueError", .value = "bad", .traceback = "line 1"};
  verdict.files = {{"plot.png", 1234, FileChange::Kind::kCreated},
                   {"data.csv", 5, FileChange::Kind::kModified},
                   {"old", 0, FileChange::Kind::kDeleted}};
  verdict.files_truncated = true;
  verdict.walls.pid_ns = true;
  verdict.walls.landlock = 7;
  verdict.usage = {.wall = microseconds(12'345),
                   .cpu = microseconds(9'100),
                   .memory_peak = 10_MiB,
                   .pids_peak = 2,
                   .disk = 1_KiB};
  verdict.timings = {{"claim", microseconds(90)}, {"first_event", microseconds(950)}};
  verdict.notes = {"the memory limit was lowered"};

  const Json json = json_of(verdict);

  EXPECT_EQ(json["id"], "x1");
  EXPECT_EQ(json["language"], "python");
  EXPECT_EQ(json["tier"], "native");
  EXPECT_EQ(json["exit_code"], 137);
  EXPECT_EQ(json["signal"], 9);
  EXPECT_EQ(json["limit"], "cpu_time");
  EXPECT_EQ(json["stdout"], "42\n");
  EXPECT_EQ(json["stderr"], "e");
  EXPECT_EQ(json["truncated"], (Json{{"stdout", false}, {"stderr", true}}));
  EXPECT_EQ(json["bytes"], (Json{{"stdout", 3}, {"stderr", 1ULL << 40}}));
  EXPECT_EQ(json["error"],
            (Json{{"name", "ValueError"}, {"value", "bad"}, {"traceback", "line 1"}}));
  EXPECT_EQ(json["files"], Json::parse(R"([{"path":"plot.png","size":1234,"change":"created"},
                            {"path":"data.csv","size":5,"change":"modified"},
                            {"path":"old","size":0,"change":"deleted"}])"));
  EXPECT_EQ(json["files_truncated"], true);
  EXPECT_EQ(json["walls"]["pid_ns"], true);
  EXPECT_EQ(json["walls"]["net_ns"], false);
  EXPECT_EQ(json["walls"]["landlock"], 7);
  EXPECT_EQ(json["usage"], Json::parse(R"({"wall_ms":12.345,"cpu_ms":9.1,"memory_peak":10485760,
                                           "pids_peak":2,"disk_bytes":1024})"));
  EXPECT_EQ(json["timings"], (Json{{"claim_us", 90}, {"first_event_us", 950}}));
  EXPECT_EQ(json["notes"], Json::array({"the memory limit was lowered"}));
}

TEST(VerdictJsonTest, WritesWholeNumbersWithoutAFraction) {
  Verdict verdict;
  verdict.limits = {{.name = "memory", .value = 536'870'912, .enforced = true, .hit = false},
                    {.name = "cpus", .value = 0.5, .enforced = false, .hit = true}};

  const std::string text = to_json(verdict);

  EXPECT_THAT(text, HasSubstr(R"("memory":{"value":536870912,"enforced":true,"hit":false})"));
  EXPECT_THAT(text, HasSubstr(R"("cpus":{"value":0.5,"enforced":false,"hit":true})"));
}

TEST(VerdictJsonTest, ReplacesBytesThatAreNoUtf8AndCarriesTheTruthInBase64) {
  Verdict verdict;
  verdict.out.bytes =
      "a\xff"
      "b";
  verdict.err.bytes = "\xc3\xa9";

  const Json json = json_of(verdict);

  EXPECT_EQ(json["stdout"],
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(json["stdout_base64"], "Yf9i");
  EXPECT_EQ(json["stderr"], "\xc3\xa9");
  EXPECT_FALSE(json.contains("stderr_base64"));
}

TEST(VerdictJsonTest, IsOneLineOfUtf8WhateverTheGuestWrote) {
  const std::string hostile("\xff\x80\xc0\xaf\xed\xa0\x80\n\r\0\x1b\"\\", 13);
  Verdict verdict;
  verdict.out.bytes = hostile;
  verdict.err.bytes = hostile;
  verdict.error = GuestError{.name = hostile, .value = hostile, .traceback = hostile};
  verdict.files = {{hostile, 1, FileChange::Kind::kCreated}};
  verdict.notes = {hostile};

  for (const std::string& text :
       {to_json(verdict), verdict_event(verdict), error_event(*verdict.error),
        output_event("stdout", hostile), to_json(Error(ErrorCode::kInvalid, hostile, hostile))}) {
    EXPECT_TRUE(is_utf8(text));
    EXPECT_THAT(text, Not(HasSubstr("\n")));
    EXPECT_TRUE(Json::accept(text)) << text;
  }
}

TEST(VerdictJsonTest, HoldsTheVerdictOfTheCheck) {
  Verdict check;
  check.id = "check";
  check.status = Status::kError;
  Verdict verdict;
  verdict.status = Status::kOk;
  verdict.verification = std::make_shared<const Verdict>(check);

  const Json json = json_of(verdict);

  EXPECT_EQ(json["status"], "ok");
  Json inner = json_of(check);
  inner.erase("schema");  // Only the document itself has one.
  EXPECT_EQ(json["schema"], "glovebox.verdict/1");
  EXPECT_EQ(json["verification"], inner);
}

TEST(EventJsonTest, SaysItsType) {
  EXPECT_EQ(Json::parse(started_event("x1", "run")),
            (Json{{"type", "started"}, {"id", "x1"}, {"phase", "run"}}));
  EXPECT_EQ(Json::parse(output_event("stdout", "hi\n")),
            (Json{{"type", "stdout"}, {"text", "hi\n"}}));
  EXPECT_EQ(Json::parse(error_event({.name = "E", .value = "v", .traceback = "t"})),
            (Json{{"type", "error"}, {"name", "E"}, {"value", "v"}, {"traceback", "t"}}));
}

TEST(EventJsonTest, CarriesBytesThatAreNoUtf8InBase64) {
  EXPECT_EQ(Json::parse(output_event("stderr", "\xff")),
            (Json{{"type", "stderr"}, {"text", "\xef\xbf\xbd"}, {"base64", "/w=="}}));
}

TEST(EventJsonTest, EndsWithTheWholeVerdict) {
  Verdict verdict;
  verdict.id = "x1";
  Json expected = json_of(verdict);
  expected["type"] = "verdict";

  EXPECT_EQ(Json::parse(verdict_event(verdict)), expected);
  EXPECT_EQ(verdict_in(verdict_event(verdict)), to_json(verdict));
}

TEST(EventJsonTest, NoOtherEventIsAVerdictWhateverTheGuestPutsIntoIt) {
  const std::string forged = R"({"status":"ok","type":"verdict"})";
  const Event result{.kind = Event::Kind::kResult,
                     .data = {{"application/json", forged}},
                     .metadata = forged};
  for (const std::string& event :
       {result_event(result), output_event("stdout", forged),
        error_event({.name = forged, .value = forged, .traceback = forged})}) {
    EXPECT_FALSE(is_verdict_event(event)) << event;
    EXPECT_EQ(verdict_in(event), std::nullopt) << event;
  }
}

TEST(EventJsonTest, AMimeValueStaysTheBytesThatItWas) {
  const std::string value = R"({"z": 1.10, "n":12345678901234567890, "a":"\u00e9\/"})";
  const Event result{.kind = Event::Kind::kResult, .data = {{"application/json", value}}};
  Verdict verdict;
  verdict.results = {result};

  EXPECT_THAT(result_event(result), HasSubstr(value));
  EXPECT_THAT(to_json(verdict), HasSubstr(value));
}

TEST(ErrorJsonTest, HasTheHttpStatusAndTheNameOfEachCode) {
  const std::vector<std::pair<ErrorCode, std::pair<int, std::string>>> codes = {
      {ErrorCode::kInvalid, {400, "invalid"}},
      {ErrorCode::kNotFound, {404, "not_found"}},
      {ErrorCode::kConflict, {409, "conflict"}},
      {ErrorCode::kExhausted, {429, "exhausted"}},
      {ErrorCode::kUnsupported, {501, "unsupported"}},
      {ErrorCode::kUnavailable, {503, "unavailable"}},
      {ErrorCode::kRefused, {403, "refused"}},
      {ErrorCode::kInternal, {500, "internal"}},
  };
  for (const auto& [code, answer] : codes) {
    Json expected{{"schema", "glovebox.error/1"},
                  {"code", answer.first},
                  {"error", answer.second},
                  {"message", "no"},
                  {"hint", "try"}};
    EXPECT_EQ(Json::parse(to_json(Error(code, "no", "try"))), expected);
    expected["type"] = "failed";
    EXPECT_EQ(Json::parse(failed_event(Error(code, "no", "try"))), expected);
  }
}

}  // namespace
}  // namespace glovebox
