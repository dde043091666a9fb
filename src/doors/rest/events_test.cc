// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "doors/rest/door.h"
#include "doors/rest/event_stream.h"
#include "doors/rest/fake_service.h"
#include "doors/transport/test_client.h"

namespace glovebox::rest {
namespace {

using http::Answer;
using http::TestClient;

constexpr const char* kExecute = "/v1/sandboxes/sb1/contexts/c1/execute";

class EventsTest : public testing::Test {
 protected:
  EventsTest() : door_(service_, {}) {
    service_.execution = [](const EventSink& sink) -> Result<void> {
      (void)sink(R"({"type":"started"})");
      (void)sink(R"({"type":"stdout","text":"hi\n"})");
      (void)sink(R"({"id":"e","status":"ok","type":"verdict"})");
      return {};
    };
    http::ServerOptions options;
    options.listen = "127.0.0.1:0";
    auto started =
        http::Server::start(options, [this](http::Request& request, http::Response& response) {
          door_.handle(Arrival(request), response);
        });
    EXPECT_TRUE(started);
    server_ = *std::move(started);
  }

  Answer execute(const char* accept, std::string_view body = R"({"code":"x"})") {
    return TestClient::tcp(server_->port())
        .request("POST", kExecute, {{"X-API-KEY", "runner"}, {"Accept", accept}}, body);
  }

  FakeService service_;
  RestDoor door_;
  std::unique_ptr<http::Server> server_;
};

TEST_F(EventsTest, AnExecutionAnswersItsVerdict) {
  const Answer answer = execute("*/*", R"({"code":"x","limits":{"time":"2s"}})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"id":"e","status":"ok"})"
                         "\n");
  EXPECT_EQ(service_.executed.code, "x");
  EXPECT_EQ(service_.executed.limits.wall, std::chrono::seconds(2));
}

TEST_F(EventsTest, OrItsEventsAsLinesOrServerSentEvents) {
  EXPECT_EQ(execute("application/x-ndjson").body,
            "{\"type\":\"started\"}\n{\"type\":\"stdout\",\"text\":\"hi\\n\"}\n"
            "{\"id\":\"e\",\"status\":\"ok\",\"type\":\"verdict\"}\n");
  const Answer sent = execute("text/event-stream");
  EXPECT_EQ(sent.header("Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_TRUE(sent.body.starts_with("data: {\"type\":\"started\"}\n\ndata: ")) << sent.body;
}

TEST_F(EventsTest, WhatFailsBeforeTheFirstEventHasAStatusAndAfterItAnEvent) {
  service_.execution = [](const EventSink&) -> Result<void> {
    return Error(ErrorCode::kUnavailable, "the sandbox died");
  };
  EXPECT_EQ(execute("application/x-ndjson").status, 503);
  service_.execution = [](const EventSink& sink) -> Result<void> {
    (void)sink(R"({"type":"started"})");
    return Error(ErrorCode::kUnavailable, "the sandbox died");
  };
  const Answer answer = execute("application/x-ndjson");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, testing::HasSubstr(R"("message":"the sandbox died")"));
  EXPECT_THAT(answer.body, testing::HasSubstr(R"("type":"failed")"));
  EXPECT_EQ(execute("*/*").status, 503);
}

TEST_F(EventsTest, AClientThatGoesAwayStopsWhatRunsForIt) {
  for (const char* accept : {"*/*", "application/x-ndjson"}) {
    std::promise<void> began;
    std::promise<void> told;
    service_.execution = [&](const EventSink& sink) -> Result<void> {
      (void)sink(R"({"type":"started"})");
      began.set_value();
      // As the service does while nothing happens, but quicker.
      while (sink({})) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      told.set_value();
      return {};
    };
    TestClient client = TestClient::tcp(server_->port());
    ASSERT_TRUE(client.write(std::string("POST ") + kExecute +
                             " HTTP/1.1\r\nHost: a\r\nX-API-KEY: runner\r\nAccept: " + accept +
                             "\r\nContent-Length: 12\r\n\r\n{\"code\":\"x\"}"));
    began.get_future().wait();
    client.close();
    EXPECT_EQ(told.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  }
}

TEST_F(EventsTest, SilenceIsFilledWithKeepalives) {
  service_.execution = [&](const EventSink& sink) -> Result<void> {
    const auto until = std::chrono::steady_clock::now() + kKeepalive + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < until && sink({})) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    (void)sink(R"({"id":"e","type":"verdict"})");
    return {};
  };
  EXPECT_EQ(execute("application/x-ndjson").body,
            "{\"type\":\"keepalive\"}\n{\"id\":\"e\",\"type\":\"verdict\"}\n");
}

TEST_F(EventsTest, AWebSocketExecutesOneAfterTheOther) {
  TestClient client = TestClient::tcp(server_->port());
  ASSERT_TRUE(client.open_websocket(kExecute, {{"X-API-KEY", "runner"}}));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.write_frame(1, R"({"code":"x"})"));
    for (const char* type : {"started", "stdout", "verdict"}) {
      const auto frame = client.read_frame();
      ASSERT_TRUE(frame);
      EXPECT_THAT(frame->second, testing::HasSubstr(type));
    }
  }
  ASSERT_TRUE(client.write_frame(1, R"({"code":"x","cod":"x"})"));
  const auto frame = client.read_frame();
  ASSERT_TRUE(frame);
  EXPECT_THAT(frame->second, testing::HasSubstr("unknown field 'cod'"));
  TestClient other = TestClient::tcp(server_->port());
  EXPECT_FALSE(
      other.open_websocket("/v1/sandboxes/sb1/contexts/c9/execute", {{"X-API-KEY", "runner"}}));
}

