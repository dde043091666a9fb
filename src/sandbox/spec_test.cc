// SPDX-License-Identifier: Apache-2.0
#include "sandbox/spec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace glovebox {
namespace {

bool fits(const std::vector<std::string>& targets, std::string_view home = "/workspace") {
  std::vector<Attachment> attachments;
  attachments.reserve(targets.size());
  for (const std::string& target : targets) {
    attachments.push_back({.mount_fd = -1, .target = target});
  }
  return check_targets(attachments, home).has_value();
}

TEST(TargetsOfVolumes, AreTheWorkspaceOrPathsOfTheirOwn) {
  EXPECT_TRUE(fits({"/workspace"}));
  EXPECT_TRUE(fits({"/workspace/data"}));
  EXPECT_TRUE(fits({"/mnt/data", "/mnt/data2", "/volumes/a/b"}));
  EXPECT_TRUE(fits({"/home/user"}, "/home/user"));
  EXPECT_TRUE(fits({"/home/user/data"}, "/home/user"));
}

TEST(TargetsOfVolumes, AreNoPartOfTheSystem) {
  for (const char* const target : {"/", "/usr", "/usr/local/data", "/etc", "/proc/1", "/dev/shm",
                                   "/tmp", "/run/x", "/lib64", "/bin"}) {
    EXPECT_FALSE(fits({target})) << target;
  }
}

TEST(TargetsOfVolumes, ArePlainAbsolutePaths) {
  for (const char* const target :
       {"", "data", "/mnt/../etc", "/mnt/./a", "/mnt//a", "/mnt/", "/mnt/..", "/a\nb"}) {
    EXPECT_FALSE(fits({target})) << target;
  }
  EXPECT_FALSE(fits({"/" + std::string(2000, 'a')}));
}

TEST(TargetsOfVolumes, DoNotLieInEachOtherOrCoverTheWorkspace) {
  EXPECT_FALSE(fits({"/mnt/a", "/mnt/a"}));
  EXPECT_FALSE(fits({"/mnt/a", "/mnt/a/b"}));
  EXPECT_FALSE(fits({"/mnt/a/b", "/mnt/a"}));
  EXPECT_FALSE(fits({"/workspace", "/workspace/data"}));
  EXPECT_FALSE(fits({"/home"}, "/home/user"));
  EXPECT_FALSE(fits({"/workspace/data"}, "/home/user"));
}

}  // namespace
}  // namespace glovebox
