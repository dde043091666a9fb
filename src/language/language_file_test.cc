// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/language.h"

namespace glovebox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

// What every file must have.
constexpr std::string_view kLeast = "id = \"x\"\nfile_name = \"main.x\"\nrun = [\"x\"]\n";

Result<Language> parse(const std::string& more) {
  return parse_language(std::string(kLeast) + more, "x.toml");
}

// "line:column: message" of the complaint about a file with this text behind the first three lines.
std::string complaint(const std::string& more) {
  auto parsed = parse(more);
  if (parsed) {
    return "none";
  }
  EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalid);
  EXPECT_THAT(parsed.error().message(), StartsWith("x.toml:"));
  EXPECT_NE(parsed.error().hint(), "") << "each complaint needs a hint";
  return parsed.error().message().substr(7);
}

TEST(LanguageFileTest, ReadsEveryKey) {
  const auto parsed = parse(R"(
title = "X 2"
names = ["ex", "x2"]
extensions = [".x", "Xfile"]
interpreters = ["x2"]
naming = "java"
file_executable = true
compile = ["xc", "-o", "{stem}", "{file}"]
version = ["x", "--version"]
needs = ["ld", "/usr/include/x.h"]
package = "x-lang"
extra_packages = ["libx-dev"]
agent_package = "x-agent"
install = "Unpack it below /opt/x."
mounts = ["/etc/x"]
[agent_env]
X_PLOTS = "inline"
[env]
X_HOME = "{dir}"
[run_limits]
time = "10s"
cpu_time = 5
memory = "1G"
cpus = 2
pids = 99
disk = "64M"
inodes = 1000
open_files = 64
output = 4096
[compile_limits]
time = "2m"
)");

  ASSERT_TRUE(parsed) << parsed.error().message();
  const Language& language = *parsed;
  EXPECT_EQ(language.id, "x");
  EXPECT_EQ(language.title, "X 2");
  EXPECT_THAT(language.names, ElementsAre("ex", "x2"));
  EXPECT_THAT(language.extensions, ElementsAre(".x", "Xfile"));
  EXPECT_THAT(language.interpreters, ElementsAre("x2"));
  EXPECT_EQ(language.file_name, "main.x");
  EXPECT_EQ(language.naming, SourceNaming::kJava);
  EXPECT_EQ(language.file_mode, 0755U);
  EXPECT_THAT(language.compile, ElementsAre("xc", "-o", "{stem}", "{file}"));
  EXPECT_THAT(language.run, ElementsAre("x"));
  EXPECT_THAT(language.version, ElementsAre("x", "--version"));
  EXPECT_THAT(language.needs, ElementsAre("ld", "/usr/include/x.h"));
  EXPECT_EQ(language.package, "x-lang");
  EXPECT_THAT(language.extra_packages, ElementsAre("libx-dev"));
  EXPECT_EQ(language.agent_package, "x-agent");
  EXPECT_EQ(language.install, "Unpack it below /opt/x.");
  EXPECT_THAT(language.mounts,
              ElementsAre(Mount{.source = "/etc/x", .target = "/etc/x", .optional = true}));
  EXPECT_THAT(language.env, ElementsAre(Pair("X_HOME", "{dir}")));
  EXPECT_THAT(language.agent_env, ElementsAre(Pair("X_PLOTS", "inline")));
  EXPECT_EQ(language.run_limits.wall, std::chrono::seconds(10));
  EXPECT_EQ(language.run_limits.cpu_time, std::chrono::seconds(5));
  EXPECT_EQ(language.run_limits.memory, 1_GiB);
  EXPECT_EQ(language.run_limits.cpus, 2.0);
  EXPECT_EQ(language.run_limits.pids, 99U);
  EXPECT_EQ(language.run_limits.disk, 64_MiB);
  EXPECT_EQ(language.run_limits.inodes, 1000U);
  EXPECT_EQ(language.run_limits.open_files, 64U);
  EXPECT_EQ(language.run_limits.output, Bytes{4096});
  EXPECT_EQ(language.compile_limits.wall, std::chrono::minutes(2));
  EXPECT_EQ(language.compile_limits.memory, std::nullopt);
  EXPECT_EQ(language.origin, "x.toml");
}

