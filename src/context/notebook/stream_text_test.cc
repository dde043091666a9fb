// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/stream_text.h"

#include <gtest/gtest.h>

namespace glovebox::notebook {
namespace {

std::string in_pieces(std::string_view text, std::size_t cut) {
  StreamText stream;
  stream.add(text.substr(0, cut));
  stream.add(text.substr(cut));
  return stream.text();
}

TEST(StreamTextTest, AReturnedCarriageWritesOverTheLine) {
  EXPECT_EQ(in_pieces("10 %\r20 %\nnext", 5), "20 %\nnext");
}

TEST(StreamTextTest, ALineEndEndsASequenceThatIsUnfinished) {
  const std::string text = "\x1b[1;31mred\x1b[38+6\nnext\b";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(in_pieces(text, cut), "\x1b[1;31mred\x1b[38+6\nnext") << cut;
  }
}

}  // namespace
}  // namespace glovebox::notebook
