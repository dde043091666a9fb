// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "doors/transport/http.h"
#include "doors/transport/test_client.h"

namespace glovebox::http {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool happens(const std::function<bool()>& what) {
  const auto deadline = Clock::now() + 60s;
  while (!what()) {
    if (Clock::now() > deadline) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

// What a test says to those who listen.
class Studio {
 public:
  // Each listener gets it as a piece.
  void say(const std::string& text, bool last = false) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [listener, fd] : listeners_) {
      said_[listener].push_back({text, last});
      (void)::eventfd_write(fd, 1);
    }
  }
  [[nodiscard]] std::size_t listeners() const {
    const std::scoped_lock lock(mutex_);
    return listeners_.size();
  }

  class Source final : public PieceSource {
   public:
    explicit Source(Studio& studio, bool endless = false, std::optional<Beat> beat = {})
        : studio_(studio),
          endless_(endless),
          beat_(std::move(beat)),
          fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
      const std::scoped_lock lock(studio_.mutex_);
      studio_.listeners_.emplace(this, fd_.get());
    }
    ~Source() override {
      const std::scoped_lock lock(studio_.mutex_);
      studio_.listeners_.erase(this);
      studio_.said_.erase(this);
    }
    [[nodiscard]] int fd() const override { return fd_.get(); }
    State next(std::string& piece) override {
      if (endless_) {
        piece.assign(64 << 10, 'x');
        return State::kGoesOn;
      }
      const std::scoped_lock lock(studio_.mutex_);
      auto& said = studio_.said_[this];
      if (said.empty()) {
        eventfd_t times = 0;
        (void)::eventfd_read(fd_.get(), &times);
        return State::kGoesOn;
      }
      piece = said.front().text;
      const bool last = said.front().last;
      said.erase(said.begin());
      return last ? State::kEnd : State::kGoesOn;
    }
    [[nodiscard]] std::optional<Beat> beat() const override { return beat_; }

   private:
    Studio& studio_;
    const bool endless_;
    const std::optional<Beat> beat_;
    UniqueFd fd_;
  };

 private:
  struct Said {
    std::string text;
    bool last = false;
  };
  mutable std::mutex mutex_;
  std::map<const Source*, int> listeners_;
  std::map<const Source*, std::vector<Said>> said_;
};

class PieceStreamTest : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.listen = "127.0.0.1:0";
    auto server = Server::start(options, [this](Request& request, Response& response) {
      if (request.target() == "/plain") {
        (void)response.send(200, {}, "plain");
        return;
      }
      std::optional<PieceSource::Beat> beat;
      if (request.target() == "/beating") {
        beat = {.every = 1ms, .piece = "beat"};
      }
      const auto followed = response.follow(
          200, {}, std::make_unique<Studio::Source>(studio_, request.target() == "/endless", beat));
      if (!followed) {
        (void)response.send(followed.error().code() == ErrorCode::kExhausted ? 429 : 500, {}, "");
      }
    });
    ASSERT_TRUE(server);
    server_ = std::move(server).value();
  }
  TestClient client() { return TestClient::tcp(server_->port()); }
  TestClient listener(const std::string& target = "/", const std::string& version = "1.1") {
    TestClient made = client();
    EXPECT_TRUE(made.write("GET " + target + " HTTP/" + version + "\r\nHost: a\r\n\r\n"));
    return made;
  }

  Studio studio_;  // Outlives the server, which has the sources.
  std::unique_ptr<Server> server_;
};

TEST_F(PieceStreamTest, SilenceIsFilledWithTheBeatUntilTheEnd) {
  start();
  TestClient one = listener("/beating", "1.0");
  std::string got;
  ASSERT_TRUE(happens([&] {
    got += one.read_some();
    return got.ends_with("beatbeat");
  })) << got;
  studio_.say("last", true);
  ASSERT_TRUE(happens([&] {
    got += one.read_some();
    return got.ends_with("last");
  })) << got;
  EXPECT_TRUE(one.is_at_end());
}

