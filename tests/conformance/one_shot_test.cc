// SPDX-License-Identifier: Apache-2.0
// One-shot runs over every tier: the verdict tells what happened, and no more than that is left.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fixture.h"
#include "language/registry.h"
#include "service/runs/one_shot.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// Scripts of /bin/sh, which every host has; beside it, one that a "compiler" makes first.
Language shell() {
  Language language;
  language.id = "test-sh";
  language.file_name = "main.sh";
  language.run = {"/bin/sh", "main.sh"};
  return language;
}

Language compiled() {
  Language language = shell();
  language.compile = {"/bin/sh", "-c", "grep -v broken main.sh >program && [ -s program ]"};
  language.run = {"/bin/sh", "program"};
  return language;
}

class OneShotRuns : public Conformance {
 protected:
  [[nodiscard]] OneShot request(const std::string& code, Language language = shell()) const {
    OneShot request;
    request.language = std::move(language);
    request.code = code;
    request.tier = tier();
    return request;
  }

  static OneShotResult once(const OneShot& request) {
    auto result = run_once(request, {});
    if (!result) {
      ADD_FAILURE() << result.error().message();
      return {};
    }
    return std::move(result).value();
  }
};

TEST_P(OneShotRuns, TellHowTheGuestEndedAndLeaveNothing) {
  const Verdict verdict = once(request("echo out; echo err >&2; echo x >made; exit 3")).verdict;
  EXPECT_EQ(verdict.status, Status::kError);
  EXPECT_EQ(verdict.exit_code, 3);
  EXPECT_EQ(verdict.out.bytes, "out\n");
  EXPECT_EQ(verdict.err.bytes, "err\n");
  EXPECT_EQ(verdict.tier, tier_of(GetParam()));
  EXPECT_EQ(verdict.language, "test-sh");
  EXPECT_THAT(verdict.files, ElementsAre(FileChange{"made", 2, FileChange::Kind::kCreated}));
  EXPECT_GT(verdict.usage.wall, 0us);
  EXPECT_TRUE(verdict.walls.no_new_privs);
  EXPECT_THAT(processes(), IsEmpty());
}

TEST_P(OneShotRuns, ThatOnlyCompileRunNothingAndHaveTheProgramAmongTheirFiles) {
  OneShot asked = request("touch ran; echo ran", compiled());
  asked.compile_only = true;
  const Verdict made = once(asked).verdict;
  EXPECT_EQ(made.status, Status::kOk);
  EXPECT_EQ(made.out.bytes, "");
  EXPECT_THAT(made.files, ElementsAre(FileChange{"program", 20, FileChange::Kind::kCreated}));
  asked.code = "broken";
  EXPECT_EQ(once(asked).verdict.status, Status::kCompileError);
  asked.language = shell();
  const auto refused = run_once(asked, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalid);
}

TEST_P(OneShotRuns, SayThatMemoryRanOutInEachLanguage) {
  struct Program {
    const char* language;
    const char* idle;
    const char* greedy;
  };
  const Program programs[] = {
      {"java", "class Main { public static void main(String[] a) {} }",
       "import java.util.*; class Main { public static void main(String[] a) {"
       " List<byte[]> l = new ArrayList<>(); while (true) l.add(new byte[1 << 20]); } }"},
      {"javascript", "0", "const l = []; while (true) l.push(new Array(1000).fill(Math.random()))"},
      {"python", "0", "l = []\nwhile True: l.append(bytearray(1 << 20))"},
      {"cpp", "int main() {}",
       "#include <cstring>\nint main() { for (;;) std::memset(new char[1 << 20], 1, 1 << 20); }"},
  };
  const Registry registry = Registry::load({});
  for (const Program& program : programs) {
    const auto language = registry.find(program.language);
    ASSERT_TRUE(language) << program.language;
    if (!readiness(*language).ready) {
      continue;
    }
    OneShot asked = request(program.idle, *language);
    asked.limits.wall = 120s;
    asked.limits.memory = 256_MiB;
    const Verdict idle = once(asked).verdict;
    const auto memory = std::ranges::find(idle.limits, "memory", &LimitReport::name);
    if (idle.status != Status::kOk || memory == idle.limits.end() || !memory->enforced) {
      continue;  // The tier cannot run it here, or does not limit memory here.
    }
    asked.code = program.greedy;
    const Verdict verdict = once(asked).verdict;
    EXPECT_EQ(verdict.status, Status::kOutOfMemory)
        << program.language << ": " << verdict.err.bytes;
    EXPECT_TRUE(std::ranges::find(verdict.limits, "memory", &LimitReport::name)->hit)
        << program.language;
  }
}

