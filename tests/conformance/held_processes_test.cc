// SPDX-License-Identifier: Apache-2.0
// Processes that the keeper holds, over every tier.
#include <signal.h>

#include <memory>
#include <string>
#include <thread>

#include "fixture.h"
#include "service/keeper/held_process.h"
#include "service/keeper/kept_memory.h"
#include "service/keeper/process_pump.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using keeper::HeldProcess;
using Kind = ProcessEvent::Kind;

class HeldProcesses : public Conformance {
 protected:
  void TearDown() override {
    pump_.reset();
    Conformance::TearDown();
  }

  Result<std::shared_ptr<HeldProcess>> start(const ProcessRequest& request) {
    if (!pump_) {
      pump_ = std::make_unique<keeper::ProcessPump>(sandbox());
    }
    return HeldProcess::start(sandbox(), *pump_, std::make_shared<keeper::KeptMemory>(), request,
                              {}, {});
  }

  std::shared_ptr<HeldProcess> shell(const std::string& script, ProcessRequest request = {}) {
    request.command.argv = {"/bin/sh", "-c", script};
    auto started = start(request);
    if (!started) {
      ADD_FAILURE() << started.error().message();
      std::abort();
    }
    return std::move(started).value();
  }

  // What it says until `size` bytes of output have come, or its end.
  struct Said {
    std::string out;
    std::string err;
    std::optional<ProcessEvent> end;
  };
  static Said listen(HeldProcess::Listener& listener, std::size_t size = ~std::size_t{0}) {
    Said said;
    EXPECT_TRUE(eventually([&] {
      while (auto event = listener.next()) {
        said.out += event->kind == Kind::kStdout ? event->bytes : "";
        said.err += event->kind == Kind::kStderr ? event->bytes : "";
        if (event->kind == Kind::kEnded) {
          said.end = std::move(event);
        }
      }
      return said.end.has_value() || said.out.size() >= size;
    }));
    return said;
  }

 private:
  std::unique_ptr<keeper::ProcessPump> pump_;
};

TEST_P(HeldProcesses, AreHeardToTheirEnd) {
  const auto held = shell("echo out; echo err >&2; exit 3");
  HeldProcess::Listener listener(held, true);
  const Said said = listen(listener);
  EXPECT_EQ(said.out, "out\n");
  EXPECT_EQ(said.err, "err\n");
  ASSERT_TRUE(said.end);
  EXPECT_EQ(said.end->exit_code, 3);
  EXPECT_TRUE(held->ended());
}

TEST_P(HeldProcesses, AreWrittenTo) {
  const auto held = shell("cat; echo end", {.keep_stdin = true});
  HeldProcess::Listener listener(held, true);
  ASSERT_TRUE(held->write("hello\n"));
  EXPECT_EQ(listen(listener, 6).out, "hello\n");
  ASSERT_TRUE(held->close_stdin());
  EXPECT_EQ(listen(listener).out, "end\n");
}

TEST_P(HeldProcesses, LoseNothingToASlowListener) {
  // Of what comes before anybody listens, the oldest may be dropped.
  const auto held = shell("read go; head -c 5000000 /dev/zero", {.keep_stdin = true});
  HeldProcess::Listener listener(held, true);
  ASSERT_TRUE(held->write("go\n"));
  std::size_t heard = 0;
  EXPECT_TRUE(eventually([&] {
    const auto event = listener.next();
    heard += event && event->kind == Kind::kStdout ? event->bytes.size() : 0;
    return event && event->kind == Kind::kEnded;
  }));
  EXPECT_EQ(heard, 5'000'000U);
}

TEST_P(HeldProcesses, AreEndedByTheirTime) {
  const auto held = shell("echo up; exec sleep 100", {.timeout = 300ms});
  HeldProcess::Listener listener(held, true);
  EXPECT_EQ(listen(listener).end->signal, SIGKILL);
}

TEST_P(HeldProcesses, EndWithTheirSandbox) {
  const auto held = shell("echo up; exec sleep 100");
  HeldProcess::Listener listener(held, true);
  EXPECT_EQ(listen(listener, 3).out, "up\n");
  sandbox().kill();
  EXPECT_TRUE(eventually([&] { return held->ended().has_value(); }));
}

TEST_P(HeldProcesses, HaveATerminalThatIsTypedAtAndResized) {
  ProcessRequest request{.terminal = ProcessRequest::Terminal{.columns = 99, .rows = 33}};
  const auto held =
      shell("tty -s && stty size && read line && echo \"got $line\" && stty size", request);
  HeldProcess::Listener listener(held, true);
  std::string shown;
  std::optional<ProcessEvent> end;
  const auto hear = [&] {
    while (auto event = listener.next()) {
      shown += event->kind == Kind::kTerminal ? event->bytes : "";
      if (event->kind == Kind::kEnded) {
        end = std::move(event);
      }
    }
  };
  EXPECT_TRUE(eventually([&] {
    hear();
    return shown == "33 99\r\n";
  })) << shown;

  EXPECT_TRUE(held->resize({.columns = 80, .rows = 25}));
  EXPECT_TRUE(held->write("hello\r"));

  EXPECT_TRUE(eventually([&] {
    hear();
    return end.has_value();
  }));
  EXPECT_EQ(shown, "33 99\r\nhello\r\ngot hello\r\n25 80\r\n");
  EXPECT_EQ(end ? end->exit_code : -1, 0);
}

TEST_P(HeldProcesses, AreInterruptedByWhatIsTyped) {
  ProcessRequest request{.terminal = ProcessRequest::Terminal{}};
  // A builtin: dash loses what interrupts it while it starts a program.
  const auto held = shell("echo ready; read line; echo not reached", request);
  HeldProcess::Listener listener(held, true);
  std::string shown;
  EXPECT_TRUE(eventually([&] {
    const auto event = listener.next();
    shown += event ? event->bytes : "";
    return shown == "ready\r\n";
  })) << shown;

  EXPECT_TRUE(held->write("\x03"));

  EXPECT_TRUE(eventually([&] { return held->ended().has_value(); }));
}

GB_FOR_EVERY_TIER(HeldProcesses);

}  // namespace
}  // namespace glovebox::conformance
