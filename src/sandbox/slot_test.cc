// SPDX-License-Identifier: Apache-2.0
#include "sandbox/slot.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

// Another process, ended by SIGKILL at the latest with this object.
class Process {
 public:
  explicit Process(pid_t pid) : pid_(pid) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { kill(); }
  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(std::exchange(pid_, 0), nullptr, 0);
    }
  }

 private:
  pid_t pid_;
};

// The runtime directory is one of this test's own. Root's is fixed, and living sandboxes may have
// slots in it; so root becomes nobody for a while.
class SlotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "slots-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    home_ = path;
    if (::geteuid() == 0) {
      constexpr uid_t kNobody = 65534;
      ASSERT_EQ(::chown(home_.c_str(), kNobody, kNobody), 0);
      ASSERT_EQ(::seteuid(kNobody), 0);
    }
    ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", home_.c_str(), 1), 0);
  }
  void TearDown() override {
    EXPECT_EQ(::seteuid(::getuid()), 0);
    fs::remove_all(home_);
  }

  [[nodiscard]] std::string runtime() const { return home_ + "/glovebox"; }
  [[nodiscard]] std::string in_home(const std::string& name) const { return home_ + "/" + name; }

  [[nodiscard]] std::vector<std::string> slots() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(runtime())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  // A tree under a name such as we give, with a file in it.
  [[nodiscard]] std::string make_tree(const std::string& name) const {
    std::string path = in_home(name);
    fs::create_directories(path + "/inner");
    std::ofstream(path + "/inner/file") << "left over";
    return path;
  }

  // What an owner that ended without a word leaves behind.
  void leave_slot(const std::string& name, const std::string& lines) const {
    fs::create_directory(runtime());
    fs::permissions(runtime(), fs::perms::owner_all);
    std::ofstream(runtime() + "/" + name) << lines;
  }

 private:
  std::string home_;
};

TEST_F(SlotTest, MakesARuntimeDirectoryForItsOwnerAlone) {
  const auto slot = Slot::take();

  ASSERT_TRUE(slot) << slot.error().message();
  EXPECT_EQ(fs::status(runtime()).permissions(), fs::perms::owner_all);
}

