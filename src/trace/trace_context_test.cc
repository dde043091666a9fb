// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_context.h"

#include <gtest/gtest.h>

namespace glovebox::trace {
namespace {

const std::string kIds = "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";

TEST(TraceContext, IsReadFromItsHeader) {
  const auto read = parse_traceparent("00" + kIds + "01");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(read->span_id, "00f067aa0ba902b7");
  EXPECT_TRUE(read->sampled);
  EXPECT_FALSE(parse_traceparent("00" + kIds + "00")->sampled);
  EXPECT_FALSE(parse_traceparent("00" + kIds + "fe")->sampled);
}

TEST(TraceContext, OfALaterVersionIsReadAsFarAsItIsKnown) {
  EXPECT_TRUE(parse_traceparent("01" + kIds + "01"));
  EXPECT_TRUE(parse_traceparent("cc" + kIds + "01-what-comes-later"));
  EXPECT_FALSE(parse_traceparent("cc" + kIds + "01.what-comes-later"));
}

TEST(TraceContext, ThatIsMalformedIsNone) {
  for (const std::string& header :
       {std::string(), std::string("00"), "ff" + kIds + "01", "00" + kIds + "0",
        "00" + kIds + "01-more", "0G" + kIds + "01", "00" + kIds + "0g",
        std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
        std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"),
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
        std::string("00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")}) {
    EXPECT_FALSE(parse_traceparent(header)) << header;
  }
}

}  // namespace
}  // namespace glovebox::trace
