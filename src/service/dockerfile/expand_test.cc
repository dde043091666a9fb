// SPDX-License-Identifier: Apache-2.0
#include "service/dockerfile/expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::dockerfile {
namespace {

std::optional<std::string> lookup(std::string_view name) {
  return name == "A"       ? std::optional<std::string>("one")
         : name == "EMPTY" ? std::optional<std::string>("")
                           : std::nullopt;
}

std::string expanded(std::string_view word, Quotes quotes = Quotes::kRemoved) {
  const auto text = expand(word, lookup, quotes);
  return text ? *text : "error: " + text.error().message();
}

TEST(DockerfileExpandTest, VariablesAreReplaced) {
  EXPECT_EQ(expanded("$A-${A}b$NONE."), "one-oneb.");
  EXPECT_EQ(expanded("${NONE:-two}${A:-x}${EMPTY:-three}"), "twoonethree");
  EXPECT_EQ(expanded("${A:+yes}${NONE:+no}"), "yes");
  EXPECT_EQ(expanded("${NONE:-<${EMPTY:-$A}>}"), "<one>");
  EXPECT_EQ(expanded("100$ $1"), "100$ $1");
}

TEST(DockerfileExpandTest, QuotesAndBackslashesAreTakenOff) {
  EXPECT_EQ(expanded(R"("a $A b"'$A'\$A\ x)"), "a one b$A$A x");
  EXPECT_EQ(expanded(R"("\n\"")"), "\\n\"");
  EXPECT_EQ(expanded(R"('$A' "$A")", Quotes::kKept), R"('one' "one")");
}

TEST(DockerfileExpandTest, MalformedWordsAreRefused) {
  for (const char* const word : {"${", "${}", "${A", "${A:-", "${A#x}", "'a", "\"a", "${A:?x}"}) {
    EXPECT_THAT(expanded(word), testing::StartsWith("error: ")) << word;
  }
}

TEST(DockerfileExpandTest, GrowthAndNestingAreBounded) {
  std::string deep;
  for (int i = 0; i < 100; ++i) {
    deep += "${NONE:-";
  }
  EXPECT_THAT(expanded(deep), testing::HasSubstr("nested"));
  const Lookup large = [](std::string_view) { return std::string(60'000, 'x'); };
  EXPECT_FALSE(expand("$A$A", large, Quotes::kRemoved));
}

}  // namespace
}  // namespace glovebox::dockerfile
