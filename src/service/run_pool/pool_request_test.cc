// SPDX-License-Identifier: Apache-2.0
#include "service/run_pool/pool_request.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox {
namespace {

SandboxSpec unusual() {
  SandboxSpec spec;
  spec.limits.memory = 77_MiB;
  spec.limits.cpus = 0.25;
  spec.limits.pids = 9;
  spec.limits.disk = 8_MiB;
  spec.limits.inodes = 100;
  spec.limits.cpu_time = std::chrono::seconds(3);
  spec.limits.io_rate = 5_MiB;
  spec.mounts = {{.source = "/etc/a", .target = "/etc/b", .optional = true, .closed = false},
                 {.source = "/opt/c", .target = "/opt/c", .optional = false, .closed = true}};
  return spec;
}

TEST(PoolRequest, AKindKeepsMountsAndLimitsOfTheSandbox) {
  const SandboxSpec spec = unusual();
  const auto decoded = decode_kind(encode_kind(spec));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->limits, spec.limits);
  EXPECT_EQ(decoded->mounts, spec.mounts);
}

TEST(PoolRequest, LimitsOfEachProcessMakeNoOtherKind) {
  SandboxSpec spec = unusual();
  const std::string kind = encode_kind(spec);
  spec.limits.wall = std::chrono::seconds(1);
  spec.limits.output = 1_KiB;
  spec.limits.open_files = 17;
  spec.env.emplace_back("A", "b");
  EXPECT_EQ(encode_kind(spec), kind);
  spec.limits.inodes = 101;
  EXPECT_NE(encode_kind(spec), kind);
}

TEST(PoolRequest, WhatIsCutOrTooLongIsRefused) {
  const std::string request =
      encode(PoolRequest{.surroundings = "here", .kind = encode_kind(unusual())});
  ASSERT_TRUE(decode_pool_request(request).has_value());
  for (std::size_t size = 0; size < request.size(); ++size) {
    EXPECT_FALSE(decode_pool_request(std::string_view(request).substr(0, size)).has_value())
        << size;
  }
  EXPECT_FALSE(decode_pool_request(request + "x").has_value());
  const std::string kind = encode_kind(unusual());
  for (std::size_t size = 0; size < kind.size(); ++size) {
    EXPECT_FALSE(decode_kind(std::string_view(kind).substr(0, size)).has_value()) << size;
  }
}

TEST(PoolRequest, LimitsThatNoSandboxCanHaveAreRefused) {
  SandboxSpec spec = unusual();
  spec.limits.pids = 0;
  EXPECT_FALSE(decode_kind(encode_kind(spec)).has_value());
}

TEST(PoolRequest, OnlyPlainSandboxesArePooled) {
  EXPECT_TRUE(can_be_pooled(unusual()));
  SandboxSpec spec = unusual();
  spec.root = "/srv/root";
  EXPECT_FALSE(can_be_pooled(spec));
  spec = unusual();
  spec.live = true;
  EXPECT_FALSE(can_be_pooled(spec));
}

}  // namespace
}  // namespace glovebox