TEST(LanguageFileTest, ReadsHowATierRunsIt) {
  const auto parsed = parse(R"(
title = "X 2"
compile = ["xc", "{file}"]
package = "x-lang"
needs = ["ld"]
[wasm]
compile = ["xc", "--wasm", "{file}"]
run = ["{dir}/{stem}.wasm"]
agent = ["xi", "{agents}/wasm/x"]
extra_packages = ["libx-wasm"]
[wasm.compile_limits]
memory = "2G"
)");
  ASSERT_TRUE(parsed) << parsed.error().message();
  const Language inside = in_tier(*parsed, "wasm");
  EXPECT_EQ(inside.tier, "wasm");
  EXPECT_EQ(inside.id, "x");
  EXPECT_EQ(inside.title, "X 2");
  EXPECT_EQ(inside.file_name, "main.x");
  EXPECT_THAT(inside.compile, ElementsAre("xc", "--wasm", "{file}"));
  EXPECT_THAT(inside.run, ElementsAre("{dir}/{stem}.wasm"));
  EXPECT_THAT(inside.agent, ElementsAre("xi", "{agents}/wasm/x"));
  EXPECT_EQ(inside.compile_limits.memory, 2_GiB);
  // What is needed for the one is not for the other.
  EXPECT_THAT(inside.needs, ElementsAre());
  EXPECT_EQ(inside.package, "");
  EXPECT_EQ(in_tier(*parsed, "native"), *parsed);
}

TEST(LanguageFileTest, RefusesWhatATierCannotChange) {
  EXPECT_THAT(complaint("[wasm]\nrun = [\"x\"]\nextensions = [\".y\"]\n"),
              HasSubstr("unknown key 'extensions'"));
  EXPECT_THAT(complaint("[wasm]\nrun = [\"x\"]\n[wasm.wasm]\n"), HasSubstr("unknown key 'wasm'"));
  EXPECT_THAT(complaint("[wasm]\ncompile = [\"x\"]\n"), HasSubstr("'run' is missing in [wasm]"));
  EXPECT_THAT(complaint("wasm = [\"x\"]\n"), HasSubstr("expected a table"));
}

TEST(LanguageFileTest, TakesTheIdForAMissingTitle) {
  const auto parsed = parse("");

  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->title, "x");
}

TEST(LanguageFileTest, NamesLineAndColumnOfBadToml) {
  EXPECT_THAT(complaint("names = [\"a\"\ntitle = \"b\"\n"), StartsWith("5:1: "));
  EXPECT_THAT(complaint("title = \n"), StartsWith("4:9: "));
}

TEST(LanguageFileTest, NamesLineAndColumnWhereAssertionsOfTheTomlLibraryBreak) {
  EXPECT_THAT(complaint("names = [}"), StartsWith("4:10: "));
  EXPECT_THAT(complaint("names = [\n  \"a\",\n  }"), StartsWith("6:3: "));
  EXPECT_THAT(complaint("[ #\nx]"), StartsWith("4:1: "));
}

TEST(LanguageFileTest, NamesLineAndColumnOfAnUnknownKey) {
  EXPECT_EQ(complaint("\n  compil = [\"x\"]\n"), "5:3: unknown key 'compil'");
}

TEST(LanguageFileTest, SuggestsTheKeyThatWasMeant) {
  EXPECT_EQ(parse("compil = [\"x\"]").error().hint(), "did you mean 'compile'?");
  EXPECT_EQ(parse("mounst = []").error().hint(), "did you mean 'mounts'?");
}

TEST(LanguageFileTest, NamesLineAndColumnOfAWrongType) {
  EXPECT_EQ(complaint("title = 7"), "4:9: expected a quoted string, found a number");
  EXPECT_EQ(complaint("names = \"a\""), "4:9: expected a list of strings, [\"…\"], found a string");
  EXPECT_EQ(complaint("names = [\"a\", 7]"), "4:15: expected a quoted string, found a number");
  EXPECT_EQ(complaint("env = []"), "4:7: expected a table of strings, found a list");
  EXPECT_EQ(complaint("file_executable = 1"), "4:19: expected true or false, found a number");
  EXPECT_EQ(complaint("[run_limits]\npids = \"9\""), "5:8: expected an integer, found a string");
}

TEST(LanguageFileTest, RefusesLimitsThatCouldNeverHold) {
  EXPECT_EQ(complaint("[run_limits]\nmemory = \"1X\""), "5:10: invalid size '1X'");
  EXPECT_EQ(complaint("[run_limits]\ntime = \"soon\""), "5:8: invalid duration 'soon'");
  EXPECT_EQ(complaint("[run_limits]\nmemory = 0"), "5:10: limit memory is out of range: 0 B");
  EXPECT_EQ(complaint("[run_limits]\npids = -1"), "5:8: this number is out of range");
  EXPECT_EQ(complaint("[run_limits]\ncpus = nan"), "5:8: limit cpus is out of range: nan");
  EXPECT_EQ(complaint("[run_limits]\nmem = 1"), "5:1: unknown limit 'mem'");
}

TEST(LanguageFileTest, SaysWhichKeyIsMissing) {
  const auto parsed = parse_language("id = \"x\"\nfile_name = \"main.x\"\n", "x.toml");

  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message(), "x.toml:1:1: the key 'run' is missing");
}

