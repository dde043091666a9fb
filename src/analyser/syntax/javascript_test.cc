// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyser/analyse.h"

namespace glovebox::analyser::syntax {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string facts_of(std::string_view code, std::string_view language = "javascript") {
  Facts facts;
  analyser::analyse(language, code, facts);
  return "\n" + facts.lines();
}

std::string fact(std::string_view kind, std::string_view name) {
  return "\n" + std::string(kind) + "\t" + std::string(name) + "\t";
}

TEST(JavaScriptTest, ACommandIsFoundBehindEveryWayToNameIt) {
  for (const char* const code :
       {"require('child_process').exec('id')",
        "const {exec: e} = require('child_process'); e('id')",
        "import cp from 'node:child_process'; cp.exec('id')",
        "require('child_' + 'process')['ex' + 'ec']('id')",
        "require(atob('Y2hpbGRfcHJvY2Vzcw==')).exec('id')",
        "const r = require; r('ssecorp_dlihc'.split('').reverse().join('')).exec(`id`)",
        "require('child_process').\\u0065xec('id')"}) {
    EXPECT_THAT(facts_of(code), HasSubstr(fact("name", "child_process.exec"))) << code;
    EXPECT_THAT(facts_of(code), HasSubstr(fact("command", "id"))) << code;
  }
}

TEST(JavaScriptTest, CodeInTextsIsAnalysedAtThePlaceOfTheCall) {
  EXPECT_THAT(facts_of("\n  eval('process.kill(1)')"), HasSubstr("\nname\tprocess.kill\t2\t3\n"));
  EXPECT_THAT(facts_of("eval(input)"), HasSubstr(fact("pattern", "dynamic-code")));
}

TEST(JavaScriptTest, AParameterHidesNoGlobalElsewhere) {
  EXPECT_THAT(facts_of("function f(require) {} require('vm')"), HasSubstr(fact("module", "vm")));
}

TEST(JavaScriptTest, OnlyALoopThatNothingEndsIsEndless) {
  const std::string pattern = fact("pattern", "endless-loop");
  EXPECT_THAT(facts_of("for (;;) {}"), HasSubstr(pattern));
  EXPECT_THAT(facts_of("do {} while (true)"), HasSubstr(pattern));
  EXPECT_THAT(facts_of("for (let i = 0; i < 3; i++) {}"), Not(HasSubstr(pattern)));
  EXPECT_THAT(facts_of("while (true) { if (done()) break }"), Not(HasSubstr(pattern)));
}

TEST(JavaScriptTest, ASyntaxErrorIsAFact) {
  EXPECT_THAT(facts_of("let x = {"), HasSubstr("\nunparsed\t"));
}

TEST(JavaScriptTest, TypeScriptIsReadThroughItsTypes) {
  const std::string code =
      "import {exec} from 'child_process'; (exec as any)('id'); const n: number = 1;";
  EXPECT_THAT(facts_of(code, "typescript"), HasSubstr(fact("command", "id")));
  EXPECT_THAT(facts_of(code, "typescript"), Not(HasSubstr("unparsed")));
  EXPECT_THAT(facts_of("const a = <any>eval", "typescript"), HasSubstr(fact("name", "eval")));
}

TEST(JavaScriptTest, CodeInElementsIsFound) {
  const std::string code =
      "import {exec} from 'child_process';\n"
      "const Page = (props: {name: string}) => <div title={eval(props.name)}>"
      "{[1].map((n) => <b key={n} onClick={() => exec('id')}>{n}</b>)}</div>;\n";
  EXPECT_THAT(facts_of(code, "tsx"), HasSubstr(fact("command", "id")));
  EXPECT_THAT(facts_of(code, "tsx"), HasSubstr(fact("name", "eval")));
  EXPECT_THAT(facts_of(code, "tsx"), Not(HasSubstr("unparsed")));
  EXPECT_THAT(facts_of(code, "typescript"), HasSubstr("unparsed"));
}

TEST(JavaScriptTest, ACastInAngleBracketsIsNoProgramWithElements) {
  EXPECT_THAT(facts_of("const a = <any>eval", "tsx"), HasSubstr("unparsed"));
}

TEST(JavaScriptTest, NamesThatAreMadeOfEachOtherEnd) {
  std::string code;
  for (int i = 0; i < 14; ++i) {
    for (int j = 0; j < 14; ++j) {
      code += "n" + std::to_string(i) + " = n" + std::to_string(j) + " + n" +
              std::to_string((i + j) % 14) + ";\n";
    }
  }
  EXPECT_FALSE(facts_of(code).empty());
}

}  // namespace
}  // namespace glovebox::analyser::syntax
