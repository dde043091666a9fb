// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "doors/rest/fake_service.h"
#include "doors/rest/openapi.h"
#include "doors/rest/routes.h"
#include "doors/transport/request_log.h"
#include "doors/transport/test_client.h"
#include "service/guarded/guarded_service.h"

namespace glovebox::rest {
namespace {

using http::Answer;
using http::TestClient;
using HeaderList = std::vector<std::pair<std::string, std::string>>;
using testing::HasSubstr;

class DoorTest : public testing::Test {
 protected:
  void SetUp() override {
    RestOptions options;
    options.metrics = [this](const Caller&) { return requests_.text(); };
    options.approvals = &guarded_;
    door_ = std::make_unique<RestDoor>(guarded_, std::move(options));
    http::ServerOptions server;
    server.listen = "127.0.0.1:0";
    server.unix_path = service_.workspace + ".sock";
    auto started =
        http::Server::start(server, [this](http::Request& request, http::Response& response) {
          requests_.watch(request, response, [&](http::Response& watched) {
            door_->handle(Arrival(request), watched);
          });
        });
    ASSERT_TRUE(started) << started.error().message();
    server_ = *std::move(started);
  }

  Answer ask(std::string_view method,
             std::string_view target,
             std::string_view body = {},
             const HeaderList& headers = {{"X-API-KEY", "runner"}}) {
    return TestClient::tcp(server_->port()).request(method, target, headers, body);
  }
  static Json json(const Answer& answer) { return Json::parse(answer.body, nullptr, false); }