TEST_F(SlotTest, RefusesARuntimeDirectoryThatOthersCanWriteTo) {
  fs::create_directory(runtime());
  fs::permissions(runtime(), fs::perms::all);

  const auto slot = Slot::take();

  ASSERT_FALSE(slot);
  EXPECT_EQ(slot.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(slot.error().hint(), HasSubstr("XDG_RUNTIME_DIR"));
}

TEST_F(SlotTest, RefusesARuntimeDirectoryBehindALink) {
  fs::create_directory(in_home("elsewhere"));
  fs::permissions(in_home("elsewhere"), fs::perms::owner_all);
  fs::create_symlink(in_home("elsewhere"), runtime());

  EXPECT_FALSE(Slot::take());
  EXPECT_TRUE(fs::is_empty(in_home("elsewhere")));
}

TEST_F(SlotTest, GivesLivingSlotsDifferentNumbers) {
  std::vector<Slot> living;
  std::set<std::uint32_t> numbers;
  std::set<std::string> names;
  for (int i = 0; i < 50; ++i) {
    auto slot = Slot::take();
    ASSERT_TRUE(slot);
    EXPECT_LT(slot->number(), GuestIds::kSlots);
    EXPECT_EQ(slot->host_uid(), GuestIds::kFirst + slot->number());
    EXPECT_THAT(slot->name(), MatchesRegex("glovebox-[0-9a-f]+-[0-9a-f]{8}"));
    numbers.insert(slot->number());
    names.insert(slot->name());
    living.push_back(std::move(slot).value());
  }

  EXPECT_THAT(numbers, SizeIs(50));
  EXPECT_THAT(names, SizeIs(50));
  EXPECT_THAT(slots(), SizeIs(50));
}

TEST_F(SlotTest, HasANumberOutOfTheWindowOfItsDirectory) {
  std::vector<Slot> taken;
  for (int i = 0; i < 64; ++i) {
    auto slot = Slot::take();
    ASSERT_TRUE(slot) << slot.error().message();
    taken.push_back(std::move(*slot));
  }
  struct stat status {};
  ASSERT_EQ(::stat(runtime().c_str(), &status), 0);
  const auto window =
      static_cast<std::uint32_t>(status.st_ino % (GuestIds::kSlots / Slot::kWindow));
  for (const Slot& slot : taken) {
    EXPECT_EQ(slot.number() / Slot::kWindow, window);
  }
}

TEST_F(SlotTest, IsGivenBackAtTheEndOfItsLife) {
  {
    const auto slot = Slot::take();
    ASSERT_TRUE(slot);
    EXPECT_THAT(slots(), SizeIs(1));
  }
  EXPECT_THAT(slots(), IsEmpty());
}

TEST_F(SlotTest, IsHeldByWhoItWasMovedTo) {
  auto first = Slot::take();
  auto second = Slot::take();
  ASSERT_TRUE(first && second);
  const std::string name = first->name();

  Slot held = std::move(first).value();
  EXPECT_THAT(slots(), SizeIs(2));
  EXPECT_EQ(held.name(), name);

  second.value() = std::move(held);
  EXPECT_THAT(slots(), SizeIs(1));
  EXPECT_EQ(second->name(), name);
}

TEST_F(SlotTest, StaysOnTheListWhileWhatItNotedIsThere) {
  const std::string tree = make_tree("glovebox-stays");
  {
    auto slot = Slot::take();
    ASSERT_TRUE(slot);
    ASSERT_TRUE(slot->note_tree(tree));
  }
  EXPECT_THAT(slots(), SizeIs(1));

  const Swept swept = sweep_leftovers();

  EXPECT_EQ(swept.trees, 1U);
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_THAT(slots(), IsEmpty());
}

TEST_F(SlotTest, SweepLeavesTheLivingAlone) {
  auto slot = Slot::take();
  ASSERT_TRUE(slot);
  const std::string tree = make_tree("glovebox-living");
  ASSERT_TRUE(slot->note_tree(tree));

  const Swept swept = sweep_leftovers();

  EXPECT_EQ(swept.slots, 0U);
  EXPECT_EQ(swept.trees, 0U);
  EXPECT_TRUE(fs::exists(tree));
  EXPECT_THAT(slots(), SizeIs(1));
}

TEST_F(SlotTest, SweepsWhatAKilledOwnerLeft) {
  const std::string tree = make_tree("glovebox-orphan");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    auto slot = Slot::take();
    const bool noted = slot && slot->note_tree(tree);
    (void)!::write(ends[1], noted ? "y" : "n", 1);
    for (;;) {
      ::pause();
    }
  }
  Process owner(pid);
  char noted = 0;
  ASSERT_EQ(::read(ends[0], &noted, 1), 1);
  ASSERT_EQ(noted, 'y');
  EXPECT_EQ(sweep_leftovers().slots, 0U) << "its owner lives";
  EXPECT_TRUE(fs::exists(tree));

  owner.kill();
  const Swept swept = sweep_leftovers();

  EXPECT_EQ(swept.slots, 1U);
  EXPECT_EQ(swept.trees, 1U);
  EXPECT_THAT(swept.failures, IsEmpty());
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_THAT(slots(), IsEmpty());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(SlotTest, SweepsEveryTreeOfASlotAndThoseThatAreGoneAlready) {
  const std::string one = make_tree("glovebox-one");
  const std::string two = make_tree("glovebox-two");
  leave_slot("1", "tree " + one + "\ntree " + in_home("glovebox-gone") + "\ntree " + two + "\n");

  const Swept swept = sweep_leftovers();

  EXPECT_EQ(swept.slots, 1U);
  EXPECT_THAT(swept.failures, IsEmpty());
  EXPECT_FALSE(fs::exists(one));
  EXPECT_FALSE(fs::exists(two));
}

TEST_F(SlotTest, SweepsNothingUnderANameThatIsNotOurs) {
  const std::string stranger = make_tree("stranger");
  leave_slot("1", "tree " + stranger + "\nnonsense\n\nother " + stranger + "\n");

  (void)sweep_leftovers();

  EXPECT_TRUE(fs::exists(stranger + "/inner/file"));
}

TEST_F(SlotTest, DoesNotFollowLinksOutOfATreeThatItSweeps) {
  const std::string stranger = make_tree("stranger");
  const std::string tree = make_tree("glovebox-tree");
  fs::create_directory_symlink(stranger, tree + "/link");
  leave_slot("1", "tree " + tree + "\n");

  (void)sweep_leftovers();

  EXPECT_FALSE(fs::exists(tree));
  EXPECT_TRUE(fs::exists(stranger + "/inner/file"));
}

TEST_F(SlotTest, KeepsOnItsListWhatCouldNotBeRemoved) {
  leave_slot("1", "cgroup " + in_home("glovebox-no-cgroup") + "\n");

  for (int sweep = 0; sweep < 2; ++sweep) {
    const Swept swept = sweep_leftovers();
    EXPECT_THAT(swept.failures, SizeIs(1));
    EXPECT_EQ(swept.slots, 0U);
    EXPECT_THAT(slots(), SizeIs(1));
  }
}

}  // namespace
}  // namespace glovebox
