// SPDX-License-Identifier: Apache-2.0
#include "analyser/sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace glovebox::analyser {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string sql_facts(std::string_view code) {
  Facts facts;
  analyse_sql(code, std::nullopt, facts);
  return "\n" + facts.lines();
}

std::string fact(std::string_view kind, std::string_view name) {
  return "\n" + std::string(kind) + "\t" + std::string(name) + "\t";
}

TEST(SqlAnalysis, CommandsOfTheShellAreFoundAsItReadsThem) {
  for (const std::string_view code :
       {".shell rm x", ".sh rm x", ".system rm x", ".sy rm x", ". shell rm x", ".shell 'rm' x",
        ".\"shell\" rm x", ".shell \\162m x", ".she\\154l rm x", ".shell \"\\162m\" x",
        "SELECT 1;\n.shell rm x", "SELECT 1\ngo\n.shell rm x", "-- a\n.shell rm x",
        "/* ' */\n.shell rm x", "# '\n.shell rm x", ".output '|rm x'", ".once \"|rm x\"",
        ".import \"|rm x\" t", ".read '|rm x'"}) {
    EXPECT_THAT(sql_facts(code), HasSubstr(fact("command", "rm"))) << code;
  }
  for (const std::string_view code : {"SELECT '\n.shell rm x\n'", "/*\n.shell rm x\n*/",
                                      "SELECT 1; .shell rm x", ".print rm x"}) {
    EXPECT_THAT(sql_facts(code), Not(HasSubstr(fact("command", "rm")))) << code;
  }
}

TEST(SqlAnalysis, FunctionsAreFoundHoweverTheyAreWritten) {
  for (const std::string_view code :
       {"SELECT readfile('x')", "SELECT \"readfile\"('x')", "SELECT [ReadFile] ('x')",
        "SELECT `readfile`/**/('x')", "SELECT READFILE -- (\n ('x')",
        "CREATE TRIGGER t AFTER INSERT ON u BEGIN SELECT readfile('x'); END;"}) {
    EXPECT_THAT(sql_facts(code), HasSubstr(fact("name", "readfile"))) << code;
    EXPECT_THAT(sql_facts(code), HasSubstr(fact("read", "x"))) << code;
  }
  for (const std::string_view code :
       {"SELECT 'readfile(1)'", "-- readfile(1)", "SELECT readfile FROM t"}) {
    EXPECT_THAT(sql_facts(code), Not(HasSubstr("readfile"))) << code;
  }
}

TEST(SqlAnalysis, FilesAreFoundThroughConstants) {
  for (const std::string_view code :
       {"ATTACH '/etc/x' AS a", "attach database '/etc' || '/x' as a", "ATTACH \"/etc/x\" AS a",
        "ATTACH x'2f6574632f78' AS a", "ATTACH char(47)||'etc/x' AS a",
        "ATTACH 'file:///etc/x?mode=rwc' AS a", "ATTACH 'file:%2Fetc%2fx' AS a",
        "VACUUM INTO '/etc/x'", "VACUUM main INTO '/etc/x'", "SELECT writefile('/etc/x', 1)",
        ".output /etc/x", ".open -readonly /etc/x", ".once '/etc/x'", ".backup main /etc/x"}) {
    EXPECT_THAT(sql_facts(code), HasSubstr(fact("write", "/etc/x"))) << code;
  }
  EXPECT_THAT(sql_facts("CREATE VIRTUAL TABLE t USING csv(filename='/etc/x')"),
              HasSubstr(fact("read", "/etc/x")));
  EXPECT_THAT(sql_facts("ATTACH ':memory:' AS a"),
              Not(AnyOf(HasSubstr("\nread\t"), HasSubstr("\nwrite\t"))));
}

TEST(SqlAnalysis, RecursionWithoutAnEndIsALoop) {
  for (const std::string_view code :
       {"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c",
        "WITH c AS (SELECT 1 AS x UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c",
        "WITH a AS (SELECT 1), c(x) AS NOT MATERIALIZED (VALUES(1) UNION SELECT x+1 FROM c) "
        "SELECT * FROM c"}) {
    EXPECT_THAT(sql_facts(code), HasSubstr(fact("pattern", "endless-loop"))) << code;
  }
  for (const std::string_view code :
       {"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 9) SELECT * FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 9) SELECT * FROM c",
        "WITH c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c LIMIT 9",
        "WITH RECURSIVE t AS (SELECT id FROM e WHERE boss IS NULL UNION ALL SELECT e.id FROM e "
        "JOIN t ON e.boss = t.id) SELECT * FROM t"}) {
    EXPECT_THAT(sql_facts(code), Not(HasSubstr("endless-loop"))) << code;
  }
}

TEST(SqlAnalysis, ASchemaThatIsWrittenIsCode) {
  EXPECT_THAT(sql_facts("PRAGMA writable_schema=1"),
              HasSubstr(fact("name", "pragma.writable_schema")));
  EXPECT_THAT(sql_facts("UPDATE main.sqlite_schema SET sql='x'"),
              HasSubstr(fact("pattern", "dynamic-code")));
  EXPECT_THAT(sql_facts("INSERT INTO sqlite_master VALUES(1)"),
              HasSubstr(fact("pattern", "dynamic-code")));
  EXPECT_THAT(sql_facts("SELECT sql FROM sqlite_schema"), Not(HasSubstr("dynamic-code")));
}

TEST(SqlAnalysis, WhatDoesNotEndIsUnparsed) {
  for (const std::string_view code : {"SELECT 'x", "SELECT \"x", "SELECT [x", "/* x"}) {
    EXPECT_THAT(sql_facts(code), HasSubstr("\nunparsed\t")) << code;
  }
}

}  // namespace
}  // namespace glovebox::analyser
