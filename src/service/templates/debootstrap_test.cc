// SPDX-License-Identifier: Apache-2.0
#include "service/templates/debootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace glovebox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DebootstrapHint, OfADownloadNamesTheMirror) {
  for (const char* const output :
       {"I: Retrieving InRelease\nI: Retrieving Release\n"
        "E: Failed getting release file http://mirror/dists/bookworm/Release\n",
        "I: Validating Packages\nI: Resolving dependencies of required packages...\n"
        "I: Checking component main on http://mirror...\n"
        "E: Couldn't find these debs: no-such-package\n",
        "I: Retrieving libc6 2.36\nW: Couldn't download package libc6\n", ""}) {
    EXPECT_THAT(debootstrap_hint(output), HasSubstr("mirror")) << output;
  }
}

TEST(DebootstrapHint, OfAnUnknownSuiteNamesWhereTheKnownOnesAre) {
  EXPECT_THAT(debootstrap_hint("E: No such script: /usr/share/debootstrap/scripts/bookwurm\n"),
              AllOf(HasSubstr("suite"), Not(HasSubstr("mirror"))));
}

TEST(DebootstrapHint, OfUnpackingNamesTheBoundsOfARoot) {
  for (const char* const output :
       {"I: Retrieving libc6 2.36\nI: Extracting libc6...\ntar: No space left on device\n",
        "I: Unpacking required packages...\nI: Unpacking tar...\nW: Failure while unpacking\n"}) {
    EXPECT_THAT(debootstrap_hint(output), AllOf(HasSubstr("8 GiB"), Not(HasSubstr("mirror"))))
        << output;
  }
}

TEST(DebootstrapHint, OfConfiguringNamesThePackageAndTheLog) {
  for (const char* const output :
       {"I: Unpacking tar...\nI: Configuring required packages...\nI: Configuring tar...\n"
        "W: Failure while configuring required packages.\n",
        "I: Configuring the base system...\nI: Configuring apt...\n"
        "W: See /x/debootstrap/debootstrap.log for details (possibly the package apt is at "
        "fault)\n",
        // What a mirror said before has nothing to do with it.
        "W: Retrying failed download of http://mirror/x.deb\nI: Retrieving x 1\n"
        "I: Configuring x...\n",
        // The output is cut at its beginning.
        "trieving x 1\nI: Configuring x..."}) {
    EXPECT_THAT(debootstrap_hint(output),
                AllOf(HasSubstr("configured"), HasSubstr("log"), Not(HasSubstr("mirror"))))
        << output;
  }
}

}  // namespace
}  // namespace glovebox
