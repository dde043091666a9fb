// SPDX-License-Identifier: Apache-2.0
#include "service/dockerfile/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::dockerfile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;
using Kind = Instruction::Kind;

// The instructions of the only stage.
std::vector<Instruction> steps(const std::string& text) {
  const auto file = parse("FROM default\n" + text);
  EXPECT_TRUE(file) << (file ? "" : file.error().message());
  return file ? file->stages.front().steps : std::vector<Instruction>();
}

std::string complaint(const std::string& text) {
  const auto file = parse(text);
  EXPECT_FALSE(file);
  return file ? "" : file.error().message() + " / " + file.error().hint();
}

TEST(DockerfileParseTest, EachInstructionHasItsLineAndItsWords) {
  const auto made = steps("\n# a comment\ncopy a 'b c' /d\nENV A=1 B=\"two words\"\n");
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_EQ(made[0].kind, Kind::kCopy);
  EXPECT_EQ(made[0].line, 4U);
  EXPECT_EQ(made[0].title, "COPY a 'b c' /d");
  EXPECT_THAT(made[0].words, ElementsAre("a", "'b c'", "/d"));
  EXPECT_EQ(made[1].line, 5U);
  EXPECT_THAT(made[1].words, ElementsAre("A=1", "B=\"two words\""));
}

TEST(DockerfileParseTest, ABackslashContinuesALineAcrossComments) {
  const auto made = steps("RUN one && \\\n# not this\n\n  two \\  \r\n  three\nUSER root\n");
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_EQ(made[0].text, "one &&   two   three");
  EXPECT_EQ(made[1].line, 7U);
}

TEST(DockerfileParseTest, ListsOfJsonAreCommandsWithoutAShell) {
  const auto made =
      steps("RUN [\"a\", \"b c\"]\nRUN [ -f x ]\nCMD []\nSHELL [\"/bin/bash\", \"-c\"]\n");
  EXPECT_TRUE(made[0].exec);
  EXPECT_THAT(made[0].words, ElementsAre("a", "b c"));
  EXPECT_FALSE(made[1].exec);
  EXPECT_EQ(made[1].text, "[ -f x ]");
  EXPECT_TRUE(made[2].exec);
  EXPECT_THAT(made[3].words, ElementsAre("/bin/bash", "-c"));
}

TEST(DockerfileParseTest, HereDocumentsAreScriptsOrFiles) {
  const auto made = steps(
      "RUN <<EOF\necho 1\n# kept\nEOF\n"
      "RUN cat <<-'X' | sh\n\techo 2\n\tX\n"
      "COPY <<END /a\n$A\nEND\n"
      "RUN echo $((1<<2)) \"<<EOF\"\n");
  ASSERT_THAT(made, SizeIs(4));
  EXPECT_EQ(made[0].text, "echo 1\n# kept\n");
  EXPECT_EQ(made[1].text, "cat <<-'X' | sh\necho 2\nX\n");
  EXPECT_EQ(made[2].inline_file->content, "$A\n");
  EXPECT_TRUE(made[2].inline_file->expanded);
  EXPECT_THAT(made[2].words, ElementsAre("/a"));
  EXPECT_EQ(made[3].text, "echo $((1<<2)) \"<<EOF\"");
}

TEST(DockerfileParseTest, StagesHaveNamesAndWhatStandsBeforeThem) {
  const auto file =
      parse("ARG BASE=default\nFROM $BASE AS Build\nRUN a\nFROM other\nCOPY --from=build /a /b\n");
  ASSERT_TRUE(file);
  EXPECT_THAT(file->args, SizeIs(1));
  ASSERT_THAT(file->stages, SizeIs(2));
  EXPECT_EQ(file->stages[0].image, "$BASE");
  EXPECT_EQ(file->stages[0].name, "build");
  EXPECT_THAT(file->stages[1].steps[0].flags, ElementsAre(Pair("from", "build")));
}

TEST(DockerfileParseTest, ErrorsNameTheLineAndWhatToDo) {
  EXPECT_THAT(complaint(""), HasSubstr("no FROM"));
  EXPECT_THAT(complaint("RUN a"), StartsWith("line 1: expected FROM"));
  EXPECT_THAT(complaint("FROM a\nHEALTHCHECK NONE"),
              StartsWith("line 2: HEALTHCHECK is not supported / remove it"));
  EXPECT_THAT(complaint("FROM a\n\nFLY x"), StartsWith("line 3: unknown instruction 'FLY'"));
  EXPECT_THAT(complaint("FROM a\nRUN --mount=type=cache,target=/x b"),
              HasSubstr("'--mount=type=cache,target=/x'"));
  EXPECT_THAT(complaint("FROM a\nCOPY --chown=x a b"), HasSubstr("change the file with RUN"));
  EXPECT_THAT(complaint("FROM a\nCOPY a"), HasSubstr("expected a source and a target"));
  EXPECT_THAT(complaint("FROM a\nRUN <<EOF\nx"),
              StartsWith("line 2: the here-document does not end"));
  EXPECT_THAT(complaint("FROM a\nENV A=\"x"), StartsWith("line 2: unmatched \""));
  EXPECT_THAT(complaint("FROM a b"), StartsWith("line 1: expected FROM TEMPLATE"));
  EXPECT_THAT(complaint("FROM a\nSHELL bash"), HasSubstr("JSON list"));
  EXPECT_THAT(complaint("# escape=`\nFROM a"), StartsWith("line 1: only the backslash"));
  EXPECT_THAT(complaint("FROM a AS x\nFROM b AS X"), StartsWith("line 2: another stage"));
}

TEST(DockerfileParseTest, EverythingIsBounded) {
  EXPECT_THAT(complaint(std::string((1UL << 20) + 1, '\n')), HasSubstr("larger than 1 MiB"));
  EXPECT_THAT(complaint("FROM a\nRUN " + std::string(200'000, 'x')), HasSubstr("128 KiB"));
  std::string many = "FROM a\n";
  for (int i = 0; i < 1'000; ++i) {
    many += "RUN x\n";
  }
  EXPECT_THAT(complaint(many), HasSubstr("more than 1000 instructions"));
  std::string stages;
  for (int i = 0; i < 65; ++i) {
    stages += "FROM a\n";
  }
  EXPECT_THAT(complaint(stages), HasSubstr("more than 64 stages"));
}

}  // namespace
}  // namespace glovebox::dockerfile
