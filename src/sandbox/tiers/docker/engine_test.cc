// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/engine.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.h"
#include "base/unique_fd.h"

namespace glovebox::docker {
namespace {

using std::chrono_literals::operator""s;
using testing::HasSubstr;

// What a server on a Unix socket says to the first line of each request; then it hangs up.
class EngineTest : public testing::Test {
 protected:
  void serve(std::function<std::string(const std::string& line)> answer) {
    std::string place = "/tmp/gb-engine.XXXXXX";
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    directory_ = place;
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket().c_str(), socket().size() + 1);
    ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener_.get(), 8), 0);
    server_ = std::thread([this, answer = std::move(answer)] {
      for (;;) {
        const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client) {
          return;
        }
        std::string request;
        std::array<char, 4096> block{};
        while (request.find("\r\n\r\n") == std::string::npos) {
          const ssize_t got = ::recv(client.get(), block.data(), block.size(), 0);
          if (got <= 0) {
            break;
          }
          request.append(block.data(), static_cast<std::size_t>(got));
        }
        std::string_view rest;
        const std::string said = answer(request.substr(0, request.find("\r\n")));
        for (rest = said; !rest.empty();) {
          const ssize_t sent = ::send(client.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
          if (sent <= 0) {
            break;
          }
          rest.remove_prefix(static_cast<std::size_t>(sent));
        }
      }
    });
  }

  void TearDown() override {
    if (server_.joinable()) {
      ::shutdown(listener_.get(), SHUT_RDWR);
      server_.join();
      std::filesystem::remove_all(directory_);
    }
  }

  [[nodiscard]] std::string socket() const { return directory_ + "/s"; }

  static std::string ok(const std::string& body) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  // An engine that says who it is, and to all else `answer`.
  Engine engine_that_says(const std::string& answer,
                          const std::string& info = "{}",
                          const std::string& server = "Docker/20.10 (linux)") {
    serve([=](const std::string& line) {
      return line.find("/_ping ") != std::string::npos
                 ? "HTTP/1.1 200 OK\r\nServer: " + server + "\r\nContent-Length: 2\r\n\r\nOK"
             : line.find("/version ") != std::string::npos
                 ? ok(R"({"ApiVersion":"1.51","MinAPIVersion":"1.44"})")
             : line.find("/info ") != std::string::npos ? ok(info)
             : answer.empty()                           ? ok("\"" + line + "\"")
                                                        : answer;
    });
    auto engine = Engine::at(socket());
    EXPECT_TRUE(engine) << engine.error().message();
    return std::move(engine).value();
  }

 private:
  std::string directory_;
  UniqueFd listener_;
  std::thread server_;
};

TEST_F(EngineTest, IsSpokenToInAVersionThatItKnows) {
  const auto answer = engine_that_says("").ask("GET", "/x");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "\"GET /v1.44/x HTTP/1.1\"");
}

TEST_F(EngineTest, SaysWhetherIdsInsideAreOthersOutside) {
  EXPECT_TRUE(
      engine_that_says("", R"({"SecurityOptions":["name=seccomp","name=userns"]})").maps_ids());
}

TEST_F(EngineTest, OfPodmanIsKnownByItsNameAndNotAskedForItsVersion) {
  const Engine engine = engine_that_says("", "{}", "Libpod/4.3.1 (linux)");
  EXPECT_TRUE(engine.is_podman());
  EXPECT_EQ(engine.maps_ids(), ::geteuid() != 0) << "for this test is the engine";
  const auto answer = engine.ask("GET", "/x");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "\"GET /v1.41/x HTTP/1.1\"");
}

TEST_F(EngineTest, OfDockerIsNotTakenForPodman) { EXPECT_FALSE(engine_that_says("").is_podman()); }

TEST_F(EngineTest, MayAnswerInChunks) {
  const auto answer = engine_that_says(
                          "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n"
                          "4\r\n\":1}\r\n0\r\n\r\n")
                          .ask("POST", "/x", "{}");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "{\"a\":1}");
}

TEST_F(EngineTest, MayNotSayWithoutEnd) {
  const auto answer = engine_that_says(ok(std::string(5UL << 20, ' '))).ask("GET", "/x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
}

TEST_F(EngineTest, ThatBreaksOffIsUnavailable) {
  for (const char* const said : {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
                                 "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-"}) {
    const auto answer = engine_that_says(said).ask("GET", "/x");
    ASSERT_FALSE(answer) << said;
    EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
    TearDown();
  }
}

TEST_F(EngineTest, ThatSaysNoIsQuoted) {
  const std::string body = R"({"message":"no such \u001b[31m thing"})";
  const Engine engine =
      engine_that_says("HTTP/1.1 404 Not Found\r\nContent-Length: " + std::to_string(body.size()) +
                       "\r\n\r\n" + body);
  const auto answer = engine.ask("GET", "/x");
  ASSERT_TRUE(answer);
  const Error error = refusal("look", *answer);
  EXPECT_THAT(error.message(), HasSubstr("look: the container engine says 404 no such"));
  EXPECT_EQ(error.message().find('\x1b'), std::string::npos);
}

TEST_F(EngineTest, ThatIsNotThereIsUnsupportedWithAHint) {
  const auto engine = Engine::at("/nonexistent/s");
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(engine.error().hint(), HasSubstr("DOCKER_HOST"));
}

TEST_F(EngineTest, WithOtherTypesThanExpectedHasNothingToSay) {
  const auto json = json_of({.status = 200, .body = R"({"Id":7,"State":[],"Running":"yes"})"});
  ASSERT_TRUE(json);
  EXPECT_EQ(text_of(*json, "Id"), "");
  EXPECT_TRUE(object_of(*json, "State").empty());
  EXPECT_FALSE(is_true(*json, "Running"));
  EXPECT_FALSE(json_of({.status = 200, .body = "[]"}));
}

}  // namespace
}  // namespace glovebox::docker
