// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/gvisor/control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/descriptors.h"

namespace glovebox {
namespace {

using std::chrono::milliseconds;

// In pieces of `size` bytes.
Result<bool> taken(std::string_view text, std::size_t size = 1) {
  KernelAnswer answer;
  for (std::size_t at = 0; at < text.size(); at += size) {
    Result<bool> result = answer.take(text.substr(at, size));
    if (!result || result.value()) {
      return result;
    }
  }
  return false;
}

TEST(KernelAnswer, IsCompleteWithItsLastBrace) {
  constexpr std::string_view kAnswer = R"({"success":true,"err":"","result":{"a":[1,{}]}})";
  for (const std::size_t size : {1, 7, 1000}) {
    EXPECT_TRUE(taken(kAnswer, size).value()) << size;
  }
  EXPECT_FALSE(taken(kAnswer.substr(0, kAnswer.size() - 1)).value());
}

TEST(KernelAnswer, BracesInTextEndNothing) {
  EXPECT_TRUE(taken(R"({"err":"}\"}]\\","success":true})").value());
  EXPECT_FALSE(taken(R"({"err":"\"}")").value());
}

TEST(KernelAnswer, SaysWhyACallFailed) {
  const auto refused = taken(R"({"success":false,"err":"no \u001b[31m file","result":null})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message().find('\x1b'), std::string::npos);
  EXPECT_NE(refused.error().message().find(" file"), std::string::npos);
  EXPECT_FALSE(taken(R"({"success":false})"));
  EXPECT_FALSE(taken(R"({"success":false,"err":[]})"));
}

TEST(KernelAnswer, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"true", "x", "[]", "{}", "]", R"({"success":1})", R"({"success":"true"})",
        R"({success:true})", R"([{"success":true}])", R"({"success":true]})"}) {
    const auto result = taken(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalid) << text;
  }
}

TEST(KernelAnswer, EndsAtItsBoundHoweverItIsMade) {
  for (const std::string_view piece : {"{", "[", "{\"", "\"", "\\"}) {
    std::string endless = R"({"err":)";
    while (endless.size() <= KernelAnswer::kMost) {
      endless += piece;
    }
    KernelAnswer answer;
    const auto result = answer.take(endless);
    ASSERT_FALSE(result) << piece;
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalid) << piece;
  }
}

class KernelControlTest : public testing::Test {
 protected:
  void SetUp() override {
    place_ = testing::TempDir() + "control-XXXXXX";
    ASSERT_NE(::mkdtemp(place_.data()), nullptr);
    // Longer than an address of a socket may be.
    directory_ = place_ + "/" + std::string(200, 'd');
    ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);
  }

  void TearDown() override { std::filesystem::remove_all(place_); }

  std::string place_;
  std::string directory_;
};

TEST_F(KernelControlTest, IsAbsentWhereNobodyListens) {
  const auto control = KernelControl::connect(directory_);
  ASSERT_TRUE(control) << control.error().message();
  EXPECT_FALSE(control.value().has_value());
  const auto listener = KernelControl::listen(directory_);
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_TRUE(KernelControl::connect(directory_).value().has_value());
  KernelControl::forget(directory_);
  EXPECT_FALSE(KernelControl::connect(directory_).value().has_value());
}

TEST_F(KernelControlTest, SendsCallsWithDescriptorsAndHearsAnswers) {
  const UniqueFd listener = std::move(KernelControl::listen(directory_)).value();
  KernelControl control = *std::move(KernelControl::connect(directory_)).value();
  const std::array<int, 1> passed = {listener.get()};
  ASSERT_TRUE(control.send("manager.Do", R"({"a":1})", passed));
  const UniqueFd kernel(::accept(listener.get(), nullptr, nullptr));
  std::array<char, 100> bytes{};
  std::vector<UniqueFd> received;
  const ssize_t got = sys::receive_with(kernel.get(), bytes, received, 0);
  EXPECT_EQ(std::string_view(bytes.data(), got), R"({"method":"manager.Do","arg":{"a":1}})");
  EXPECT_EQ(received.size(), 1U);
  ASSERT_EQ(::send(kernel.get(), R"({"success":true})", 16, 0), 16);
  EXPECT_TRUE(control.await_success(milliseconds(60'000)));
}

TEST_F(KernelControlTest, NoticesAKernelThatEndsOrIsSilent) {
  UniqueFd listener = std::move(KernelControl::listen(directory_)).value();
  KernelControl silent = *std::move(KernelControl::connect(directory_)).value();
  EXPECT_FALSE(silent.await_success(milliseconds(1)));
  KernelControl ended = *std::move(KernelControl::connect(directory_)).value();
  listener.reset();
  EXPECT_FALSE(ended.await_success(milliseconds(60'000)));
}

}  // namespace
}  // namespace glovebox
