// SPDX-License-Identifier: Apache-2.0
#include "analyser/shell.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::analyser {
namespace {

std::string found_in_script(std::string_view code) {
  Facts facts;
  analyse_shell(code, std::nullopt, facts);
  return "\n" + facts.lines();
}

bool runs(std::string_view code, std::string_view name = "rm") {
  const std::string facts = found_in_script(code);
  for (const std::string_view kind : {"command", "name"}) {
    if (facts.contains("\n" + std::string(kind) + "\t" + std::string(name) + "\t")) {
      return true;
    }
  }
  return false;
}

TEST(ShellAnalysis, CommandsAreFoundThroughQuotesVariablesAndSubstitutions) {
  for (const std::string_view code :
       {"r''m x", "\\rm x", "$'\\x72\\x6d' x", "a=r; b=m; $a$b x", "echo \"$(rm x)\"",
        "echo `rm x`", "for c in rm; do $c x; done", "sudo env A=1 timeout 3 rm x",
        "find . -exec rm {} ';'", "sh <<E\nrm x\nE", "echo 'rm x' | sh", "alias z=rm; z x",
        "{rm,x}", "eval 'r''m x'", "bash -c 'rm x'", "cat <(rm x)", "${UNSET:-rm} x",
        "sh <<< 'rm x'"}) {
    EXPECT_TRUE(runs(code)) << code;
  }
}

TEST(ShellAnalysis, WordsOfOtherCommandsAreNoCommands) {
  for (const std::string_view code :
       {"echo rm x", "# rm x", "echo 'a; rm x'", "cat <<E\nrm x\nE"}) {
    EXPECT_FALSE(runs(code)) << code;
  }
}

TEST(ShellAnalysis, AProgramInPythonIsAnalysed) {
  EXPECT_TRUE(runs("python3 -c 'import os; os.system(\"id\")'", "os.system"));
}

TEST(ShellAnalysis, WhatDoesNotEndIsUnparsed) {
  for (const std::string_view code : {"echo 'x", "echo $(", "echo `x", "echo \"x", "[[ x"}) {
    EXPECT_TRUE(found_in_script(code).contains("\nunparsed\t")) << code;
  }
}

TEST(ShellAnalysis, WordsThatGrowWithoutEndAreUnparsed) {
  std::string code = "a=xx\n";
  for (int i = 0; i < 40; ++i) {
    code += "a=$a$a\n";
  }
  EXPECT_TRUE(found_in_script(code).contains("\nunparsed\t"));
}

}  // namespace
}  // namespace glovebox::analyser
