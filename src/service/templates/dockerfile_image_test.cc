// SPDX-License-Identifier: Apache-2.0
#include "service/templates/dockerfile_image.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(ImageInContext, IsAPathAndANameBehindTheFirstColon) {
  const auto docker = image_in_context("docker-archive:images/a.tar:example/app:1.2");
  ASSERT_TRUE(docker);
  EXPECT_EQ(docker->format, ImageFormat::kDocker);
  EXPECT_EQ(docker->path, "images/a.tar");
  EXPECT_EQ(docker->image, "example/app:1.2");
  const auto oci = image_in_context("oci-archive:a.tar");
  ASSERT_TRUE(oci);
  EXPECT_EQ(oci->format, ImageFormat::kOci);
  EXPECT_EQ(oci->path, "a.tar");
  EXPECT_EQ(oci->image, "");
}

TEST(ImageInContext, IsNothingThatAnotherNameStandsFor) {
  for (const char* const name : {"default", "debian:12", "oci:a", "dir:oci-archive:a", ""}) {
    EXPECT_FALSE(image_in_context(name)) << name;
  }
}

}  // namespace
}  // namespace glovebox
