// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/memory_export.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sandbox/saved_files.h"

namespace glovebox::keeper {
namespace {

namespace fs = std::filesystem;

// As a keeper that saves, and one with the same key that imports.
class MemoryExportTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(scratch_.data()), nullptr);
    for (const char* const name : {"/keys", "/other", "/other/keys", "/saved"}) {
      fs::create_directory(scratch_ + name);
    }
    write("/saved/pages", std::string(3'000'000, 'p'));
    write("/saved/contexts.json", "{}");
    ASSERT_TRUE(seal_saved_files(scratch_ + "/saved", "native").has_value());
  }
  void TearDown() override { fs::remove_all(scratch_); }

  void write(const char* name, const std::string& text) const {
    std::ofstream(scratch_ + name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string read(const char* name) const {
    std::ifstream file(scratch_ + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] ExportKey key(const char* place = "") const {
    return ExportKey::open(scratch_ + place).value();
  }
  [[nodiscard]] Result<MemoryExport> exported() const {
    return export_memory(key(), scratch_ + "/saved", "native", R"({"template":"default"})");
  }
  // What follows the two lines of an archive.
  static std::string content_of(const MemoryExport& from) {
    std::string content;
    std::string piece(4'000'000, '\0');
    for (const UniqueFd& file : from.files) {
      const ssize_t got = ::pread(file.get(), piece.data(), piece.size(), 0);
      content.append(piece.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    }
    return content;
  }
  [[nodiscard]] Result<void> import(const MemoryExport& from, const std::string& content) const {
    write("/content", content);
    const UniqueFd file(::open((scratch_ + "/content").c_str(), O_RDONLY | O_CLOEXEC));
    return import_memory(key(), from.manifest, from.signature, file.get(), scratch_ + "/to");
  }
  static void expect_refused(const Result<void>& result, ErrorCode code) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code);
  }
  [[nodiscard]] bool left_nothing() const { return !fs::exists(scratch_ + "/to"); }

  std::string scratch_ = "/tmp/memory-export-XXXXXX";
};

TEST_F(MemoryExportTest, WhatIsImportedIsWhatWasSaved) {
  const auto made = exported();
  ASSERT_TRUE(made.has_value());
  ASSERT_TRUE(import(*made, content_of(*made)).has_value());
  EXPECT_EQ(read("/to/pages"), read("/saved/pages"));
  EXPECT_EQ(read("/to/contexts.json"), "{}");
}

TEST_F(MemoryExportTest, OnlyWhatAKeeperWithTheSameKeyHasSignedIsImported) {
  auto made = exported();
  ASSERT_TRUE(made.has_value());
  const std::string content = content_of(*made);
  const std::string signature = made->signature;
  made->signature = key("/other").sign(made->manifest);
  expect_refused(import(*made, content), ErrorCode::kRefused);
  made->signature = signature;
  made->manifest += " ";
  expect_refused(import(*made, content), ErrorCode::kRefused);
  EXPECT_TRUE(left_nothing());
}

TEST_F(MemoryExportTest, ContentThatWasChangedOrCutOffIsRefusedAndLeavesNothing) {
  const auto made = exported();
  ASSERT_TRUE(made.has_value());
  std::string content = content_of(*made);
  expect_refused(import(*made, content.substr(1)), ErrorCode::kInvalid);
  content.back() ^= 1;
  expect_refused(import(*made, content), ErrorCode::kInvalid);
  EXPECT_TRUE(left_nothing());
}

TEST_F(MemoryExportTest, WhatAnotherVersionHasWrittenIsRefused) {
  auto made = exported();
  ASSERT_TRUE(made.has_value());
  const std::string before = R"("memory_format":"")";
  const std::size_t at = made->manifest.find(before);
  ASSERT_NE(at, std::string::npos);
  made->manifest.replace(at, before.size(), R"("memory_format":"runsc version 1")");
  made->signature = key().sign(made->manifest);
  expect_refused(import(*made, content_of(*made)), ErrorCode::kUnsupported);
  EXPECT_TRUE(left_nothing());
}

TEST_F(MemoryExportTest, AFileElsewhereIsNotWrittenWhoeverHasSignedIt) {
  auto made = exported();
  ASSERT_TRUE(made.has_value());
  const std::string before = R"("name":"pages")";
  const std::size_t at = made->manifest.find(before);
  ASSERT_NE(at, std::string::npos);
  made->manifest.replace(at, before.size(), R"("name":"../elsewhere")");
  made->signature = key().sign(made->manifest);
  expect_refused(import(*made, content_of(*made)), ErrorCode::kInvalid);
  EXPECT_FALSE(fs::exists(scratch_ + "/elsewhere"));
  EXPECT_TRUE(left_nothing());
}

TEST_F(MemoryExportTest, ADamagedOneIsNotExported) {
  write("/saved/pages", "other");
  EXPECT_EQ(exported().error().code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace glovebox::keeper
