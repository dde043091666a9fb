// SPDX-License-Identifier: Apache-2.0
#include "kernelspec.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::jupyter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class KernelFolder : public ::testing::Test {
 protected:
  KernelFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kernelspec.XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(root_ / name);
    const std::filesystem::path path = root_ / name / "kernel.json";
    std::ofstream(path) << text;
    return path.string();
  }

  std::filesystem::path root_;
};

std::string refusal_of(const std::string& text) {
  const auto spec = parse_kernelspec(text);
  return spec ? "accepted" : spec.error().message();
}

TEST(Kernelspec, HoldsWhatTheFileSays) {
  const auto spec = parse_kernelspec(
      R"({"argv":["k","-f","{connection_file}"],"env":{"A":"1"},"language":"r",
          "display_name":"R","interrupt_mode":"message","metadata":{"x":[]}})");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_THAT(spec->argv, ElementsAre("k", "-f", "{connection_file}"));
  EXPECT_THAT(spec->environment, ElementsAre(Pair("A", "1")));
  EXPECT_EQ(spec->language, "r");
  EXPECT_EQ(spec->interrupt_mode, InterruptMode::kMessage);
}

TEST(Kernelspec, InterruptsBySignalUnlessItSaysOtherwise) {
  const auto spec = parse_kernelspec(R"({"argv":["k"]})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->interrupt_mode, InterruptMode::kSignal);
}

TEST(Kernelspec, PlaceholdersAreFilledInOnce) {
  Kernelspec spec;
  spec.argv = {"{resource_dir}/k", "--f={connection_file}", "{unknown}", "{connection_file"};
  spec.resource_dir = "/r/{connection_file}";
  EXPECT_THAT(spec.command("/tmp/c"),
              ElementsAre("/r/{connection_file}/k", "--f=/tmp/c", "{unknown}", "{connection_file"));
}

TEST(Kernelspec, ArgvMustBeAListOfStrings) {
  for (const char* argv : {"[]", "\"k\"", "{}", "null", "[1]", "[[\"k\"]]", "[null]", "[\"\"]"}) {
    EXPECT_THAT(refusal_of(std::string(R"({"argv":)") + argv + "}"), HasSubstr("argv")) << argv;
  }
  EXPECT_THAT(refusal_of("{}"), HasSubstr("argv"));
  EXPECT_THAT(refusal_of(R"({"argv":["k\u0000x"]})"), HasSubstr("NUL"));
}

TEST(Kernelspec, ArgvHasAMostNumberOfArguments) {
  std::string argv = "\"k\"";
  for (int i = 0; i < 256; ++i) {
    argv += ",\"\"";
  }
  EXPECT_THAT(refusal_of(R"({"argv":[)" + argv + "]}"), HasSubstr("256"));
}

TEST(Kernelspec, EnvironmentNamesAndValuesFitExecve) {
  for (const char* env : {R"({"":"x"})", R"({"A=B":"x"})", R"({"A\u0000":"x"})", R"({"A":1})",
                          R"({"A":"x\u0000y"})", "[]", "\"A=1\""}) {
    EXPECT_THAT(refusal_of(std::string(R"({"argv":["k"],"env":)") + env + "}"), HasSubstr("env"))
        << env;
  }
}

TEST(Kernelspec, InterruptModeIsOneOfTwo) {
  EXPECT_THAT(refusal_of(R"({"argv":["k"],"interrupt_mode":"shout"})"),
              HasSubstr("interrupt_mode"));
}

TEST(Kernelspec, WhatIsNoJsonObjectIsRefused) {
  for (const char* text : {"", "[]", "{", "{\"argv\":[\"k\"]}}", "\xff", "null"}) {
    EXPECT_FALSE(parse_kernelspec(text)) << text;
  }
}

TEST(Kernelspec, DeepNestingIsRefused) {
  const std::string nested = std::string(5000, '[') + std::string(5000, ']');
  EXPECT_THAT(refusal_of(R"({"argv":["k"],"metadata":)" + nested + "}"), HasSubstr("deep"));
}

TEST(KernelFolders, AreJupyterPathThenTheUsersThenTheSystems) {
  EXPECT_THAT(kernel_folders("/a:relative::/b", "/home/u"),
              ElementsAre("/a/kernels", "/b/kernels", "/home/u/.local/share/jupyter/kernels",
                          "/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"));
  EXPECT_THAT(kernel_folders("", ""),
              ElementsAre("/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"));
}

TEST_F(KernelFolder, TheFirstFolderThatHasTheNameWins) {
  write("one/k", R"({"argv":["first"]})");
  write("two/k", R"({"argv":["second"]})");
  const auto spec = find_kernelspec(
      "k", {(root_ / "none").string(), (root_ / "one").string(), (root_ / "two").string()});
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_THAT(spec->argv, ElementsAre("first"));
  EXPECT_EQ(spec->resource_dir, (root_ / "one/k").string());
}

TEST_F(KernelFolder, ANameCannotLeaveTheFolder) {
  write("k", R"({"argv":["k"]})");
  std::filesystem::create_directories(root_ / "folder");
  for (const char* name : {"../k", "", ".", "..", "a/b", "/k", "k\n"}) {
    const auto spec = find_kernelspec(name, {(root_ / "folder").string()});
    ASSERT_FALSE(spec) << name;
    EXPECT_EQ(spec.error().code(), ErrorCode::kInvalid) << name;
  }
}

TEST_F(KernelFolder, AnUnknownNameIsNotFound) {
  const auto spec = find_kernelspec("k", {root_.string()});
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code(), ErrorCode::kNotFound);
}

TEST_F(KernelFolder, AFileOverTheLimitIsRefused) {
  const std::string path = write("k", R"({"argv":["k"]})" + std::string(kMaxKernelspec, ' '));
  EXPECT_FALSE(load_kernelspec(path));
}

TEST_F(KernelFolder, AFifoIsRefusedAndNotWaitedFor) {
  const std::string path = (root_ / "fifo").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto spec = load_kernelspec(path);
  ASSERT_FALSE(spec);
  EXPECT_THAT(spec.error().message(), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace glovebox::jupyter
