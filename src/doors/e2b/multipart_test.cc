// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/multipart.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::e2b {
namespace {

using ::testing::ElementsAre;

// Gives `text` in pieces of `step` bytes.
FileClient::Source pieces(std::string text, std::size_t step) {
  return [text = std::move(text), step,
          at = std::size_t{0}](std::span<char> into) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({step, into.size(), text.size() - at});
    std::copy_n(text.data() + at, count, into.data());
    at += count;
    return count;
  };
}

// "name|filename|contents" of each part, or "error".
std::vector<std::string> parts_of(const std::string& body, std::size_t step) {
  Multipart multipart("B", pieces(body, step));
  std::vector<std::string> parts;
  for (;;) {
    const auto part = multipart.next();
    if (!part || !*part) {
      if (!part) {
        parts.emplace_back("error");
      }
      return parts;
    }
    std::string told = (*part)->name + "|" + (*part)->filename.value_or("none") + "|";
    std::vector<char> piece(7);
    for (;;) {
      const auto got = multipart.read(piece);
      if (!got) {
        parts.emplace_back("error");
        return parts;
      }
      if (*got == 0) {
        break;
      }
      told.append(piece.data(), *got);
    }
    parts.push_back(told);
  }
}

constexpr const char* kForm =
    "--B\r\n"
    "Content-Disposition: form-data; name=\"file\"; filename=\"/home/user/a%22b.txt\"\r\n"
    "Content-Type: text/plain\r\n\r\n"
    "one\r\n--\r\nB\r\n--A\r\n"
    "--B\r\n"
    "content-disposition: form-data; name=field\r\n\r\n"
    "\r\n--B--\r\n";

TEST(MultipartTest, GivesItsPartsHoweverTheyArrive) {
  for (const std::size_t step : {1U, 2U, 3U, 5U, 16U, 4096U}) {
    EXPECT_THAT(parts_of(kForm, step),
                ElementsAre("file|/home/user/a\"b.txt|one\r\n--\r\nB\r\n--A", "field|none|"))
        << step;
  }
}

TEST(MultipartTest, ABodyThatIsCutAnywhereIsAnError) {
  const std::string form = kForm;
  // What follows the last two dashes does not matter.
  for (std::size_t length = 0; length + 2 < form.size(); ++length) {
    EXPECT_EQ(parts_of(form.substr(0, length), 4096).back(), "error") << length;
  }
}

TEST(MultipartTest, AHeadWithoutEndIsRefused) {
  EXPECT_THAT(parts_of("--B\r\n" + std::string(100'000, 'x'), 4096), ElementsAre("error"));
}

TEST(MultipartTest, TakesTheBoundaryFromTheType) {
  EXPECT_EQ(Multipart::boundary_of("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(Multipart::boundary_of("Multipart/Form-Data; charset=x; boundary=\"a b\""), "a b");
  EXPECT_FALSE(Multipart::boundary_of("multipart/form-data"));
  EXPECT_FALSE(Multipart::boundary_of("multipart/form-data; boundary="));
  EXPECT_FALSE(Multipart::boundary_of("application/octet-stream; boundary=abc"));
  EXPECT_FALSE(Multipart::boundary_of("multipart/form-data; boundary=" + std::string(71, 'a')));
}

}  // namespace
}  // namespace glovebox::e2b