  FakeService service_;
  PolicyGate policies_{service_, {}};
  GuardedService guarded_{service_, policies_};
  http::RequestLog requests_{[this](std::string_view line) {
    const std::scoped_lock lock(mutex_);
    log_.emplace_back(line);
    logged_.notify_all();
  }};
  std::unique_ptr<RestDoor> door_;
  std::mutex mutex_;
  std::vector<std::string> log_;
  std::condition_variable logged_;
  std::unique_ptr<http::Server> server_;
};

std::string key_for(const Route& route) {
  return route.scope == kScopeAdmin || route.scope == kScopeApprove ? "admin" : "runner";
}

std::string example(const Route& route) {
  std::string path(route.pattern);
  for (const auto& [name, value] : HeaderList{{"{id}", "sb1"},
                                              {"{cid}", "c1"},
                                              {"{pid}", "5"},
                                              {"{port}", "80"},
                                              {"{path*}", "a"}}) {
    if (const std::size_t at = path.find(name); at != std::string::npos) {
      path.replace(at, name.size(), value);
    }
  }
  return path;
}

TEST_F(DoorTest, NoRouteAnswersWithoutAKeyButTheOpenOnes) {
  for (const Route& route : routes()) {
    const std::string path = example(route);
    const std::string method(route.method == "*" ? "POST" : route.method);
    for (const HeaderList& headers :
         {HeaderList{}, HeaderList{{"X-API-KEY", "wrong"}}, HeaderList{{"X-API-KEY", ""}},
          HeaderList{{"Authorization", "Bearer wrong"}}, HeaderList{{"Authorization", "runner"}},
          HeaderList{{"Authorization", "Basic runner"}},
          HeaderList{{"X-API-KEY", std::string(4'000, 'k')}}}) {
      const Answer answer = ask(method, path, {}, headers);
      if (route.scope.empty()) {
        EXPECT_EQ(answer.status, 200) << path;
      } else {
        EXPECT_EQ(answer.status, 401) << method << " " << path;
        EXPECT_EQ(answer.header("WWW-Authenticate"), "Bearer");
      }
    }
  }
  EXPECT_EQ(service_.calls, 0) << "the service was asked for somebody without a key";
}

TEST_F(DoorTest, NoRouteAnswersAKeyWithoutItsScope) {
  for (const Route& route : routes()) {
    if (route.scope.empty()) {
      continue;
    }
    const std::string method(route.method == "*" ? "POST" : route.method);
    service_.calls = 0;
    if (route.scope != "read") {
      const Answer answer = ask(method, example(route), {}, {{"X-API-KEY", "reader"}});
      EXPECT_EQ(answer.status, 403) << method << " " << example(route);
      EXPECT_EQ(service_.calls, 0) << example(route);
    }
    if (route.scope == kScopeAdmin || route.scope == kScopeApprove) {
      EXPECT_EQ(ask(method, example(route)).status, 403) << example(route);
    }
  }
}

TEST_F(DoorTest, WhatHasEndedIsGoneAndTheReasonIsTold) {
  for (const Route& route : routes()) {
    const std::string path = example(route);
    // What fails before the service is asked is told as ever.
    if (!path.starts_with("/v1/sandboxes/sb1") || route.method != "DELETE") {
      continue;
    }
    const Answer answer = ask("DELETE", "/v1/sandboxes/sb0" + path.substr(17));
    EXPECT_EQ(answer.status, 410) << path;
    const Json body = Json::parse(answer.body);
    EXPECT_EQ(body["error"], "gone");
    EXPECT_EQ(body["reason"], "out_of_memory");
    EXPECT_EQ(body["ended_at"], "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(body["message"], "sandbox 'sb0' has ended: it ran out of memory");
  }
  EXPECT_EQ(ask("GET", "/v1/sandboxes/sb0").status, 410);
  EXPECT_EQ(ask("GET", "/v1/sandboxes/sb2").status, 404);
  EXPECT_EQ(ask("GET", "/v1/volumes/sb0").status, 404);
}

TEST_F(DoorTest, AContextThatWasDeletedIsGone) {
  const Answer answer = ask("DELETE", "/v1/sandboxes/sb1/contexts/c0");
  EXPECT_EQ(answer.status, 410);
  EXPECT_EQ(Json::parse(answer.body)["message"], "context 'c0' has ended: it was deleted");
  EXPECT_EQ(ask("DELETE", "/v1/sandboxes/sb1/contexts/c2").status, 404);
}

TEST_F(DoorTest, TheUnixSocketNeedsNoKeyButAWrongOneIsStillWrong) {
  const std::string path = service_.workspace + ".sock";
  EXPECT_EQ(TestClient::unix_socket(path).request("GET", "/v1/sandboxes").status, 200);
  EXPECT_EQ(TestClient::unix_socket(path)
                .request("GET", "/v1/sandboxes", {{"X-API-KEY", "wrong"}})
                .status,
            401);
}

TEST_F(DoorTest, ASandboxIsMadeAsAskedFor) {
  const Answer answer =
      ask("POST", "/v1/sandboxes", R"({"template": "data", "metadata": {"a": "b"}})",
          {{"Authorization", "Bearer runner"}, {"Idempotency-Key", "once"}});
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer.header("Location"), "/v1/sandboxes/sb1");
  EXPECT_EQ(json(answer)["id"], "sb1");
  EXPECT_EQ(json(answer)["walls"]["user_ns"], true);
  EXPECT_EQ(service_.created.template_name, "data");
  EXPECT_EQ(service_.created.idempotency_key, "once");
}

TEST_F(DoorTest, WhatIsWrongWithABodyIsSaid) {
  const Answer answer = ask("POST", "/v1/sandboxes", R"({"limits": {"memroy": 1}})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(json(answer)["code"], 400);
  EXPECT_EQ(json(answer)["error"], "invalid");
  EXPECT_EQ(json(answer)["message"], "unknown field 'limits.memroy'");
  EXPECT_THAT(json(answer)["hint"].get<std::string>(), HasSubstr("memory"));
  EXPECT_EQ(ask("POST", "/v1/sandboxes", std::string(2 << 20, ' ')).status, 413);
  EXPECT_EQ(ask("POST", "/v1/sandboxes", "x=y",
                {{"X-API-KEY", "runner"}, {"Content-Type", "application/x-www-form-urlencoded"}})
                .status,
            400);
}

TEST_F(DoorTest, NoRouteTakesMoreThanItsTableSays) {
  const Json api = Json::parse(openapi_text(), nullptr, false);
  std::size_t tried = 0;
  for (const Route& route : routes()) {
    std::string method(route.method);
    std::ranges::transform(method, method.begin(),
                           [](char c) { return static_cast<char>(c | 0x20); });
    const std::string pattern(route.pattern);
    if (route.method == "*" || pattern.find('*') != std::string::npos) {
      continue;
    }
    const Json& operation = api["paths"][pattern][method];
    EXPECT_EQ(operation.value("x-max-body", kSmallBody), route.body) << pattern;
    if (!operation.contains("requestBody") ||
        !operation["requestBody"]["content"].contains("application/json")) {
      continue;
    }
    const std::string path = example(route);
    const Answer answer =
        ask(route.method, path, std::string(route.body + 1, ' '), {{"X-API-KEY", key_for(route)}});
    EXPECT_EQ(answer.status, 413) << route.method << " " << path;
    EXPECT_FALSE(json(answer)["hint"].get<std::string>().empty()) << path;
    const Answer fits =
        ask(route.method, path, std::string(route.body, ' '), {{"X-API-KEY", key_for(route)}});
    EXPECT_NE(fits.status, 413) << route.method << " " << path;
    ++tried;
  }
  EXPECT_GT(tried, 20U);
}

TEST_F(DoorTest, QuotasSayWhenToComeBack) {
  service_.create_outcome = Error(ErrorCode::kExhausted, "too many", "at most 3 at once")
                                .with_retry_after(std::chrono::seconds(17));
  const Answer answer = ask("POST", "/v1/sandboxes");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.header("Retry-After"), "17");
}

TEST_F(DoorTest, ListsArePaged) {
  const Answer answer = ask("GET", "/v1/sandboxes?limit=5&after=tok%2B&state=paused&metadata.k=v");
  EXPECT_EQ(json(answer)["next"], "more");
  EXPECT_EQ(service_.queried.limit, 5);
  EXPECT_EQ(service_.queried.after, "tok+");
  EXPECT_EQ(service_.queried.metadata.at("k"), "v");
  EXPECT_EQ(service_.queried.states, std::vector{SandboxState::kPaused});
  for (const char* query : {"limit=0", "limit=1001", "limit=x", "state=dead", "unknown=1"}) {
    EXPECT_EQ(ask("GET", std::string("/v1/sandboxes?") + query).status, 400) << query;
  }
}

TEST_F(DoorTest, WhatIsNotThereIs404AndWrongMethodsSayTheRightOnes) {
  EXPECT_EQ(ask("GET", "/v1/sandboxes/other").status, 404);
  EXPECT_EQ(ask("GET", "/v1/nothing").status, 404);
  EXPECT_EQ(ask("GET", "/v1/sandboxes/").status, 404);
  const Answer answer = ask("PUT", "/v1/sandboxes/sb1");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.header("Allow"), "GET, PATCH, DELETE");
  EXPECT_EQ(ask("GET", "/v1/audit", {}, {{"X-API-KEY", "admin"}}).status, 501);
}

TEST_F(DoorTest, PackagesAreInstalledLikeAnExecution) {
  service_.execution = [](const EventSink& sink) -> Result<void> {
    (void)sink(R"({"status":"ok","type":"verdict"})");
    return {};
  };
  const Answer answer = ask("POST", "/v1/sandboxes/sb1/packages",
                            R"({"packages":["pip:six","npm:left-pad"],"limits":{"time":7}})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(Json::parse(answer.body, nullptr, false)["status"], "ok");
  EXPECT_EQ(service_.installed.packages, (std::vector<std::string>{"pip:six", "npm:left-pad"}));
  EXPECT_EQ(service_.installed.limits.wall, std::chrono::seconds(7));
  for (const char* body :
       {R"({"packages":"pip:six"})", R"({"packages":[1]})", R"({"pakages":[]})"}) {
    EXPECT_EQ(ask("POST", "/v1/sandboxes/sb1/packages", body).status, 400) << body;
  }
  const std::string many = Json{{"packages", std::vector<std::string>(257, "pip:six")}}.dump();
  EXPECT_EQ(ask("POST", "/v1/sandboxes/sb1/packages", many).status, 400);
  EXPECT_EQ(ask("POST", "/v1/sandboxes/other/packages", R"({"packages":["pip:six"]})").status, 404);
}

TEST_F(DoorTest, RequestIdsAreEchoedWhereTheyAreHarmless) {
  EXPECT_EQ(ask("GET", "/healthz", {}, {{"X-Request-Id", "abc-1"}}).header("X-Request-Id"),
            "abc-1");
  const std::string made =
      ask("GET", "/healthz", {}, {{"X-Request-Id", "a\"b"}}).header("X-Request-Id");
  EXPECT_TRUE(made.starts_with("req_")) << made;
  // A line is written after its answer, so the two may come in any order.
  std::unique_lock lock(mutex_);
  ASSERT_TRUE(
      logged_.wait_for(lock, std::chrono::seconds(60), [this] { return log_.size() == 2; }));
  Json line = Json::parse(log_[0], nullptr, false);
  if (line["request_id"] != "abc-1") {
    line = Json::parse(log_[1], nullptr, false);
  }
  EXPECT_EQ(line["request_id"], "abc-1");
  EXPECT_EQ(line["route"], "/healthz");
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["door"], "rest");
  EXPECT_EQ(line["peer"], "127.0.0.1");
  EXPECT_THAT(line["at"].get<std::string>(),
              testing::MatchesRegex("....-..-..T..:..:..[.][0-9][0-9][0-9]Z"));
}

TEST_F(DoorTest, ALineOfTheLogIsOneBoundedLineWithoutSecretsWhateverTheRequestSays) {
  const std::string path = "/v1/sandboxes/a%0a%ff%22" + std::string(4'000, 'x');
  (void)ask("GET", path + "?token=SECRET", {}, {{"X-API-KEY", "runner"}});
  (void)ask("GET", "/v1/sandboxes/sb1", {}, {{"X-API-KEY", "runner"}});
  std::unique_lock lock(mutex_);
  ASSERT_TRUE(
      logged_.wait_for(lock, std::chrono::seconds(60), [this] { return log_.size() == 2; }));
  for (const std::string& line : log_) {
    EXPECT_LT(line.size(), 8'192U);
    EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; })) << line;
    EXPECT_THAT(line, testing::Not(HasSubstr("SECRET")));
  }
  // The handlers of the two requests log after their answers, in either order.
  EXPECT_EQ(std::ranges::count_if(log_,
                                  [](const std::string& line) {
                                    return Json::parse(line, nullptr, false)["sandbox"] == "sb1";
                                  }),
            1);
}

TEST_F(DoorTest, MetricsCountRoutesNotPaths) {
  (void)ask("GET", "/v1/sandboxes/sb1");
  (void)ask("GET", "/v1/sandboxes/other");
  (void)ask("GET", "/v1/sandboxes/sb1", {}, {});
  {
    // Counted, as logged, after its answer.
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(
        logged_.wait_for(lock, std::chrono::seconds(60), [this] { return log_.size() == 3; }));
  }
  const std::string text = ask("GET", "/metrics").body;
  EXPECT_THAT(
      text,
      HasSubstr("glovebox_http_requests_total{door=\"rest\",method=\"GET\",route=\"/v1/sandboxes/"
                "{id}\",status=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("glovebox_http_refused_keys_total 1\n"));
  EXPECT_THAT(text, HasSubstr("le=\"+Inf\"} 3\n"));
}

TEST_F(DoorTest, AFileIsWrittenReadInPartsAndRemoved) {
  const std::string path = "/v1/sandboxes/sb1/files/dir/a%20b.txt";
  const Answer written = ask("PUT", path + "?mode=0600", "0123456789");
  ASSERT_EQ(written.status, 200) << written.body;
  EXPECT_EQ(json(written)["mode"], "0600");
  const Answer whole = ask("GET", path);
  EXPECT_EQ(whole.body, "0123456789");
  EXPECT_EQ(whole.header("ETag"), written.header("ETag"));
  EXPECT_EQ(whole.header("Content-Type"), "application/octet-stream");
  const Answer part = ask("GET", path, {}, {{"X-API-KEY", "reader"}, {"Range", "bytes=2-4"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(part.header("Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(ask("GET", path, {}, {{"X-API-KEY", "reader"}, {"Range", "bytes=10-"}}).status, 416);
  EXPECT_EQ(ask("GET", path, {}, {{"X-API-KEY", "reader"}, {"If-None-Match", whole.header("ETag")}})
                .status,
            304);
  const Answer head = ask("HEAD", path);
  EXPECT_EQ(head.header("Content-Length"), "10");
  EXPECT_EQ(json(ask("GET", path + "?stat=1"))["size"], 10);
  const Json list = json(ask("GET", "/v1/sandboxes/sb1/files?list=dir"));
  ASSERT_EQ(list["entries"].size(), 1) << list;
  EXPECT_EQ(ask("DELETE", path).status, 204);
  EXPECT_EQ(ask("GET", path).status, 404);
}

TEST_F(DoorTest, DirectoriesAreMadeMovedAndCarriedAsArchives) {
  const std::string files = "/v1/sandboxes/sb1/files";
  EXPECT_EQ(ask("POST", files, R"({"action": "make_directory", "path": "one"})").status, 201);
  EXPECT_EQ(ask("PUT", files + "/one/x", "content").status, 200);
  EXPECT_EQ(ask("POST", files, R"({"action": "move", "path": "one", "to": "two"})").status, 200);
  for (const char* format : {"tar", "tar.gz", "zip"}) {
    const Answer archive = ask("GET", files + "/two?archive=" + format);
    ASSERT_EQ(archive.status, 200) << archive.body;
    ASSERT_TRUE(archive.whole);
    const std::string copy = files + "/copy-" + format;
    EXPECT_EQ(ask("PUT", copy + "?unpack=1", archive.body).status, 204) << format;
    EXPECT_EQ(ask("GET", copy + "/x").body, "content") << format;
  }
  EXPECT_EQ(ask("GET", files + "/two?archive=rar").status, 400);
  EXPECT_EQ(ask("DELETE", files + "/").status, 400);
}

TEST_F(DoorTest, AnUploadThatBreaksOffLeavesWhatWasThere) {
  const std::string path = "/v1/sandboxes/sb1/files/kept";
  ASSERT_EQ(ask("PUT", path, "before").status, 200);
  {
    TestClient client = TestClient::tcp(server_->port());
    ASSERT_TRUE(client.write("PUT " + path +
                             " HTTP/1.1\r\nHost: a\r\nX-API-KEY: runner\r\n"
                             "Content-Length: 100000\r\n\r\npart"));
  }
  server_->drain(std::chrono::seconds(60));
  std::ifstream file(service_.workspace + "/kept");
  std::string content;
  file >> content;
  EXPECT_EQ(content, "before");
}

TEST_F(DoorTest, ChangesAreWatchedUntilTheClientGoes) {
  TestClient client = TestClient::tcp(server_->port());
  ASSERT_TRUE(client.write(
      "GET /v1/sandboxes/sb1/files/watch HTTP/1.1\r\nHost: a\r\nX-API-KEY: reader\r\n\r\n"));
  std::string seen;
  while (seen.find("started") == std::string::npos) {
    const std::string more = client.read_some();
    ASSERT_FALSE(more.empty()) << seen;
    seen += more;
  }
  std::ofstream(service_.workspace + "/new") << "x";
  while (seen.find(R"("path":"new","type":"create")") == std::string::npos) {
    const std::string more = client.read_some();
    ASSERT_FALSE(more.empty()) << seen;
    seen += more;
  }
  client.close();
  server_->drain(std::chrono::seconds(60));
  EXPECT_EQ(server_->connections(), 0);
}

TEST_F(DoorTest, APortOfTheSandboxSeesTheRequestWithoutOurKey) {
  std::string seen;
  http::ServerOptions options;
  options.listen = "127.0.0.1:0";
  auto inner = http::Server::start(options, [&](http::Request& request, http::Response& response) {
    seen = std::string(request.method()) + " " + std::string(request.target());
    for (const auto& [name, value] : request.headers()) {
      seen += "|" + name + ": " + value;
    }
    const auto body = request.read_all(1'000);
    (void)response.send(201, {{"X-Inner", "yes"}}, "inner " + *body);
  });
  ASSERT_TRUE(inner);
  const std::string base = "/v1/sandboxes/sb1/ports/" + std::to_string((*inner)->port());
  const Answer answer =
      ask("POST", base + "/a%2Fb?q=1", "hello",
          {{"Authorization", "Bearer " + FakeService::kRealKey}, {"X-Mine", "kept"}});
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "inner hello");
  EXPECT_EQ(answer.header("X-Inner"), "yes");
  EXPECT_THAT(seen, testing::StartsWith("POST /a%2Fb?q=1|"));
  EXPECT_THAT(seen, HasSubstr("X-Mine: kept"));
  EXPECT_THAT(seen, testing::Not(HasSubstr("e2b_")));
  EXPECT_EQ(ask("GET", base + "/").status, 201);
  EXPECT_THAT(seen, testing::Not(HasSubstr("runner")));
  inner->reset();
  EXPECT_EQ(ask("GET", base + "/").status, 502);
  EXPECT_EQ(ask("GET", "/v1/sandboxes/sb1/ports/99999/").status, 400);
}

TEST_F(DoorTest, ARollbackSaysToWhichCheckpointAndNeedsNone) {
  const std::string path = "/v1/sandboxes/sb1/contexts/c1/rollback";
  // The service decides which is the newest: here, 1.
  for (const auto& [body, number] : {std::pair("", 1), {"{}", 1}, {R"({"checkpoint": 3})", 3}}) {
    const Answer answer = ask("POST", path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(json(answer), (Json{{"schema", "glovebox.checkpoint/1"}, {"checkpoint", number}}));
  }
  EXPECT_EQ(ask("POST", path, R"({"checkpoint": "one"})").status, 400);
  EXPECT_EQ(ask("POST", "/v1/sandboxes/sb1/contexts/c1/fork", "{}").status, 400);
}

TEST_F(DoorTest, PassesWishesOfDryRunsOnAndWhatIsDecidedAboutThem) {
  const std::string execute = "/v1/sandboxes/sb1/contexts/c1/execute";
  (void)ask("POST", execute, R"({"code": "1"})");
  EXPECT_FALSE(service_.executed.dry_run.wanted);
  (void)ask("POST", execute,
            R"({"code": "1", "dry_run": true, "dry_run_network": "open", "dry_run_timeout": 7})");
  EXPECT_TRUE(service_.executed.dry_run.wanted && service_.executed.dry_run.network);
  EXPECT_EQ(service_.executed.dry_run.timeout, std::chrono::seconds(7));
  const Answer listed = ask("GET", "/v1/sandboxes/sb1/dry-runs");
  EXPECT_EQ(json(listed)["dry_runs"][0]["id"], "d1") << listed.body;
  EXPECT_EQ(ask("POST", "/v1/sandboxes/sb1/dry-runs/d1/commit").status, 204);
  EXPECT_EQ(service_.committed, true);
  EXPECT_EQ(ask("POST", "/v1/sandboxes/sb1/dry-runs/d1/discard").status, 204);
  EXPECT_EQ(service_.committed, false);
  EXPECT_EQ(ask("POST", "/v1/sandboxes/sb1/dry-runs/d2/commit").status, 404);
}

TEST_F(DoorTest, PassesRepliesAndQuestionsOnAsTheyWereMeant) {
  const std::string context = "/v1/sandboxes/sb1/contexts/c1";
  EXPECT_EQ(ask("POST", context + "/input", R"({"value": "", "request": 3})").status, 204);
  EXPECT_EQ(service_.replied.value, "");
  EXPECT_EQ(service_.replied.request, 3);
  for (const char* const end : {"", "{}", R"({"value": null})"}) {
    EXPECT_EQ(ask("POST", context + "/input", end).status, 204);
    EXPECT_EQ(service_.replied.value, std::nullopt) << end;
    EXPECT_EQ(service_.replied.request, std::nullopt) << end;
  }
  const Answer completion = ask("POST", context + "/complete", R"({"code": "os.pa"})");
  EXPECT_EQ(completion.body,
            R"({"end":5,"matches":["path"],"schema":"glovebox.completion/1","start":3})"
            "\n");
  EXPECT_EQ(service_.asked.code, "os.pa");
  EXPECT_EQ(service_.asked.cursor, std::nullopt);
  const Answer inspection =
      ask("POST", context + "/inspect", R"({"code": "os", "cursor": 0, "detail": 1})");
  EXPECT_EQ(inspection.body,
            R"({"data":{"text/plain":"doc"},"found":true,"schema":"glovebox.inspection/1"})"
            "\n");
  EXPECT_EQ(service_.asked.cursor, 0);
  EXPECT_EQ(service_.detail, 1);
}

TEST_F(DoorTest, ToolsAndWhatTheyReturnPassAsTheyWereWritten) {
  service_.execution = [](const EventSink& sink) -> Result<void> {
    (void)sink(R"({"id":"e","status":"ok","type":"verdict"})");
    return {};
  };
  const std::string context = "/v1/sandboxes/sb1/contexts/c1";
  EXPECT_EQ(ask("POST", context + "/execute",
                R"({"code": "1", "tool_limits": {"calls": 3, "wait": "2m"},
                    "tools": [{"name": "find", "parameters": {"z": 1.10, "a": {}}}]})")
                .status,
            200);
  const ToolOffer& offer = service_.executed.tools;
  ASSERT_EQ(offer.tools.size(), 1U);
  EXPECT_EQ(offer.tools[0].parameters, R"({"z":1.10,"a":{}})");
  EXPECT_EQ(offer.calls, 3U);
  EXPECT_EQ(offer.wait, std::chrono::minutes(2));
  EXPECT_EQ(ask("POST", context + "/execute", R"({"code": "1"})").status, 200);
  EXPECT_EQ(service_.executed.tools, ToolOffer());
  for (const char* const wrong :
       {R"("tools": {})", R"("tools": [{"name": "2x"}])", R"("tools": [{}])",
        R"("tool_limits": {"calls": -1})", R"("tool_limits": {"wait": "31d"})",
        R"("tool_limits": {"other": 1})"}) {
    const Answer answer =
        ask("POST", context + "/execute", R"({"code": "1", )" + std::string(wrong) + "}");
    EXPECT_EQ(answer.status, 400) << wrong << answer.body;
  }

  const std::string call = context + "/tools/17";
  EXPECT_EQ(ask("POST", call, R"({"result": {"z": 1.10, "a": "x y"}})").status, 204);
  EXPECT_EQ(service_.returned.call, "17");
  EXPECT_EQ(service_.returned.answer.result, R"({"z":1.10,"a":"x y"})");
  EXPECT_EQ(service_.returned.answer.error, std::nullopt);
  EXPECT_EQ(ask("POST", call, R"({"result": null})").status, 204);
  EXPECT_EQ(service_.returned.answer.result, "null");
  EXPECT_EQ(ask("POST", call, R"({"error": {"message": "no"}})").status, 204);
  EXPECT_EQ(service_.returned.answer.error, "no");
  for (const char* const wrong :
       {"", "{}", R"({"error": {}})", R"({"error": "no"})",
        R"({"result": 1, "error": {"message": "no"}})", R"({"result": 1, "other": 1})"}) {
    EXPECT_EQ(ask("POST", call, wrong).status, 400) << wrong;
  }
}

TEST_F(DoorTest, AnExecuteOverOneConnectionCostsLittle) {
  service_.execution = [](const EventSink& sink) -> Result<void> {
    (void)sink(R"({"type":"started"})");
    (void)sink(R"({"id":"e","status":"ok","type":"verdict"})");
    return {};
  };
  TestClient client = TestClient::tcp(server_->port());
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 0; i < 3'000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(client
                  .request("POST", "/v1/sandboxes/sb1/contexts/c1/execute",
                           {{"X-API-KEY", "runner"}}, R"({"code":"1+1"})")
                  .status,
              200);
    times.push_back(std::chrono::steady_clock::now() - start);
  }
  std::sort(times.begin(), times.end());
  std::printf("execute through the door: p50 %.1f us, p99 %.1f us\n",
              static_cast<double>(times[1'500].count()) / 1000,
              static_cast<double>(times[2'970].count()) / 1000);
  EXPECT_LT(times[1'500], std::chrono::milliseconds(5));
}

}  // namespace
}  // namespace glovebox::rest
