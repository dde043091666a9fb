// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "language/registry.h"

namespace glovebox {
namespace {

// A host of its own: <root>/bin is the PATH and <root>/usr what sandboxes see.
class ReadinessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "glovebox-readiness-XXXXXX";
    root_ = std::filesystem::canonical(::mkdtemp(path.data()));
    std::filesystem::create_directories(root_ + "/usr/bin");
    search_ = {.path = "/nonexistent:" + root_ + "/usr/bin", .visible = {root_ + "/usr/"}};
    language_.id = "x";
    language_.package = "x-lang";
    language_.run = {"x"};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void add_program(const std::string& path) const {
    std::ofstream(root_ + path) << "#!/bin/sh\n";
    std::filesystem::permissions(root_ + path, std::filesystem::perms::owner_all);
  }

  std::string root_;
  ProgramSearch search_;
  Language language_;
};

TEST_F(ReadinessTest, IsReadyWhenTheProgramIsInThePath) {
  add_program("/usr/bin/x");

  EXPECT_TRUE(readiness(language_, search_).ready);
}

TEST_F(ReadinessTest, NamesTheMissingProgramAndThePackages) {
  language_.extra_packages = {"libx-dev"};

  const Readiness answer = readiness(language_, search_);

  EXPECT_FALSE(answer.ready);
  EXPECT_EQ(answer.missing, "x");
  EXPECT_EQ(answer.hint, "apt-get install x-lang libx-dev");
}

TEST_F(ReadinessTest, GivesTheOtherWayWhereThereIsNoPackage) {
  language_.package.clear();
  language_.install = "Unpack it below /opt/x.";

  EXPECT_EQ(readiness(language_, search_).hint, "Unpack it below /opt/x.");
}

TEST_F(ReadinessTest, WantsTheCompilerAndEveryNeed) {
  language_.compile = {"xc"};
  language_.needs = {"xld", root_ + "/usr/x.h"};
  add_program("/usr/bin/x");
  EXPECT_EQ(readiness(language_, search_).missing, "xc");
  add_program("/usr/bin/xc");
  EXPECT_EQ(readiness(language_, search_).missing, "xld");
  add_program("/usr/bin/xld");
  EXPECT_EQ(readiness(language_, search_).missing, root_ + "/usr/x.h");
  std::ofstream(root_ + "/usr/x.h") << "\n";

  EXPECT_TRUE(readiness(language_, search_).ready);
}

TEST_F(ReadinessTest, DoesNotLookForWhatTheCompilerMakes) {
  language_.run = {"{dir}/{stem}"};

  EXPECT_TRUE(readiness(language_, search_).ready);
}

TEST_F(ReadinessTest, RefusesAFileThatIsNoProgram) {
  std::ofstream(root_ + "/usr/bin/x") << "\n";

  EXPECT_FALSE(readiness(language_, search_).ready);
}

TEST_F(ReadinessTest, RefusesALinkToWhereNoGuestSees) {
  std::filesystem::create_directory(root_ + "/home");
  add_program("/home/x");
  std::filesystem::create_symlink(root_ + "/home/x", root_ + "/usr/bin/x");

  EXPECT_FALSE(readiness(language_, search_).ready);
}

TEST_F(ReadinessTest, FollowsALinkIntoAMountOfTheLanguage) {
  std::filesystem::create_directory(root_ + "/opt");
  add_program("/opt/x");
  std::filesystem::create_symlink(root_ + "/opt/x", root_ + "/usr/bin/x");
  language_.mounts = {{.source = root_ + "/opt", .target = root_ + "/opt", .optional = true}};

  EXPECT_TRUE(readiness(language_, search_).ready);
}

TEST_F(ReadinessTest, SearchesTheLanguagesOwnPath) {
  std::filesystem::create_directory(root_ + "/usr/own");
  add_program("/usr/own/x");
  language_.env = {{"PATH", root_ + "/usr/own"}};

  EXPECT_TRUE(readiness(language_, search_).ready);
}

}  // namespace
}  // namespace glovebox