TEST_F(EventsTest, AProcessAnswersItsNumberOrItsEvents) {
  service_.process = [](const ProcessSink& sink) -> Result<void> {
    using Kind = ProcessEvent::Kind;
    (void)(sink({.kind = Kind::kStarted, .pid = 5}) &&
           sink({.kind = Kind::kStdout, .pid = 5, .bytes = "out"}) && sink({.kind = Kind::kIdle}) &&
           sink({.kind = Kind::kEnded, .pid = 5, .exit_code = 3, .reason = Status::kError}));
    return {};
  };
  const std::string path = "/v1/sandboxes/sb1/processes";
  const std::string body = R"({"argv":["sh","-c","x"],"terminal":{"columns":100}})";
  const Answer number =
      TestClient::tcp(server_->port()).request("POST", path, {{"X-API-KEY", "runner"}}, body);
  EXPECT_EQ(number.status, 201);
  EXPECT_EQ(number.body, R"({"pid":5,"schema":"glovebox.process/1"})"
                         "\n");
  ASSERT_TRUE(service_.started.terminal);
  EXPECT_EQ(service_.started.terminal->columns, 100);
  const Answer events =
      TestClient::tcp(server_->port())
          .request("POST", path, {{"X-API-KEY", "runner"}, {"Accept", "application/x-ndjson"}},
                   body);
  EXPECT_EQ(
      events.body,
      "{\"pid\":5,\"type\":\"started\"}\n{\"type\":\"stdout\",\"text\":\"out\"}\n"
      "{\"exit_code\":3,\"pid\":5,\"reason\":\"error\",\"signal\":null,\"type\":\"ended\"}\n");
}

TEST_F(EventsTest, ATerminalSpeaksBytesAndTakesControls) {
  std::promise<void> end;
  auto ended = end.get_future();
  service_.process = [&](const ProcessSink& sink) -> Result<void> {
    using Kind = ProcessEvent::Kind;
    (void)sink({.kind = Kind::kTerminal, .pid = 5, .bytes = "\x1b[1m$ \xff"});
    ended.wait();
    (void)sink({.kind = Kind::kEnded, .pid = 5});
    return {};
  };
  TestClient client = TestClient::tcp(server_->port());
  ASSERT_TRUE(client.open_websocket("/v1/sandboxes/sb1/processes/5", {{"X-API-KEY", "runner"}}));
  EXPECT_EQ(client.read_frame(), std::optional(std::pair(2, std::string("\x1b[1m$ \xff"))));
  ASSERT_TRUE(client.write_frame(2, "ls\n"));
  ASSERT_TRUE(client.write_frame(1, R"({"resize":{"columns":132,"rows":50}})"));
  ASSERT_TRUE(client.write_frame(1, R"({"signal":"SIGINT"})"));
  ASSERT_TRUE(client.write_frame(1, R"({"resize":{"columns":0}})"));
  const auto refused = client.read_frame();
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->second, testing::HasSubstr("resize.columns"));
  EXPECT_EQ(service_.written, "ls\n");
  EXPECT_EQ(service_.resized.columns, 132);
  EXPECT_EQ(service_.signaled, 2);
  end.set_value();
  const auto last = client.read_frame();
  ASSERT_TRUE(last);
  EXPECT_THAT(last->second, testing::HasSubstr("ended"));
  const auto closed = client.read_frame();
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->first, 8);
}

}  // namespace
}  // namespace glovebox::rest
