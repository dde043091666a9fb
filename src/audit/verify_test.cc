// SPDX-License-Identifier: Apache-2.0
// Each way to change a journal is found, and where.
#include "audit/verify.h"

#include <gmock/gmock.h>

#include "audit/journal_directory.h"
#include "audit/record.h"
#include "audit/record_hash.h"

namespace glovebox::audit {
namespace {

using ::testing::HasSubstr;

class VerifyTest : public JournalDirectory {
 protected:
  // As somebody without the key would: the hashes are right again from this line on.
  static void chain_again(std::vector<std::string>& all, std::size_t from) {
    for (std::size_t i = from; i < all.size(); ++i) {
      std::string line(parse_link(all[i])->hashed);
      if (i > 0) {
        const std::size_t at = line.find(R"("prev":")") + 8;
        line.replace(at, kHashSize, parse_link(all[i - 1])->hash);
      }
      (void)end_line(line);
      line.pop_back();
      all[i] = line;
    }
  }

  void expect_first(const Report& report, std::uint64_t record, const std::string& what) {
    ASSERT_FALSE(report.problems.empty());
    EXPECT_EQ(report.problems.front().record, record) << text_of(report);
    EXPECT_THAT(report.problems.front().what, HasSubstr(what));
  }
};

TEST_F(VerifyTest, AJournalThatNobodyChangedHasNoProblem) {
  write(20);
  write(5);
  const Report report = check();
  EXPECT_TRUE(report.problems.empty()) << text_of(report);
  EXPECT_EQ(report.first, 1);
  EXPECT_EQ(report.signed_through, report.last);
  EXPECT_EQ(report.last, 25 + 2 * 3) << "and for each opening: that, and two checkpoints";
}

TEST_F(VerifyTest, EachFlippedByteIsFoundWithItsLine) {
  write(1);
  const std::string good = read(first_);
  std::uint64_t line = 1;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    put(first_, bad);
    const Report report = check();
    ASSERT_FALSE(report.problems.empty()) << "byte " << at;
    EXPECT_EQ(report.problems.front().line, line) << "byte " << at << "\n" << text_of(report);
    line += good[at] == '\n' ? 1 : 0;
  }
}

TEST_F(VerifyTest, EachByteThatBecameRoomIsFoundWithItsLine) {
  write(1);
  const std::string good = read(first_);
  std::uint64_t line = 1;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = '\0';
    put(first_, bad);
    const Report report = check();
    ASSERT_FALSE(report.problems.empty()) << "byte " << at;
    EXPECT_EQ(report.problems.front().line, line) << "byte " << at << "\n" << text_of(report);
    line += good[at] == '\n' ? 1 : 0;
  }
}

TEST_F(VerifyTest, ARecordThatWasDroppedIsNamed) {
  write(6);
  auto all = lines(first_);
  all.erase(all.begin() + 4);
  put_lines(first_, all);
  expect_first(check(), 6, "record 5 in front of this one is missing");
}

TEST_F(VerifyTest, RecordsThatWereExchangedAreNamed) {
  write(6);
  auto all = lines(first_);
  std::swap(all[3], all[4]);
  put_lines(first_, all);
  const Report report = check();
  expect_first(report, 5, "record 4 in front of this one is missing");
  EXPECT_THAT(text_of(report), HasSubstr("the order was changed"));
}

TEST_F(VerifyTest, ARecordThatWasForgedWithAllHashesAfterItFailsTheNextSignature) {
  write(6);
  auto all = lines(first_);
  const std::size_t at = all[4].find("sb2");
  ASSERT_NE(at, std::string::npos);
  all[4].replace(at, 3, "sb9");
  chain_again(all, 4);
  put_lines(first_, all);
  const Report report = check();
  EXPECT_THAT(text_of(report),
              HasSubstr("the signature of this checkpoint is wrong: records 3 to 9"));
  EXPECT_THAT(text_of(report), HasSubstr("is not the one that the head covers"));
}

TEST_F(VerifyTest, AForgedRecordWithItsCheckpointRemovedFailsTheHead) {
  write(6);
  auto all = lines(first_);
  all.pop_back();
  all[4].replace(all[4].find("sb2"), 3, "sb9");
  chain_again(all, 4);
  put_lines(first_, all);
  expect_first(check(), 8, "the end was cut off");
}

