// SPDX-License-Identifier: Apache-2.0
// For tests: a directory for a journal, what is in its files, and what verify() says of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "audit/journal.h"
#include "audit/segments.h"
#include "audit/verify.h"
#include "base/sys/tree.h"

namespace glovebox::audit {

class JournalDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    parent_ = ::testing::TempDir() + "glovebox-audit.XXXXXX";
    ASSERT_NE(::mkdtemp(parent_.data()), nullptr);
    path_ = parent_ + "/audit";
  }
  void TearDown() override { ASSERT_TRUE(sys::remove_tree(parent_)); }

  std::unique_ptr<Journal> open(Journal::Options options = {}) {
    auto opened = Journal::open(path_, std::move(options));
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message());
    return opened ? *std::move(opened) : nullptr;
  }

  // Records of a journal that is closed again.
  void write(int records, const Journal::Options& options = {}) {
    const auto journal = open(options);
    for (int i = 0; i < records; ++i) {
      ASSERT_TRUE(journal->append(entry(i)));
    }
  }

  static Entry entry(int number) {
    return {.tenant = number % 2 == 0 ? "even" : "odd",
            .key = "k" + std::to_string(number),
            .door = "rest",
            .action = "sandbox.create",
            .sandbox = "sb" + std::to_string(number),
            .details = R"({"template":"default"})"};
  }

  [[nodiscard]] PublicKey key() const { return PublicKey::parse(read("public.pem")).value(); }

  Report check(const std::vector<KnownHead>& known = {}) {
    const UniqueFd directory = open_directory(path_).value();
    return verify(directory.get(), key(), known).value();
  }

  // All of what verify() found, for messages.
  static std::string text_of(const Report& report) {
    std::string text;
    for (const Problem& problem : report.problems) {
      text += problem.segment + ":" + std::to_string(problem.line) + " record " +
              std::to_string(problem.record) + ": " + problem.what + "\n";
    }
    return text;
  }

  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }
  [[nodiscard]] std::vector<std::string> lines(const std::string& name) const {
    std::vector<std::string> found;
    const std::string text = read(name);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      found.push_back(text.substr(at, end - at));
      at = end == std::string::npos ? text.size() : end + 1;
    }
    return found;
  }
  void put_lines(const std::string& name, const std::vector<std::string>& all) const {
    std::string text;
    for (const std::string& line : all) {
      text += line + "\n";
    }
    put(name, text);
  }

  std::string parent_;
  std::string path_;
  const std::string first_ = segment_name(1);
};

}  // namespace glovebox::audit
