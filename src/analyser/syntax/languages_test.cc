// SPDX-License-Identifier: Apache-2.0
// What is followed in each language; tests/policy has many more programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyser/analyse.h"

namespace glovebox::analyser::syntax {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string facts_in(std::string_view language, std::string_view code) {
  Facts facts;
  analyser::analyse(language, code, facts);
  return "\n" + facts.lines();
}

std::string like(std::string_view kind, std::string_view name) {
  return "\n" + std::string(kind) + "\t" + std::string(name) + "\t";
}

struct Case {
  const char* language;
  const char* code;
};

TEST(LanguagesTest, ACommandIsFoundBehindAnotherName) {
  for (const Case& each : {
           Case{"c", "#define S system\nint main(void) { S(\"rm x\"); }"},
           Case{"c", "int main(void) { int (*f)(const char *) = system; f(\"rm x\"); }"},
           Case{"cpp", "int main() { auto f = &std::system; f(\"rm x\"); }"},
           Case{"csharp", "using P = System.Diagnostics.Process;\nP.Start(\"rm\", \"x\");"},
           Case{"go",
                "package main\nimport e \"os/exec\"\nfunc main() { e.Command(\"rm\", \"x\") }"},
           Case{"java",
                "class A { void m() { Runtime r = Runtime.getRuntime(); r.exec(\"rm x\"); } }"},
           Case{"php", "<?php $f = 'sys'; $f .= 'tem'; $f('rm x');"},
           Case{"php", "<?php echo `rm x`;"},
           Case{"r", "f <- base::system\nf(\"rm x\")"},
           Case{"ruby", "m = method(:system)\nm.call('rm x')"},
           Case{"ruby", "puts %x(rm x)"},
       }) {
    EXPECT_THAT(facts_in(each.language, each.code), HasSubstr(like("command", "rm"))) << each.code;
    EXPECT_THAT(facts_in(each.language, each.code), Not(HasSubstr("unparsed"))) << each.code;
  }
}

TEST(LanguagesTest, ASyntaxErrorIsAFactInEachOfThem) {
  for (const char* const language :
       {"c", "cpp", "csharp", "go", "java", "javascript", "r", "ruby", "typescript"}) {
    EXPECT_THAT(facts_in(language, "f(("), HasSubstr("\nunparsed\t")) << language;
  }
  EXPECT_THAT(facts_in("php", "<?php f(("), HasSubstr("\nunparsed\t"));
}

TEST(LanguagesTest, JavaIsReadAsItsCompilerReadsEscapedLetters) {
  const std::string code =
      "class A { void m() { // \\u000a Runtime.getRuntime().exec(\"id\");\n} }";
  EXPECT_THAT(facts_in("java", code), HasSubstr(like("command", "id")));
}

TEST(LanguagesTest, AVariableOfTheSameNameHidesNoFunction) {
  EXPECT_THAT(facts_in("c", "void f(int system) {} int main(void) { system(\"id\"); }"),
              HasSubstr(like("name", "system")));
  EXPECT_THAT(facts_in("ruby", "system = 1\nsystem('id')"), HasSubstr(like("command", "id")));
}

TEST(LanguagesTest, ALoopWhoseVariableChangesIsNotEndless) {
  const std::string pattern = like("pattern", "endless-loop");
  EXPECT_THAT(facts_in("c", "int main(void) { int n = 9; while (n) n--; }"),
              Not(HasSubstr(pattern)));
  EXPECT_THAT(
      facts_in("java", "class A { void m() { boolean on = true; while (on) { on = f(); } } }"),
      Not(HasSubstr(pattern)));
  EXPECT_THAT(facts_in("go", "package main\nfunc main() { for {} }"), HasSubstr(pattern));
  EXPECT_THAT(facts_in("php", "<?php while (false) {}"), Not(HasSubstr(pattern)));
}

TEST(LanguagesTest, CredentialsAndHostsAreFoundInTexts) {
  const std::string found = facts_in(
      "go", "package main\nvar password = \"hunter2hunter2\"\nvar u = \"https://Evil.test/x\"");
  EXPECT_THAT(found, HasSubstr(like("pattern", "credential")));
  EXPECT_THAT(found, HasSubstr(like("host", "evil.test")));
}

}  // namespace
}  // namespace glovebox::analyser::syntax
