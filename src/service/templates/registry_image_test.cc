// SPDX-License-Identifier: Apache-2.0
#include "service/templates/registry_image.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace glovebox {
namespace {

TEST(RegistryImageTest, NamesAreCompletedAsDockerDoes) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  for (const auto& [name, reference] :
       {std::pair<std::string, std::string>("python", "docker.io/library/python:latest"),
        {"python:3.12-slim", "docker.io/library/python:3.12-slim"},
        {"grafana/grafana", "docker.io/grafana/grafana:latest"},
        {"ghcr.io/a/b_c/d:v1.0", "ghcr.io/a/b_c/d:v1.0"},
        {"registry.example:5000/small", "registry.example:5000/small:latest"},
        {"docker.io/library/debian:12", "docker.io/library/debian:12"},
        {"quay.io/a/b:tag@" + digest, "quay.io/a/b@" + digest},
        {"debian@" + digest, "docker.io/library/debian@" + digest}}) {
    const auto image = parse_registry_image(name);
    ASSERT_TRUE(image) << name;
    EXPECT_EQ(image->reference, reference);
    EXPECT_FALSE(image->plain_http);
  }
}

TEST(RegistryImageTest, TheRegistryIsWhatTheRulesMustAllow) {
  EXPECT_EQ(parse_registry_image("python")->registry, "docker.io");
  EXPECT_EQ(parse_registry_image("registry.example:5000/small")->registry, "registry.example:5000");
  EXPECT_EQ(parse_registry_image("localhost/small")->registry, "localhost");
}

TEST(RegistryImageTest, PlainHttpMustBeAskedFor) {
  const auto image = parse_registry_image("http://registry.example:5000/small:1");
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->plain_http);
  EXPECT_EQ(image->reference, "registry.example:5000/small:1");
}

TEST(RegistryImageTest, ATemplateIsNamedAfterItsImageAndNoOther) {
  const std::string name = template_name_of(*parse_registry_image("python:3.12-slim"));
  EXPECT_TRUE(name.starts_with("docker.io-library-python-3.12-slim-")) << name;
  EXPECT_EQ(name, template_name_of(*parse_registry_image("docker.io/library/python:3.12-slim")));
  std::set<std::string> names;
  for (const char* const image :
       {"a.example/b/c", "a.example/b-c", "http://a.example/b/c", "a.example/b/c:1"}) {
    const auto parsed = parse_registry_image(image);
    ASSERT_TRUE(parsed) << image;
    names.insert(template_name_of(*parsed));
    EXPECT_TRUE(check_template_name(template_name_of(*parsed)));
  }
  EXPECT_EQ(names.size(), 4);
  const auto longest = parse_registry_image("a.example/" + std::string(400, 'b'));
  ASSERT_TRUE(longest);
  EXPECT_TRUE(check_template_name(template_name_of(*longest)));
}

TEST(RegistryImageTest, WhatIsNoNameIsRefused) {
  for (const std::string name : {"",
                                 "/",
                                 "a/",
                                 "/a",
                                 "a//b",
                                 "Python",
                                 "a:",
                                 "a:-b",
                                 "a b",
                                 "a\n",
                                 "-a",
                                 "--help",
                                 "a:b:c",
                                 "a@",
                                 "a@sha256:12",
                                 "a@md5:aa",
                                 "https://a.example/b",
                                 "a.example:123456/b",
                                 "a.example:/b",
                                 ".example/a",
                                 "a/../b",
                                 "user:password@a.example/b"}) {
    EXPECT_FALSE(parse_registry_image(name)) << name;
  }
  EXPECT_FALSE(parse_registry_image("a:" + std::string(129, 'a')));
  EXPECT_FALSE(parse_registry_image(std::string(600, 'a')));
}

}  // namespace
}  // namespace glovebox