TEST_P(OneShotRuns, SayWhichLimitWasHitAndNoOther) {
  OneShot asked = request("while :; do sleep 1; done");
  asked.limits.wall = 300ms;
  const Verdict verdict = once(asked).verdict;
  EXPECT_EQ(verdict.status, Status::kTimeout);
  for (const LimitReport& limit : verdict.limits) {
    EXPECT_EQ(limit.hit, limit.name == "time") << limit.name;
  }
}

TEST_P(OneShotRuns, NameEveryLimitThatTheTierDoesNotHold) {
  const Verdict verdict = once(request("true")).verdict;
  EXPECT_EQ(report_of(verdict.limits, "memory").enforced, features().limits_memory);
  EXPECT_EQ(report_of(verdict.limits, "pids").enforced, features().limits_pids);
  EXPECT_EQ(report_of(verdict.limits, "disk").enforced, features().limits_disk);
}

TEST_P(OneShotRuns, RunNothingThatDidNotCompile) {
  const Verdict good = once(request("echo ran", compiled())).verdict;
  EXPECT_EQ(good.status, Status::kOk);
  EXPECT_EQ(good.out.bytes, "ran\n");
  EXPECT_THAT(good.files, IsEmpty()) << "what the compiler made is not the guest's";
  const Verdict bad = once(request("echo broken", compiled())).verdict;
  EXPECT_EQ(bad.status, Status::kCompileError);
  EXPECT_EQ(bad.out.bytes, "");
}

TEST_P(OneShotRuns, AreVerifiedInTheSameSandboxAfterTheGuest) {
  OneShot asked = request("echo 42 >answer; exit 1");
  asked.verify = "[ $(cat answer) = 42 ] && echo verified";
  const Verdict verdict = once(asked).verdict;
  EXPECT_EQ(verdict.exit_code, 1);
  ASSERT_TRUE(verdict.verification);
  EXPECT_EQ(verdict.verification->status, Status::kOk);
  EXPECT_EQ(verdict.verification->out.bytes, "verified\n");
}

TEST_P(OneShotRuns, CopyInAndOutWhatIsAskedFor) {
  std::string directory = testing::TempDir() + "conformance-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::filesystem::create_directories(directory + "/in/deep");
  const std::string bytes = binary(1 << 20);
  std::ofstream(directory + "/in/deep/data", std::ios::binary) << bytes;
  OneShot asked = request("cat in/deep/data in/deep/data >twice; ln -s /etc/passwd link");
  asked.files = {{.source = directory + "/in", .target = "in"}};
  asked.out_directory = directory + "/out";
  const OneShotResult result = once(asked);
  EXPECT_EQ(result.verdict.status, Status::kOk) << result.verdict.err.bytes;
  EXPECT_THAT(result.copied_out, ElementsAre("twice"));
  EXPECT_FALSE(result.not_copied);
  std::ifstream twice(directory + "/out/twice", std::ios::binary);
  const std::string got((std::istreambuf_iterator<char>(twice)), {});
  EXPECT_TRUE(got == bytes + bytes);
  std::filesystem::remove_all(directory);
}

TEST_P(OneShotRuns, CopyInUnderTheSourcesOwnNameWhereNoOtherIsGiven) {
  OneShot asked = request("cat hostname-of-nobody");
  const std::string directory = testing::TempDir() + "conformance-" + std::to_string(::getpid());
  std::filesystem::create_directory(directory);
  asked.files = {{.source = directory + "/hostname-of-nobody", .target = {}}};
  std::ofstream(asked.files.front().source) << "it\n";
  EXPECT_EQ(once(asked).verdict.out.bytes, "it\n");
  std::filesystem::remove_all(directory);
}

TEST_P(OneShotRuns, AreNotedAsStrictWhereTheyWere) {
  OneShot asked = request("echo fine");
  asked.strict = true;
  const Verdict verdict = once(asked).verdict;
  EXPECT_EQ(verdict.out.bytes, "fine\n");
  EXPECT_EQ(verdict.walls.seccomp, "strict");
}

GB_FOR_EVERY_TIER(OneShotRuns);

}  // namespace
}  // namespace glovebox::conformance