TEST(LanguageFileTest, RefusesAnEmptyCommand) {
  EXPECT_THAT(complaint("compile = []"), HasSubstr("this command is empty"));
}

TEST(LanguageFileTest, RefusesUnknownPlaceholders) {
  EXPECT_EQ(complaint("compile = [\"cc\", \"{source}\"]"), "4:18: unknown placeholder {source}");
  EXPECT_EQ(complaint("[env]\nA = \"{home}\""), "5:5: unknown placeholder {home}");
}

TEST(LanguageFileTest, LeavesBracesOfShellsAndProgramsAlone) {
  EXPECT_EQ(complaint("compile = [\"sh\", \"-c\", \"${file_x} { a; } {} {1..3}\"]"), "none");
}

TEST(LanguageFileTest, RefusesFileNamesThatLeaveTheWorkspace) {
  for (const std::string name : {"../x", "a/b", "", ".profile", "-o", "a b", "a\\u0000b"}) {
    const auto parsed =
        parse_language("id = \"x\"\nrun = [\"x\"]\nfile_name = \"" + name + "\"\n", "x.toml");
    ASSERT_FALSE(parsed) << name;
    EXPECT_THAT(parsed.error().message(), StartsWith("x.toml:3:13: "));
  }
}

TEST(LanguageFileTest, RefusesMountsThatHoldSecrets) {
  for (const std::string path : {"/etc/shadow", "/etc/ssh", "/etc/ssh/keys", "/etc/ssl",
                                 "/var/lib/docker/x", "/etc/ssl/private"}) {
    EXPECT_THAT(complaint("mounts = [\"" + path + "\"]"), HasSubstr("contains secrets of the host"))
        << path;
  }
}

TEST(LanguageFileTest, RefusesMountsOfOtherPlaces) {
  for (const std::string path : {"/", "/etc", "/etc/", "/root/.cargo", "/home/a", "/proc/1", "/usr",
                                 "etc/x", "/etc/x/../shadow", "/etc/./shadow", "/etc//shadow"}) {
    EXPECT_THAT(complaint("mounts = [\"" + path + "\"]"), StartsWith("4:11: ")) << path;
  }
}

TEST(LanguageFileTest, TakesMountsOfSettingsAndTools) {
  EXPECT_EQ(complaint("mounts = [\"/etc/java-17-openjdk\", \"/opt/julia\", \"/var/lib/ghc\", "
                      "\"/etc/sshd.example\", \"/etc/a..b\"]"),
            "none");
}

TEST(LanguageFileTest, RefusesOtherBadValues) {
  EXPECT_THAT(complaint("names = [\"a b\"]"), HasSubstr("is not a valid name"));
  EXPECT_THAT(complaint("extensions = [\"a/b\"]"), HasSubstr("is neither an extension"));
  EXPECT_THAT(complaint("interpreters = [\"/bin/x\"]"),
              HasSubstr("is not the base name of a program"));
  EXPECT_THAT(complaint("package = \"$(reboot)\""),
              HasSubstr("is not a valid Debian package name"));
  EXPECT_THAT(complaint("extra_packages = [\"-y\"]"),
              HasSubstr("is not a valid Debian package name"));
  EXPECT_THAT(complaint("naming = \"random\""), HasSubstr("unknown naming"));
  EXPECT_THAT(complaint("title = \"a\\nb\""), HasSubstr("one line"));
  EXPECT_THAT(complaint("[env]\n\"A=B\" = \"c\""), HasSubstr("is not a valid variable name"));
}

TEST(LanguageFileTest, RefusesAFileOverTheBound) {
  EXPECT_THAT(complaint(std::string(kMaxLanguageFile, '#')),
              StartsWith("1:1: this file is larger"));
}

TEST(LanguageFileTest, RefusesListsOverTheBound) {
  std::string list = "names = [";
  for (int i = 0; i < 65; ++i) {
    list += "\"a\", ";
  }

  EXPECT_THAT(complaint(list + "]"), StartsWith("4:9: this list has more than 64 items"));
}

TEST(LanguageFileTest, SurvivesDeepNesting) {
  std::string dotted = "a";
  for (int i = 0; i < 30'000; ++i) {
    dotted += ".a";
  }
  EXPECT_NE(complaint(dotted + " = 1"), "none");
  EXPECT_NE(complaint("names = " + std::string(30'000, '[')), "none");
  std::string tables = "x = ";
  for (int i = 0; i < 10'000; ++i) {
    tables += "{a=";
  }
  EXPECT_NE(complaint(tables), "none");
}

TEST(LanguageFileTest, RefusesBytesThatAreNoUtf8) {
  EXPECT_NE(complaint("title = \"\xff\xfe\""), "none");
  EXPECT_NE(complaint(std::string("title = \"a\0b\"", 13)), "none");
}

}  // namespace
}  // namespace glovebox
