// SPDX-License-Identifier: Apache-2.0
#include "base/wire.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string sample() {
  WireWriter writer;
  writer.u8(1);
  writer.u32(2);
  writer.u64(3);
  writer.text("text");
  writer.texts({"a", "", "bc"});
  return writer.take();
}

WireReader read_sample(std::string_view bytes) {
  WireReader reader(bytes);
  (void)reader.u8();
  (void)reader.u32();
  (void)reader.u64();
  (void)reader.text();
  (void)reader.texts(3);
  return reader;
}

std::string count_of(std::uint32_t count) {
  WireWriter writer;
  writer.u32(count);
  return writer.take();
}

TEST(WireWriterTest, WritesIntegersLittleEndian) {
  WireWriter writer;
  writer.u8(0xff);
  writer.u32(0x01020304);
  writer.u64(0x05060708090a0b0c);

  EXPECT_EQ(writer.take(), "\xff\4\3\2\1\x0c\x0b\x0a\x09\x08\x07\x06\x05");
}

TEST(WireWriterTest, WritesTheLengthInFrontOfAText) {
  WireWriter writer;
  writer.text("ab");

  EXPECT_EQ(writer.take(), std::string("\2\0\0\0ab", 6));
}

TEST(WireReaderTest, ReadsBackWhatWasWritten) {
  WireWriter writer;
  writer.u8(UINT8_MAX);
  writer.u32(UINT32_MAX);
  writer.u64(UINT64_MAX);
  writer.text(std::string_view("a\0\xff", 3));
  writer.text("");
  writer.texts({"a", "", "bc"});
  writer.texts({});
  const std::string bytes = writer.take();

  WireReader reader(bytes);
  EXPECT_EQ(reader.u8(), UINT8_MAX);
  EXPECT_EQ(reader.u32(), UINT32_MAX);
  EXPECT_EQ(reader.u64(), UINT64_MAX);
  EXPECT_EQ(reader.text(), std::string_view("a\0\xff", 3));
  EXPECT_EQ(reader.text(), "");
  EXPECT_THAT(reader.texts(3), ElementsAre("a", "", "bc"));
  EXPECT_THAT(reader.texts(0), IsEmpty());
  EXPECT_TRUE(reader.complete());
}

TEST(WireReaderTest, NoticesATruncationAtEveryByte) {
  const std::string bytes = sample();
  ASSERT_TRUE(read_sample(bytes).complete());

  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read_sample(std::string_view(bytes).substr(0, size)).ok()) << size << " bytes";
  }
}

TEST(WireReaderTest, IsNotCompleteWithBytesLeftOver) {
  const std::string bytes = sample() + "x";

  const WireReader reader = read_sample(bytes);

  EXPECT_TRUE(reader.ok());
  EXPECT_FALSE(reader.complete());
}

TEST(WireReaderTest, GivesNothingMoreAfterTheFirstMisfit) {
  const std::string bytes = count_of(1000) + "plenty of bytes for everything that follows";
  WireReader reader(bytes);

  EXPECT_THAT(reader.text(), IsEmpty());

  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_EQ(reader.u32(), 0U);
  EXPECT_EQ(reader.u64(), 0U);
  EXPECT_THAT(reader.text(), IsEmpty());
  EXPECT_THAT(reader.texts(1000), IsEmpty());
  EXPECT_FALSE(reader.complete());
}

TEST(WireReaderTest, RefusesATextLongerThanTheBytes) {
  for (const std::uint32_t size : {4U, 0x7fffffffU, 0xfffffffcU, UINT32_MAX}) {
    const std::string bytes = count_of(size) + "abc";
    WireReader reader(bytes);

    EXPECT_THAT(reader.text(), IsEmpty()) << size;
    EXPECT_FALSE(reader.ok()) << size;
  }
}

TEST(WireReaderTest, RefusesMoreTextsThanAllowed) {
  WireWriter writer;
  writer.texts({"a", "b", "c"});
  const std::string bytes = writer.take();

  WireReader enough(bytes);
  EXPECT_THAT(enough.texts(3), SizeIs(3));
  EXPECT_TRUE(enough.complete());

  WireReader short_of_one(bytes);
  EXPECT_THAT(short_of_one.texts(2), IsEmpty());
  EXPECT_FALSE(short_of_one.ok());
}

TEST(WireReaderTest, RefusesACountThatItsBytesCannotHoldBeforeItAllocates) {
  for (const std::uint32_t count : {3U, UINT32_MAX}) {
    const std::string bytes = count_of(count) + std::string(8, '\0');
    WireReader reader(bytes);

    EXPECT_THAT(reader.texts(SIZE_MAX), IsEmpty()) << count;
    EXPECT_FALSE(reader.ok()) << count;
  }
}

TEST(WireReaderTest, RefusesAListWhoseLastTextIsCut) {
  WireWriter writer;
  writer.texts({"whole", "cut"});
  const std::string bytes = writer.take();

  WireReader reader(std::string_view(bytes).substr(0, bytes.size() - 1));
  (void)reader.texts(2);

  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace glovebox