TEST_F(PieceStreamTest, ThoseWhoListenHoldNoHandler) {
  ServerOptions options;
  options.max_handlers = 2;
  options.max_long_calls = 1;
  start(options);
  std::vector<TestClient> listeners;
  for (std::size_t i = 0; i < 50; ++i) {
    listeners.push_back(listener());
    ASSERT_TRUE(happens([&] { return studio_.listeners() == i + 1; }));
  }
  EXPECT_EQ(client().request("GET", "/plain").body, "plain");
  studio_.say("one,");
  studio_.say("two", true);
  for (TestClient& each : listeners) {
    const Answer answer = each.read_answer();
    EXPECT_TRUE(answer.whole);
    EXPECT_EQ(answer.body, "one,two");
  }
}

TEST_F(PieceStreamTest, ItsConnectionGoesOnToTheNextRequest) {
  start();
  TestClient one = listener();
  ASSERT_TRUE(happens([&] { return studio_.listeners() == 1; }));
  // The next request is there before the answer has ended.
  ASSERT_TRUE(one.write("GET /plain HTTP/1.1\r\nHost: a\r\n\r\n"));
  studio_.say("a", true);
  EXPECT_EQ(one.read_answer().body, "a");
  EXPECT_EQ(one.read_answer().body, "plain");
  EXPECT_EQ(one.request("GET", "/plain").body, "plain");
}

TEST_F(PieceStreamTest, AnOldClientKnowsTheEndByThatOfTheConnection) {
  start();
  TestClient old = listener("/", "1.0");
  ASSERT_TRUE(happens([&] { return studio_.listeners() == 1; }));
  studio_.say("a");
  studio_.say("b", true);
  EXPECT_EQ(old.read_answer().body, "ab");
  EXPECT_TRUE(old.is_at_end());
}

TEST_F(PieceStreamTest, WhoGoesEndsTheirSource) {
  start();
  TestClient one = listener();
  TestClient ahead = listener();
  ASSERT_TRUE(happens([&] { return studio_.listeners() == 2; }));
  ASSERT_TRUE(ahead.write("GET /plain HTTP/1.1\r\nHost: a\r\n\r\n"));
  one.close();
  EXPECT_TRUE(happens([&] { return studio_.listeners() == 1; }));
  ahead.close();
  EXPECT_TRUE(happens([&] { return studio_.listeners() == 0; }));
}

TEST_F(PieceStreamTest, AReaderThatNeverReadsIsCutOff) {
  ServerOptions options;
  options.reader_grace = 300ms;
  options.least_rate = 100UL << 20;
  start(options);
  const TestClient silent = listener("/endless");
  EXPECT_TRUE(happens([&] { return studio_.listeners() == 1; }));
  EXPECT_TRUE(happens([&] { return studio_.listeners() == 0 && server_->connections() == 0; }));
}

TEST_F(PieceStreamTest, OneOwnerHoldsHalfOfWhatThereIs) {
  ServerOptions options;
  options.max_followers = 8;
  start(options);
  std::vector<TestClient> listeners;
  for (std::size_t i = 0; i < 4; ++i) {
    listeners.push_back(listener());
    ASSERT_TRUE(happens([&] { return studio_.listeners() == i + 1; }));
  }
  EXPECT_EQ(client().request("GET", "/").status, 429);
  listeners.pop_back();
  ASSERT_TRUE(happens([&] { return studio_.listeners() == 3; }));
  listeners.push_back(listener());
  EXPECT_TRUE(happens([&] { return studio_.listeners() == 4; }));
}

TEST_F(PieceStreamTest, AServerThatEndsTakesItsStreamsWithIt) {
  start();
  TestClient one = listener();
  ASSERT_TRUE(happens([&] { return studio_.listeners() == 1; }));
  server_.reset();
  EXPECT_EQ(studio_.listeners(), 0U);
  EXPECT_FALSE(one.read_answer().whole);
}

}  // namespace
}  // namespace glovebox::http
