// SPDX-License-Identifier: Apache-2.0
#include "analyser/python.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::analyser {
namespace {

std::string found(std::string_view code) {
  Facts facts;
  analyse_python(code, std::nullopt, facts);
  return "\n" + facts.lines();
}

bool calls(std::string_view code, std::string_view name = "os.system") {
  const std::string facts = found(code);
  for (const std::string_view kind : {"name", "command", "pattern"}) {
    if (facts.contains("\n" + std::string(kind) + "\t" + std::string(name) + "\t")) {
      return true;
    }
  }
  return false;
}

bool is_unparsed(std::string_view code) { return found(code).contains("\nunparsed\t"); }

TEST(PythonAnalysis, AStringOfBytesEndsWherePythonEndsIt) {
  EXPECT_TRUE(calls("x = b'\\N'; import os; os.system('id') #'"));
  EXPECT_TRUE(calls("x = rb'\\''; import os; os.system('id') #'"));
}

TEST(PythonAnalysis, ALoneCarriageReturnEndsAComment) {
  EXPECT_TRUE(calls("# x\rimport os; os.system('id')"));
}

TEST(PythonAnalysis, NamesAreNormalized) {
  EXPECT_TRUE(calls("import os\nos.\xF0\x9D\x93\xBCystem('id')"));
}

TEST(PythonAnalysis, StringsInFieldsOfAnFStringMayHaveTheSameQuotes) {
  EXPECT_TRUE(calls("import os\nf'{os.system('id')}'"));
  EXPECT_TRUE(calls("import os\nf'{1:{os.system(\"id\")}}'"));
  EXPECT_FALSE(is_unparsed("f'{{}}' f'{x!r:>{width}}' f'{y=}' rf'\\{z}'"));
}

TEST(PythonAnalysis, CharactersByNameAreKnownOrUnknownAndNeverWrong) {
  EXPECT_TRUE(calls("import os\ngetattr(os, '\\N{LATIN SMALL LETTER S}ystem')"));
  EXPECT_TRUE(
      calls("import os\ngetattr(os, '\\N{LATIN SMALL LETTER LONG S}ystem')", "dynamic-attribute"));
}

TEST(PythonAnalysis, ASliceWithAnUnknownBoundIsUnknown) {
  EXPECT_TRUE(calls("import os\ngetattr(os, 'getpidsystem'[n:])", "dynamic-attribute"));
}

TEST(PythonAnalysis, AnEncodingThatMakesAnotherProgramOfTheBytesIsNotRead) {
  EXPECT_TRUE(is_unparsed("# coding: utf-7\n#+AAo-import os"));
  EXPECT_FALSE(is_unparsed("# -*- coding: utf-8 -*-\nx = 1"));
}

TEST(PythonAnalysis, AMagicLineRunsWhatStandsBehindIt) {
  EXPECT_TRUE(calls("import os\n%timeit -n 3 os.system('id')"));
  EXPECT_TRUE(calls("!rm x", "rm"));
  EXPECT_TRUE(calls("%%perl\nsystem('id')", "opaque-code"));
  EXPECT_TRUE(is_unparsed("%unheard_of x"));
  EXPECT_TRUE(calls("import os\n'''\n% '''; os.system('id'); '''\n'''\n!ls"));
}

TEST(PythonAnalysis, ACommandThatIsUnknownAsAWholeIsOneOnlyWhereAShellReadsIt) {
  const std::string unknown = "import subprocess\ndef f(a, **more):\n  subprocess.run(a, ";
  EXPECT_FALSE(calls(unknown + "**more)", "$?"));
  EXPECT_TRUE(calls(unknown + "**more)", "dynamic-command"));
  EXPECT_TRUE(calls(unknown + "shell=True)", "$?"));
  EXPECT_TRUE(calls("import subprocess\nsubprocess.run(f'rm {x}', **more)", "rm"));
}

TEST(PythonAnalysis, WhatIsNestedTooDeeplyIsUnparsed) {
  for (const std::string& code : {std::string(200'000, '('), std::string(100'000, '-') + "1",
                                  "x = " + std::string(900, '['), std::string(20'000, '~') + "x"}) {
    EXPECT_TRUE(is_unparsed(code)) << code.substr(0, 10);
  }
  std::string chain = "a.b";
  for (int i = 0; i < 50'000; ++i) {
    chain += ".c";
  }
  EXPECT_TRUE(is_unparsed(chain));
}

TEST(PythonAnalysis, ANameMayStandForMoreValuesThanAreEasyToCount) {
  std::string code = "import os, math\n";
  for (int i = 0; i < 20; ++i) {
    code += "run = math.sin\n";
  }
  EXPECT_TRUE(calls(code + "run = os\nrun.system('id')"));
}

TEST(PythonAnalysis, SoftKeywordsAreNamesElsewhere) {
  EXPECT_FALSE(is_unparsed("match = type = case = 1\nmatch[0]\nprint(type, case)"));
  EXPECT_TRUE(calls("import os\nmatch x:\n    case {'a': [1, *_]} if os.system('id'): pass"));
  EXPECT_TRUE(calls("import os\ntype X[T] = os.system('id')"));
}

}  // namespace
}  // namespace glovebox::analyser
