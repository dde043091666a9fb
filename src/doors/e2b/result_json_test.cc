// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/result_json.h"

#include <gtest/gtest.h>

#include "doors/e2b/process_json.h"

namespace glovebox::e2b {
namespace {

Json line_of(ExecutionLines& lines, const Json& event) {
  const std::string text = lines.take(event.dump());
  return text.empty() ? Json() : Json::parse(text);
}

TEST(ResultTest, HasTheFieldsOfClientsAndNoOthers) {
  const Json bundle{{"text/plain", "'x'"},
                    {"text/html", "<b>"},
                    {"image/png", "aGk="},
                    {"application/json", {{"a", nullptr}}},
                    {"application/vnd.glovebox.chart+json",
                     {{"type", "line"}, {"title", nullptr}, {"truncated", true}}},
                    {"application/x-own", 1}};

  EXPECT_EQ(result_fields(bundle, true), (Json{{"type", "result"},
                                               {"is_main_result", true},
                                               {"text", "x"},
                                               {"html", "<b>"},
                                               {"png", "aGk="},
                                               {"json", {{"a", nullptr}}},
                                               {"chart", {{"type", "line"}, {"title", nullptr}}},
                                               {"extra", {{"application/x-own", 1}}}}));
}

TEST(ResultTest, ATableBecomesItsColumns) {
  const Json table = Json::parse(
      R"({"columns":[{"name":"n","values":[1,2]},{"name":"s","values":["a",null]},{"values":[]}]})");

  EXPECT_EQ(result_fields({{"application/vnd.glovebox.table+json", table}}, false)["data"],
            (Json{{"n", {1, 2}}, {"s", {"a", nullptr}}}));
}

TEST(ExecutionLinesTest, LinesAreAsciiAndEndWithABreak) {
  ExecutionLines lines;
  const std::string line = lines.take(R"({"type":"stdout","text":"ü€"})");

  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  for (const char c : line) {
    EXPECT_GE(c, 0);
  }
  EXPECT_EQ(Json::parse(line)["text"], "ü€");
}

TEST(ExecutionLinesTest, TellsTheCountAtTheStart) {
  ExecutionLines lines;

  EXPECT_EQ(line_of(lines, {{"type", "started"}, {"execution_count", 4}}),
            (Json{{"type", "number_of_executions"}, {"execution_count", 4}}));
  EXPECT_EQ(line_of(lines, {{"type", "verdict"}, {"status", "ok"}, {"execution_count", 4}}),
            (Json{{"type", "end_of_execution"}}));
  EXPECT_EQ(lines.status(), "ok");
}

TEST(ExecutionLinesTest, ThereIsAtMostOneErrorAndItHasNoColours) {
  ExecutionLines lines;
  const Json error{{"type", "error"},
                   {"name", "E"},
                   {"value", "v"},
                   {"traceback", "\x1b[31mred\x1b[0m"}};

  EXPECT_EQ(line_of(lines, error)["traceback"], "red");
  EXPECT_EQ(lines.take(error.dump()), "");
  EXPECT_EQ(line_of(lines, {{"type", "verdict"}, {"status", "error"}})["type"], "end_of_execution");
}

TEST(ExecutionLinesTest, AnEndThatNoExceptionExplainsIsAnError) {
  for (const auto& [status, name] :
       {std::pair{"out_of_memory", "UnexpectedEndOfExecution"},
        std::pair{"signaled", "UnexpectedEndOfExecution"}, std::pair{"timeout", "ExecutionAborted"},
        std::pair{"canceled", "ExecutionAborted"}}) {
    ExecutionLines lines;
    const std::string text =
        lines.take(Json{{"type", "verdict"}, {"status", status}, {"error", nullptr}}.dump());
    EXPECT_EQ(Json::parse(text.substr(0, text.find('\n')))["name"], name) << status;
  }
}

TEST(ExecutionLinesTest, WhatIsNoEventIsPassedOver) {
  ExecutionLines lines;
  for (const char* event : {"", "x", "[]", R"({"type":7})", R"({"type":"result","data":3})",
                            R"({"type":"result","data":{},"update":true})"}) {
    EXPECT_EQ(lines.take(event), "") << event;
  }
  EXPECT_EQ(lines.take(R"({"type":"result","data":)" + std::string(100'000, '[')), "");
}

TEST(ProcessEventTest, AnEndIsToldAsGoTellsIt) {
  EXPECT_EQ(end_status(3, std::nullopt), "exit status 3");
  EXPECT_EQ(end_status(137, 9), "signal: killed");
  ProcessEvent event;
  event.kind = ProcessEvent::Kind::kEnded;
  event.exit_code = 137;
  event.signal = 9;
  EXPECT_EQ(event_json(event).at(0)["event"]["end"]["exitCode"], -1);
  event.reason = Status::kOutOfMemory;
  EXPECT_EQ(event_json(event).at(0)["event"]["end"]["error"], "signal: killed (out of memory)");
}

TEST(ProcessEventTest, LongOutputComesInSeveralMessages) {
  ProcessEvent event;
  event.kind = ProcessEvent::Kind::kStdout;
  event.bytes = std::string(70'000, 'x');

  EXPECT_EQ(event_json(event).size(), 3U);
}

}  // namespace
}  // namespace glovebox::e2b