TEST_F(VerifyTest, AnotherKeysSignatureIsNotTaken) {
  write(3);
  const std::string journal = read(first_);
  const std::string head = read("head");
  const std::string public_key = read("public.pem");
  ASSERT_TRUE(sys::remove_tree(path_));
  write(3);
  put(first_, journal);
  put("head", head);
  const Report report = check();
  EXPECT_THAT(text_of(report), HasSubstr("the signature of this checkpoint is wrong"));
  EXPECT_THAT(text_of(report), HasSubstr("head of the audit journal is damaged"));
  put("public.pem", public_key);
  EXPECT_TRUE(check().problems.empty());
}

TEST_F(VerifyTest, AnEndThatWasCutOffIsFoundByTheHead) {
  write(6);
  const auto all = lines(first_);
  for (std::size_t left = 1; left < all.size(); ++left) {
    put_lines(first_, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(left)});
    expect_first(check(), left, "the end was cut off");
  }
}

TEST_F(VerifyTest, ASegmentThatIsMissingIsNamed) {
  write(60, {.segment_size = 4096});
  const UniqueFd directory = open_directory(path_).value();
  const auto segments = list_segments(directory.get()).value();
  ASSERT_GT(segments.size(), 3);
  EXPECT_TRUE(check().problems.empty()) << text_of(check());
  const std::string middle = read(segment_name(segments[1]));
  std::filesystem::remove(path_ + "/" + segment_name(segments[1]));
  expect_first(check(), segments[2], "in front of this one are missing");
  put(segment_name(segments[1]), middle);
  std::filesystem::remove(path_ + "/" + first_);
  expect_first(check(), segments[1], "no record says that retention removed them");
}

TEST_F(VerifyTest, AnEmptiedHeadIsFound) {
  write(3);
  std::string empty(1023, ' ');
  put("head", empty + "\n" + empty + "\n");
  EXPECT_THAT(text_of(check()), HasSubstr("was emptied"));
  std::filesystem::remove(path_ + "/head");
  EXPECT_THAT(text_of(check()), HasSubstr("no file 'head'"));
}

TEST_F(VerifyTest, AJournalThatWasSetBackAsAWholeIsFoundByAHeadFromElsewhere) {
  write(5);
  const std::string before = read(first_);
  const std::string head = read("head");
  write(5, {.witness = parent_ + "/witness"});
  const Report now = check();
  ASSERT_TRUE(now.problems.empty());
  std::ifstream told(parent_ + "/witness");
  const auto known = parse_witness(
      std::string(std::istreambuf_iterator<char>(told), std::istreambuf_iterator<char>()));
  ASSERT_TRUE(known);
  ASSERT_GE(known->size(), 2);
  EXPECT_TRUE(check(*known).problems.empty()) << text_of(check(*known));
  EXPECT_TRUE(check({{.hash = now.hash}}).problems.empty());

  put(first_, before);
  put("head", head);
  EXPECT_TRUE(check().problems.empty()) << "what only a head from elsewhere can tell";
  EXPECT_THAT(text_of(check({{.hash = now.hash}})), HasSubstr("was set back or replaced"));
  expect_first(check(*known), known->front().number.value(), "the journal was set back");
}

TEST_F(VerifyTest, FilesThatAreNoFilesAreNeitherFollowedNorWaitedFor) {
  write(3);
  ASSERT_EQ(::symlink("/etc/passwd", (path_ + "/" + segment_name(900)).c_str()), 0);
  EXPECT_THAT(text_of(check()), HasSubstr("Too many levels of symbolic links"));
  std::filesystem::remove(path_ + "/" + segment_name(900));
  ASSERT_EQ(::mkfifo((path_ + "/" + segment_name(900)).c_str(), 0600), 0);
  EXPECT_THAT(text_of(check()), HasSubstr("is not a regular file"));
}

TEST(WitnessTest, OnlyHeadsAreTaken) {
  EXPECT_TRUE(parse_witness("7 " + no_hash() + "\n8 " + no_hash()));
  EXPECT_FALSE(parse_witness("7\n"));
  EXPECT_FALSE(parse_witness("x " + no_hash()));
  EXPECT_FALSE(parse_witness("7 " + no_hash() + "0"));
}

}  // namespace
}  // namespace glovebox::audit
