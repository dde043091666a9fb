// SPDX-License-Identifier: Apache-2.0
// Sandboxes that are saved with the memory of their contexts, and continued.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "contexts_fixture.h"
#include "fixture.h"

namespace glovebox::conformance {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Ne;

// A directory of the host that goes with the test.
class Directory {
 public:
  Directory() {
    std::string name = fs::temp_directory_path() / "glovebox-saved-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  // The largest of its files: of memory.
  [[nodiscard]] fs::path largest() const {
    fs::path found;
    std::uintmax_t size = 0;
    for (const auto& file : fs::directory_iterator(path_)) {
      if (file.file_size() > size) {
        size = file.file_size();
        found = file.path();
      }
    }
    return found;
  }

 private:
  std::string path_;
};

class SavedContexts : public Contexts {
 protected:
  void SetUp() override {
    Contexts::SetUp();
    if (!IsSkipped()) {
      live_ = make(GetParam());
      ASSERT_TRUE(live_.context);
      saves_ = live_.sandbox->features().snapshots_memory;
    }
  }

  // Saves the sandbox, which ends it.
  void save() {
    const auto resting = live_.context->rest();
    ASSERT_TRUE(resting) << resting.error().message();
    resting_ = *resting;
    const auto saved = live_.sandbox->save(saved_.path());
    ASSERT_TRUE(saved) << saved.error().message();
    end();
  }

  void end() {
    live_.context.reset();
    live_.sandbox.reset();
  }

  Live load() { return load(saved_.path()); }
  Live load(const std::string& directory) {
    auto sandbox = Sandbox::load(spec_of(GetParam()), GetParam().tier, directory);
    if (!sandbox) {
      ADD_FAILURE() << sandbox.error().message();
      return {};
    }
    auto context = Context::wake(**sandbox, resting_);
    if (!context) {
      ADD_FAILURE() << context.error().message();
      return {};
    }
    return {.sandbox = std::move(sandbox).value(), .context = std::move(context).value()};
  }

  Live live_;
  RestingContext resting_;
  Directory saved_;
  bool saves_ = false;
};

TEST_P(SavedContexts, KeepTheirVariablesFilesAndProcessesOrAreRefusedAndLiveOn) {
  (void)run(*live_.context,
            "import subprocess, time\n"
            "data = {'n': 41}\n"
            "open('note', 'w').write('kept')\n"
            "child = subprocess.Popen(['sleep', '1000'])\n"
            "clock = time.monotonic()");
  if (!saves_) {
    const auto refused = live_.sandbox->save(saved_.path());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(output_of(*live_.context, "print(data)"), "{'n': 41}");
    return;
  }
  save();
  const Live again = load();
  ASSERT_TRUE(again.context);
  EXPECT_EQ(output_of(*again.context,
                      "data['n'] += 1\n"
                      "print(data, open('note').read(), child.poll(), time.monotonic() >= clock)"),
            "{'n': 42} kept None True");
  EXPECT_EQ(run(*again.context, "1 / 0").error->name, "ZeroDivisionError");
  EXPECT_EQ(output_of(*again.context, "child.kill(); print(child.wait())"), "-9");
  EXPECT_EQ(again.sandbox->walls().no_new_privs, true);
}

TEST_P(SavedContexts, ContinueFromACopyMoreThanOnceWithOtherRandomNumbers) {
  if (!saves_) {
    return;
  }
  (void)run(*live_.context, "import random, os, uuid\nrandom.seed(1)\nx = [1]");
  save();
  const Directory elsewhere;
  fs::copy(saved_.path(), elsewhere.path(), fs::copy_options::recursive);
  const Live first = load();
  const Live second = load(elsewhere.path());
  ASSERT_TRUE(first.context);
  ASSERT_TRUE(second.context);
  constexpr const char* kRandom =
      "x.append(2); print(random.random(), os.urandom(8).hex(), uuid.uuid4())";
  EXPECT_THAT(output_of(*first.context, kRandom), Ne(output_of(*second.context, kRandom)));
  EXPECT_EQ(output_of(*first.context, "x.append(3); print(x)"), "[1, 2, 3]");
  EXPECT_EQ(output_of(*second.context, "print(x)"), "[1, 2]");
}

TEST_P(SavedContexts, AreRefusedWhenTheirImageIsDamagedAndContinueOnceItIsMended) {
  if (!saves_) {
    return;
  }
  (void)run(*live_.context, "x = 7");
  save();
  const auto flip = [file = saved_.largest()] {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(4096);
    const int byte = bytes.get();
    bytes.seekp(4096);
    bytes.put(static_cast<char>(~byte));
  };
  flip();
  const auto refused = Sandbox::load(spec_of(GetParam()), GetParam().tier, saved_.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalid);
  EXPECT_THAT(refused.error().message(), HasSubstr("damaged"));
  flip();
  const Live again = load();
  ASSERT_TRUE(again.context);
  EXPECT_EQ(output_of(*again.context, "print(x)"), "7");
}

TEST_P(SavedContexts, LeaveNothingOnTheHostWhileTheySleep) {
  if (!saves_) {
    return;
  }
  end();
  const Traces before = Traces::look();
  live_ = make(GetParam());
  save();
  EXPECT_THAT(Traces::left_since(before), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ways, SavedContexts, testing::ValuesIn(ways()), [](const auto& info) {
  return info.param.name;
});

}  // namespace
}  // namespace glovebox::conformance
