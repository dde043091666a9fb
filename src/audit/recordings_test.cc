// SPDX-License-Identifier: Apache-2.0
#include "audit/recordings.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>

#include "audit/journal_directory.h"
#include "base/digest/digest.h"
#include "spec/egress_protocol.h"

namespace glovebox::audit {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMost = 1UL << 20;
constexpr std::uint64_t kWanted = 256UL << 10;

class RecordingsTest : public JournalDirectory {
 protected:
  void SetUp() override {
    JournalDirectory::SetUp();
    write(1);
    recordings_ = opened();
  }

  [[nodiscard]] std::unique_ptr<Recordings> opened() const {
    auto opened = Recordings::open(path_, kMost);
    EXPECT_TRUE(opened);
    return *std::move(opened);
  }

  // Room for another recording; 0 where there is none.
  std::uint64_t room_for(const std::string& tenant, std::uint64_t start = 99) {
    return recordings_->begin(tenant, start, kMost)->room();
  }

  void keep(std::uint64_t start, std::string_view bytes, const std::string& tenant = "mine") {
    auto place = recordings_->begin(tenant, start, kWanted);
    ASSERT_TRUE(place) << place.error().message();
    const auto kept = place->keep(bytes);
    ASSERT_TRUE(kept) << kept.error().message();
  }

  [[nodiscard]] Result<std::string> found(std::uint64_t start, std::string_view bytes) const {
    return recordings_->read("mine", start, sha256_hex(bytes));
  }

  [[nodiscard]] static std::string name_of(std::uint64_t start, const std::string& tenant) {
    const std::string digits = std::to_string(start);
    return "network/" + std::string(20 - digits.size(), '0') + digits + "." + tenant;
  }
  [[nodiscard]] std::size_t files() const {
    const std::filesystem::directory_iterator all(path_ + "/network");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  // A journal's record of an end that claims this recording.
  void claim(std::uint64_t start, std::string_view bytes) {
    const auto journal = open();
    ASSERT_TRUE(journal->append({.tenant = "mine",
                                 .action = "run.end",
                                 .details = R"({"start":)" + std::to_string(start) +
                                            R"(,"network_recording":{"bytes":1,"sha256":")" +
                                            sha256_hex(bytes) + R"("}})"}));
  }
  [[nodiscard]] std::string verified() const {
    const UniqueFd journal = open_directory(path_).value();
    Report report;
    EXPECT_TRUE(verify_recordings(journal.get(), report));
    return text_of(report);
  }

