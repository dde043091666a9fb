// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/caution.h"

#include <gtest/gtest.h>

namespace glovebox::cli {
namespace {

TEST(Caution, IsForWhatToolsRunUnasked) {
  for (const char* const path : {".github/workflows/ci.yml", ".vscode/tasks.json", ".env", ".envrc",
                                 ".gitlab-ci.yml", ".husky/pre-commit"}) {
    EXPECT_EQ(caution_about(path), Caution::kPerson) << path;
  }
  EXPECT_EQ(caution_about(".git/hooks/pre-commit"), Caution::kNever);
  EXPECT_EQ(caution_about("sub/.git/hooks/pre-commit"), Caution::kNever);
  for (const char* const path : {"Makefile", "src/main.c", "docs/.github.md", "github/x"}) {
    EXPECT_EQ(caution_about(path), Caution::kNone) << path;
  }
}

}  // namespace
}  // namespace glovebox::cli
