// SPDX-License-Identifier: Apache-2.0
// Forged frames: whatever a guest writes to the channel of its agent harms its own context only.
#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include "contexts_fixture.h"
#include "fixture.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ForgedFrames : public Contexts {
 protected:
  void SetUp() override {
    Contexts::SetUp();
    if (!IsSkipped()) {
      witness_ = make(GetParam());
      ASSERT_TRUE(witness_.context);
    }
  }

  void TearDown() override {
    if (witness_.context) {
      expect_well(*witness_.context);
    }
  }

  // Runs code that has `channel` and `frame`. It must end within its limit, whatever it forges, and
  // cost us no more memory than `most`.
  Execution forge(const std::string& code,
                  std::chrono::milliseconds wall = 5s,
                  Bytes most = 200_MiB) {
    if (!context().alive()) {
      end_context();
    }
    Context& forger = context();
    reset_peak();
    const std::uint64_t before = peak_memory();
    const auto start = Clock::now();
    Execution execution = run(forger, kFindChannel + code, {.code = {}, .limits = {.wall = wall}});
    EXPECT_LT(Clock::now() - start, wall + 2s) << code;
    EXPECT_LT(peak_memory() - before, most.count) << code;
    return execution;
  }

 private:
  Live witness_;
};

// What parses as nothing ends the context; the execution says so.
void expect_lost(const Execution& execution, const Context& context) {
  EXPECT_NE(execution.status, Status::kOk);
  EXPECT_FALSE(context.alive());
}

TEST_P(ForgedFrames, GarbageEndsTheForger) {
  const Execution execution = forge("channel.send(b'\\xff' * 4096)\ntime.sleep(60)");
  expect_lost(execution, context());
}

TEST_P(ForgedFrames, AnAnnouncedSizeOverTheLimitEndsTheForger) {
  for (const char* const size : {"0xffffffff", "(1 << 20) + 1", "0x7fffffff"}) {
    const Execution execution = forge(std::string("channel.send(struct.pack('<IBI', ") + size +
                                      ", 68, 1) + b'x' * 64)\ntime.sleep(60)");
    expect_lost(execution, context());
  }
}

TEST_P(ForgedFrames, AnAnnouncedPayloadThatNeverComesEndsByTime) {
  const Execution execution = forge(
      "channel.send(struct.pack('<IBI', 1 << 20, 66, 1) + b'begun')\nwhile True: time.sleep(1)",
      500ms);
  EXPECT_EQ(execution.status, Status::kTimeout);
}

TEST_P(ForgedFrames, PartsWithoutEndEndTheForger) {
  const Execution execution = forge(
      "block = frame(127, 1, b'x' * (1 << 20))\n"
      "for _ in range(65): channel.sendall(block)\ntime.sleep(60)",
      20s);
  expect_lost(execution, context());
}

TEST_P(ForgedFrames, WrongTypesAreNoCrash) {
  for (const char* const type : {"0", "1", "63", "64", "65", "68", "69", "70", "71", "72", "73",
                                 "74", "75", "76", "126", "255"}) {
    for (const char* const payload : {"b'[]'", "b'{\\xff\\xfe'",
                                      "b'{\"data\":7,\"metadata\":[],\"execution_count\":-9e99,"
                                      "\"traceback\":{},\"name\":[]}'"}) {
      const Execution execution =
          forge(std::string("channel.send(frame(") + type + ", 1, " + payload + "))", 3s);
      // An answer, or an end that is known: never a context that nobody knows anything of.
      EXPECT_EQ(context().alive(), !execution.signal && execution.exit_code != 125)
          << type << payload;
      if (context().alive()) {
        const auto next = context().execute({.code = "1", .limits = {.wall = 3s}});
        EXPECT_TRUE(next) << type << payload;
      }
    }
  }
}

TEST_P(ForgedFrames, AForgedEndIsNoEndOfTheNext) {
  output_of("secret = 1");
  // Ends this execution early, for whoever believes it; what follows must not get its answers.
  const Execution forged = forge(
      "for number in range(1, 50): channel.send(frame(73, number, b'{\"status\":\"ok\"}'))\n"
      "time.sleep(0.5)\nprint('late')");
  EXPECT_EQ(forged.status, Status::kOk);
  ASSERT_TRUE(context().alive());
  const auto next = context().execute({.code = "print(secret)", .limits = {.wall = 5s}});
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_NE(next->status, Status::kFailed);
}