  std::unique_ptr<Recordings> recordings_;
};

TEST_F(RecordingsTest, GivesBackWhatWasKeptOfAnExecution) {
  keep(2, "first");
  keep(3, "");
  EXPECT_EQ(found(2, "first").value(), "first");
  EXPECT_EQ(found(3, "").value(), "");
  recordings_ = opened();
  EXPECT_EQ(found(2, "first").value(), "first");
}

TEST_F(RecordingsTest, IsOfOneTenantAndOneExecution) {
  keep(2, "bytes");
  EXPECT_EQ(found(3, "bytes").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(recordings_->read("other", 2, sha256_hex("bytes")).error().code(),
            ErrorCode::kNotFound);
  EXPECT_FALSE(recordings_->begin("mine", 2, kWanted));
  EXPECT_EQ(found(2, "bytes").value(), "bytes") << "what failed to begin removed nothing";
  const auto open = recordings_->begin("mine", 3, kWanted);
  EXPECT_EQ(recordings_->begin("mine", 3, kWanted).error().code(), ErrorCode::kConflict);
}

TEST_F(RecordingsTest, ATenantThatNoRecordCanHaveHasNone) {
  for (const char* const tenant : {"", "../mine", "a/b", "UPPER", "a.b", "a b"}) {
    EXPECT_EQ(recordings_->begin(tenant, 2, kWanted).error().code(), ErrorCode::kInvalid) << tenant;
    EXPECT_EQ(recordings_->read(tenant, 2, sha256_hex("")).error().code(), ErrorCode::kInvalid);
  }
  EXPECT_FALSE(recordings_->begin(std::string(65, 'a'), 2, kWanted));
  EXPECT_EQ(files(), 0);
}

TEST_F(RecordingsTest, WhatWasChangedIsNotGivenOut) {
  keep(2, "bytes");
  for (const std::string& changed :
       {std::string("bytez"), std::string("byte"), std::string("bytes!"), std::string()}) {
    put(name_of(2, "mine"), changed);
    EXPECT_EQ(found(2, "bytes").error().code(), ErrorCode::kConflict) << changed;
  }
}

TEST_F(RecordingsTest, WhatIsLargerThanAnyRecordingIsNotReadIn) {
  keep(2, "bytes");
  const std::string planted(egress::kMostRecorded + 1, 'x');
  put(name_of(2, "mine"), planted);
  EXPECT_EQ(found(2, planted).error().code(), ErrorCode::kConflict);
  const std::string largest(egress::kMostRecorded, 'x');
  put(name_of(2, "mine"), largest);
  EXPECT_EQ(found(2, largest).value().size(), largest.size());
}

TEST_F(RecordingsTest, WhatIsNoRegularFileIsNotRead) {
  put("elsewhere", "bytes");
  std::filesystem::create_symlink(path_ + "/elsewhere", path_ + "/" + name_of(2, "mine"));
  EXPECT_FALSE(found(2, "bytes"));
  ASSERT_EQ(::mkfifo((path_ + "/" + name_of(3, "mine")).c_str(), 0600), 0);
  EXPECT_FALSE(found(3, ""));
}

TEST_F(RecordingsTest, ATenantHasNoMoreBytesThanItMayHave) {
  auto first = recordings_->begin("mine", 2, kMost - kWanted);
  EXPECT_EQ(first->room(), kMost - kWanted);
  EXPECT_EQ(room_for("mine"), kWanted) << "what is promised counts";
  EXPECT_EQ(room_for("other"), kMost) << "each has its own";
  EXPECT_FALSE(first->keep(std::string(kMost - kWanted + 1, 'x')));
  ASSERT_TRUE(first->keep(std::string(1000, 'x')));
  EXPECT_EQ(room_for("mine"), kMost - 1000) << "what is kept counts, and no more";
  recordings_ = opened();
  EXPECT_EQ(room_for("mine"), kMost - 1000);
  keep(3, std::string(kWanted, 'x'));
  keep(4, std::string(kWanted, 'x'));
  keep(5, std::string(kWanted, 'x'));
  keep(6, std::string(kWanted - 1001, 'x'));
  EXPECT_EQ(room_for("mine"), 0) << "next to nothing is nothing";
}

TEST_F(RecordingsTest, WhatIsNotKeptLeavesNoFileAndTakesNoRoom) {
  {
    auto place = recordings_->begin("mine", 2, kWanted);
    const Recordings::Place moved(*std::move(place));
    EXPECT_EQ(files(), 1);
  }
  EXPECT_EQ(files(), 0);
  EXPECT_EQ(room_for("mine"), kMost);
}

TEST_F(RecordingsTest, GoesWithItsRecordAndItsRoomComesBack) {
  keep(2, std::string(kWanted, 'x'));
  keep(7, std::string(1000, 'x'));
  auto open = recordings_->begin("mine", 8, kWanted);
  // As retention removes the first segment.
  put(segment_name(5), "");
  std::filesystem::remove(path_ + "/" + first_);
  EXPECT_EQ(room_for("mine"), kMost - 1000 - kWanted) << "the open one still counts";
  EXPECT_FALSE(std::filesystem::exists(path_ + "/" + name_of(2, "mine")));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/" + name_of(7, "mine")));
  ASSERT_TRUE(open->keep(std::string(500, 'x')));
  EXPECT_EQ(room_for("mine"), kMost - 1500);
}

TEST_F(RecordingsTest, VerifyNamesWhatIsMissingOrWasChanged) {
  for (const std::uint64_t start : {2, 3, 4}) {
    const std::string bytes = "bytes of " + std::to_string(start);
    keep(start, bytes);
    claim(start, bytes);
  }
  EXPECT_EQ(verified(), "");
  put(name_of(3, "mine"), "bytes of three");
  std::filesystem::remove(path_ + "/" + name_of(4, "mine"));
  const std::string problems = verified();
  EXPECT_THAT(problems, HasSubstr(name_of(3, "mine")));
  EXPECT_THAT(problems, HasSubstr("does not match"));
  EXPECT_THAT(problems, HasSubstr(name_of(4, "mine")));
  EXPECT_THAT(problems, HasSubstr("cannot be read"));
  EXPECT_THAT(problems, ::testing::Not(HasSubstr(name_of(2, "mine"))));
  std::filesystem::remove_all(path_ + "/network");
  EXPECT_THAT(verified(), HasSubstr(name_of(2, "mine")));
}

TEST(RecordingClaimTest, IsReadOnlyFromDetailsThatHaveAll) {
  const auto claim_of = [](std::string details) {
    return recording_claim({.entry = {.details = std::move(details)}});
  };
  const auto claim = claim_of(R"({"start":7,"network_recording":{"bytes":1,"sha256":"ab"}})");
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->start, 7U);
  EXPECT_EQ(claim->sha256, "ab");
  for (const char* const none :
       {"", "[]", "{}", R"({"start":7})", R"({"start":7,"network_recording":"ab"})",
        R"({"start":7,"network_recording":{"left_out":"why"}})",
        R"({"start":-7,"network_recording":{"sha256":"ab"}})",
        R"({"start":7,"network_recording":{"sha256":1}})",
        R"({"network_recording":{"sha256":"ab"}})"}) {
    EXPECT_FALSE(claim_of(none)) << none;
  }
}

}  // namespace
}  // namespace glovebox::audit