TEST_P(ForgedFrames, AForgedReadyChangesNothing) {
  const std::string version = context().version();
  forge("channel.send(frame(64, 0, b'{\"language\":\"evil\",\"version\":\"0\",\"features\":[]}'))");
  EXPECT_EQ(context().language(), "python");
  EXPECT_EQ(context().version(), version);
  EXPECT_TRUE(context().can("complete"));
  expect_well(context());
}

TEST_P(ForgedFrames, DeepNestingIsRefused) {
  for (const char* const payload :
       {"b'{\"data\":{\"application/json\":' + b'[' * 900_000", "b'[' * 1_000_000",
        "b'{\"a\":' * 150_000",
        "b'{\"data\":{\"application/json\":' + b'[' * 450_000 + b']' * 450_000 + b'}}'"}) {
    forge(std::string("channel.sendall(frame(68, 1, ") + payload + "))");
  }
}

TEST_P(ForgedFrames, ManySmallValuesDoNotFillOurMemory) {
  // One message of nearly 64 MiB, of which each byte or two becomes a value.
  for (const char* const value : {"0,", "[],", "{},"}) {
    forge(std::string("text = b'{\"data\":{\"application/json\":[' + b'") + value +
              "' * (60_000_000 // " + std::to_string(std::string_view(value).size()) +
              ") + b'0]}}'\n"
              "for start in range(0, len(text), 1 << 20):\n"
              "    piece = text[start:start + (1 << 20)]\n"
              "    last = start + (1 << 20) >= len(text)\n"
              "    channel.sendall(frame(68 if last else 127, 1, piece))\n",
          20s, 300_MiB);
  }
}

TEST_P(ForgedFrames, QuestionsWithoutEndDoNotFillOurMemory) {
  // Nobody reads the answers.
  forge(
      "question = frame(71, 1, b'{}') * 4096\n"
      "try:\n"
      "    while True: channel.sendall(question)\n"
      "except BaseException: pass\n",
      3s, 32_MiB);
}

TEST_P(ForgedFrames, AFloodDoesNotHoldAQuestionUp) {
  forge(
      "import threading\n"
      "flood = frame(75, 1, b'{\"text\":\"\"}') * 4096\n"
      "def pour():\n"
      "    while True: channel.sendall(flood)\n"
      "threading.Thread(target=pour, daemon=True).start()\n",
      2s);
  if (!context().alive()) {
    return;  // Ended for it: that holds nobody up.
  }
  const auto start = Clock::now();
  (void)context().ask(agent::Request::kVariables, "{}", 1s);
  EXPECT_LT(Clock::now() - start, 3s);
}

TEST_P(ForgedFrames, AFloodDoesNotHoldTimeUp) {
  const Execution execution = forge(
      "flood = (frame(75, 1, b'{\"text\":\"\"}') + frame(68, 9, b'{\"data\":{}}')) * 4096\n"
      "while True:\n"
      "    try: channel.sendall(flood)\n"
      "    except BaseException: pass\n",
      1s);
  EXPECT_EQ(execution.status, Status::kTimeout);
  EXPECT_LE(execution.results.size(), 1000U);
  EXPECT_LE(execution.notes.size(), 110U);
}

TEST_P(ForgedFrames, DescriptorsWithoutEndEndTheContext) {
  expect_well(context());
  const std::size_t before = Traces::descriptors();
  const Execution execution = forge(
      "import array\n"
      "files = array.array('i', [os.open('/dev/null', os.O_RDONLY) for _ in range(100)])\n"
      "for _ in range(50):\n"
      "    channel.sendmsg([frame(75, 1, b'{}')],\n"
      "                    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files.tobytes())])\n");
  EXPECT_EQ(execution.status, Status::kSignaled);
  EXPECT_THAT(execution.notes, testing::Contains(testing::HasSubstr("descriptors")));
  EXPECT_FALSE(context().alive());
  EXPECT_TRUE(eventually([&] { return Traces::descriptors() <= before; }));
}

TEST_P(ForgedFrames, AFewDescriptorsAreDropped) {
  EXPECT_EQ(forge("channel.sendmsg([frame(75, 1, b'{}')], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,\n"
                  "                 bytes([0, 0, 0, 0, 1, 0, 0, 0]))])\n")
                .status,
            Status::kOk);
  expect_well(context());
}

// The kernel gives a guest the pidfd of whoever made its channel. Taken for its interpreter's, that
// one would be killed at the next end.
TEST_P(ForgedFrames, OurselvesAreNoCopyOfTheGuests) {
  const std::string forge_copy = std::string(kFindChannel) + R"py(
import array, sys
SO_PEERPIDFD = 77
try:
    maker = channel.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
except OSError:
    maker = -1
def rights(*fds):
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds).tobytes())]
def make_copy(first):
    def copy(_, reply):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            try:
                os.setsid()
                theirs.close()
                ours.recv(4096)
                ours.sendmsg([b'w'], rights(maker))
            finally:
                os._exit(0)
        channel.sendmsg([reply], rights(first, theirs.fileno()))
        return 'original'
    return copy
checkpoints = sys.modules['glovebox_agent.checkpoints']
make = checkpoints.make
def answer_with(first):
    checkpoints.make = lambda copy, *others: make(make_copy(first), *others)
print(maker >= 0)
)py";
  if (output_of(forge_copy) != "True") {
    GTEST_SKIP() << "this kernel has no SO_PEERPIDFD";
  }
  output_of("answer_with(maker)");
  const auto named = context().checkpoint();
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code(), ErrorCode::kInvalid);
  output_of("answer_with(os.pidfd_open(os.getpid()))");
  const auto point = context().checkpoint();
  ASSERT_TRUE(point) << point.error().message();
  const auto back = context().rollback(*point);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(context().alive());
}

TEST_P(ForgedFrames, ASocketThatLingersDoesNotHoldUsUp) {
  const auto start = Clock::now();
  // Closing the last descriptor of such a socket waits until its peer has read what was sent.
  forge(
      "import array\n"
      "listener = socket.create_server(('127.0.0.1', 0))\n"
      "kept = []\n"
      "for _ in range(20):\n"
      "    out = socket.create_connection(listener.getsockname())\n"
      "    kept.append(listener.accept()[0])\n"
      "    out.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 30))\n"
      "    out.setblocking(False)\n"
      "    try:\n"
      "        while True: out.send(b'x' * 65536)\n"
      "    except BlockingIOError: pass\n"
      "    channel.sendmsg([frame(75, 1, b'{}')], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,\n"
      "                     array.array('i', [out.fileno()]).tobytes())])\n"
      "    out.close()\n",
      3s);
  end_context();
  EXPECT_LT(Clock::now() - start, 15s);
}

TEST_P(ForgedFrames, NoMixtureOfThemHarmsUs) {
  std::mt19937 numbers(20'261'121);
  for (int round = 0; round < 40; ++round) {
    const std::string seed = std::to_string(numbers());
    const Execution execution = forge(
        "import random\n"
        "chance = random.Random(" +
            seed +
            ")\n"
            "texts = [b'{}', b'{\"status\":\"ok\"}', b'{\"data\":{\"text/plain\":\"x\"}}', b'[[[', "
            "b'null',\n"
            "         b'{\"execution_count\":1e400}', b'{\"text\":\"\\\\ud800\"}', "
            "b'{\"prompt\":{}}',\n"
            "         b'{\"name\":\"\\xff\"}', b'']\n"
            "for _ in range(30):\n"
            "    kind = chance.choice([*range(60, 80), 127, 127, 0, 255])\n"
            "    payload = chance.choice([*texts, chance.randbytes(chance.randrange(2000))])\n"
            "    made = bytearray(frame(kind, chance.choice([0, 1, 2, 3, 1 << 31]), payload))\n"
            "    if chance.random() < 0.05: made[chance.randrange(9)] ^= 1 << chance.randrange(8)\n"
            "    channel.send(made)\n",
        1s);
    if (context().alive()) {
      // What was forged may spoil what comes next, but not hold it up.
      const auto start = Clock::now();
      (void)context().execute({.code = "1", .limits = {.wall = 1s}});
      EXPECT_LT(Clock::now() - start, 3s) << seed;
    }
    EXPECT_NE(execution.status, Status::kFailed) << seed;
    end_context();
  }
}

GB_FOR_FORKS(ForgedFrames);

}  // namespace
}  // namespace glovebox::conformance
