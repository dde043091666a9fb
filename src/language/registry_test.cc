// SPDX-License-Identifier: Apache-2.0
#include "language/registry.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A directory of a user, removed with its files.
class UserDirectory {
 public:
  UserDirectory() {
    std::string path = ::testing::TempDir() + "glovebox-languages-XXXXXX";
    path_ = ::mkdtemp(path.data());
  }
  UserDirectory(const UserDirectory&) = delete;
  UserDirectory& operator=(const UserDirectory&) = delete;
  ~UserDirectory() { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string language_text(const std::string& id, const std::string& more = "") {
  return "id = \"" + id + "\"\nfile_name = \"main.txt\"\nrun = [\"" + id + "\"]\n" + more;
}

std::string detected(const Registry& registry, std::string_view name, std::string_view head = "") {
  auto language = registry.detect(name, head);
  return language ? language->id : "";
}

TEST(RegistryTest, HasTheLanguagesOfTheContract) {
  const Registry registry = Registry::load({});

  for (const std::string_view id :
       {"python",  "javascript", "typescript", "bash",   "c",      "cpp",    "csharp", "java",
        "go",      "rust",       "ruby",       "php",    "perl",   "lua",    "r",      "julia",
        "haskell", "ocaml",      "fortran",    "pascal", "kotlin", "sql",    "awk",    "octave",
        "prolog",  "erlang",     "elixir",     "d",      "nim",    "scheme", "lisp",   "nasm"}) {
    const auto language = registry.find(id);
    ASSERT_TRUE(language) << id;
    EXPECT_EQ(language->id, id);
  }
}

TEST(RegistryTest, FindsByNameWhateverTheCase) {
  const Registry registry = Registry::load({});

  for (const auto& [name, id] : {std::pair{"py", "python"},
                                 {"JS", "javascript"},
                                 {"Ts", "typescript"},
                                 {"sh", "sh"},
                                 {"C++", "cpp"},
                                 {"cs", "csharp"},
                                 {"GoLang", "go"},
                                 {"Python", "python"},
                                 {"ELF", "executable"}}) {
    const auto language = registry.find(name);
    ASSERT_TRUE(language) << name;
    EXPECT_EQ(language->id, id);
  }
}

TEST(RegistryTest, SuggestsWhatMayHaveBeenMeant) {
  const auto language = Registry::load({}).find("pyhton");

  ASSERT_FALSE(language);
  EXPECT_EQ(language.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(language.error().message(), "unknown language 'pyhton'");
  EXPECT_THAT(language.error().hint(), StartsWith("did you mean 'python'?"));
}

TEST(RegistryTest, DetectsByTheEnding) {
  const Registry registry = Registry::load({});

  EXPECT_EQ(detected(registry, "a.py"), "python");
  EXPECT_EQ(detected(registry, "/some.rb/a.tar.py"), "python");
  EXPECT_EQ(detected(registry, "A.PY"), "python");
  EXPECT_EQ(detected(registry, "a.c"), "c");
  EXPECT_EQ(detected(registry, "a.C"), "cpp");
  EXPECT_EQ(detected(registry, "Makefile"), "make");
  EXPECT_EQ(detected(registry, ".py"), "");
  EXPECT_EQ(detected(registry, "py"), "");
  EXPECT_EQ(detected(registry, ""), "");
}

TEST(RegistryTest, DetectsByTheShebang) {
  const Registry registry = Registry::load({});

  EXPECT_EQ(detected(registry, "a", "#!/usr/bin/python3\nx"), "python");
  EXPECT_EQ(detected(registry, "a", "#! /usr/bin/python3 -u\r\nx"), "python");
  EXPECT_EQ(detected(registry, "a", "#!/usr/bin/env node\n"), "javascript");
  EXPECT_EQ(detected(registry, "a", "#!/usr/bin/env -S ruby -w\n"), "ruby");
  EXPECT_EQ(detected(registry, "a", "#!/usr/bin/env -Sruby -w\n"), "ruby");
  EXPECT_EQ(detected(registry, "a", "#!/usr/bin/env -i -u X A=b perl\n"), "perl");
  EXPECT_EQ(detected(registry, "", "#!/bin/sh"), "sh");
  EXPECT_EQ(detected(registry, "a", "#!/usr/local/bin/python3.12\n"), "python");
  EXPECT_EQ(detected(registry, "a", "#!/usr/bin/lua5.4\n"), "lua");
  EXPECT_EQ(detected(registry, "a", "#!/usr/bin/env\n"), "");
  EXPECT_EQ(detected(registry, "a", "#!"), "");
  EXPECT_EQ(detected(registry, "a", "no #!/bin/sh"), "");
}

TEST(RegistryTest, TrustsTheEndingBeforeTheShebang) {
  EXPECT_EQ(detected(Registry::load({}), "a.rb", "#!/usr/bin/python3\n"), "ruby");
}

TEST(RegistryTest, RunsAnElfFileItself) {
  const auto language = Registry::load({}).detect("a.out",
                                                  "\x7f"
                                                  "ELF\x02\x01");

  ASSERT_TRUE(language);
  EXPECT_EQ(language->id, kExecutable);
  const Plan plan = make_plan(*language, {}, {"x"}, {}, {});
  EXPECT_THAT(plan.run.argv, ElementsAre("/workspace/program", "x"));
  EXPECT_EQ(plan.file_mode, 0755U);
}

TEST(RegistryTest, KnowsAModuleByItsFirstBytesAndByItsEnding) {
  const Registry registry = Registry::load({});
  EXPECT_EQ(detected(registry, "a", std::string("\0asm\1", 5)), kModule);
  EXPECT_EQ(detected(registry, "a.wasm", ""), kModule);
  EXPECT_EQ(detected(registry, "a.wat", "(module)"), kModule);
  const auto language = registry.find("wasm");
  ASSERT_TRUE(language);
  EXPECT_EQ(language->tier, "wasm");
  const Plan plan = make_plan(*language, {.code = {}, .name = "a.wat"}, {"x"}, {}, {});
  EXPECT_THAT(plan.run.argv, ElementsAre("/workspace/a.wat", "x"));
}

TEST(RegistryTest, SaysWhyItCannotTellALanguage) {
  const auto language = Registry::load({}).detect("/tmp/a", "#!/opt/strange\n");

  ASSERT_FALSE(language);
  EXPECT_EQ(language.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(language.error().message(),
            "cannot detect the language of 'a': unknown interpreter 'strange'");
}

TEST(RegistryTest, SaysHowANotebookIsRun) {
  const auto language = Registry::load({}).detect("/tmp/a.ipynb", "{}");

  ASSERT_FALSE(language);
  EXPECT_EQ(language.error().message(), "'a.ipynb' is a notebook, not a program");
  EXPECT_THAT(language.error().hint(), testing::HasSubstr("glovebox notebook run"));
}

TEST(RegistryTest, ReadsLanguagesOfUsers) {
  const UserDirectory user;
  user.write("mine.toml", language_text("mine",
                                        "names = [\"My\"]\nextensions = [\".my\"]\n"
                                        "interpreters = [\"my\"]\n"));

  const Registry registry = Registry::load({user.path()});

  EXPECT_TRUE(registry.find("mY"));
  EXPECT_EQ(detected(registry, "a.my"), "mine");
  EXPECT_EQ(detected(registry, "a", "#!/usr/bin/my\n"), "mine");
  EXPECT_THAT(registry.problems(), IsEmpty());
}

TEST(RegistryTest, LetsUsersReplaceABuiltInLanguage) {
  const UserDirectory user;
  user.write("python.toml", language_text("python"));

  const Registry registry = Registry::load({user.path()});

  EXPECT_THAT(registry.find("python")->run, ElementsAre("python"));
  EXPECT_EQ(registry.find("python")->origin, user.path() + "/python.toml");
  // Its names and endings are the new file's to give.
  EXPECT_FALSE(registry.find("py"));
  EXPECT_EQ(detected(registry, "a.py"), "");
}

TEST(RegistryTest, LetsTheLaterDirectoryWin) {
  const UserDirectory first;
  const UserDirectory second;
  first.write("mine.toml", language_text("mine", "title = \"first\"\n"));
  second.write("mine.toml", language_text("mine", "title = \"second\"\n"));

  const Registry registry = Registry::load({first.path(), second.path()});

  EXPECT_EQ(registry.find("mine")->title, "second");
}

TEST(RegistryTest, LeavesOutBadFilesAndSaysSo) {
  const UserDirectory user;
  user.write("bad.toml", "id = \n");
  user.write("good.toml", language_text("good"));

  const Registry registry = Registry::load({user.path()});

  EXPECT_TRUE(registry.find("good"));
  ASSERT_THAT(registry.problems(), SizeIs(1));
  EXPECT_THAT(registry.problems()[0].message(), StartsWith(user.path() + "/bad.toml:1:"));
}

TEST(RegistryTest, AnswersForABadFileInsteadOfTheBuiltInLanguageItReplaces) {
  const UserDirectory user;
  user.write("python.toml", "id = \"python\"\nfile_name = \"a.py\"\nrn = []\n");

  const auto language = Registry::load({user.path()}).find("python");

  ASSERT_FALSE(language);
  EXPECT_EQ(language.error().code(), ErrorCode::kInvalid);
  EXPECT_THAT(language.error().message(), HasSubstr("python.toml:3:1: unknown key 'rn'"));
}

TEST(RegistryTest, ReadsRegularFilesOnly) {
  const UserDirectory user;
  ASSERT_EQ(::mkfifo((user.path() + "/pipe.toml").c_str(), 0600), 0);
  std::filesystem::create_directory(user.path() + "/directory.toml");
  std::filesystem::create_symlink("/etc/passwd", user.path() + "/link.toml");
  user.write("notes.txt", "not TOML");
  user.write(".hidden.toml", "not TOML");

  const Registry registry = Registry::load({user.path()});

  EXPECT_THAT(registry.problems(), SizeIs(3));
}

TEST(RegistryTest, RefusesAFileThatIsTooLarge) {
  const UserDirectory user;
  user.write("big.toml", language_text("big") + std::string(kMaxLanguageFile, '#'));

  const Registry registry = Registry::load({user.path()});

  ASSERT_THAT(registry.problems(), SizeIs(1));
  EXPECT_THAT(registry.problems()[0].message(), HasSubstr("larger than 64 KiB"));
}

TEST(RegistryTest, TakesMissingDirectoriesForEmpty) {
  EXPECT_THAT(Registry::load({"/nonexistent/languages"}).problems(), IsEmpty());
}

TEST(RegistryTest, LooksInAbsoluteDirectoriesOnly) {
  // NOLINTBEGIN(concurrency-mt-unsafe): this test has one thread.
  ASSERT_EQ(::setenv("XDG_CONFIG_HOME", "/xdg", 1), 0);
  ASSERT_EQ(::setenv("GLOVEBOX_LANGUAGES", "/a:relative:/b:", 1), 0);

  const auto directories = Registry::user_directories();

  ASSERT_EQ(::unsetenv("XDG_CONFIG_HOME"), 0);
  ASSERT_EQ(::unsetenv("GLOVEBOX_LANGUAGES"), 0);
  // NOLINTEND(concurrency-mt-unsafe)
  EXPECT_THAT(directories,
              ElementsAre("/etc/glovebox/languages", "/xdg/glovebox/languages", "/a", "/b"));
}

TEST(RegistryTest, ListsEveryLanguageOnceAndSorted) {
  const UserDirectory user;
  user.write("python.toml", language_text("python", "title = \"mine\"\n"));

  const std::vector<Language> all = Registry::load({user.path()}).all();

  std::vector<std::string> ids(all.size());
  std::transform(all.begin(), all.end(), ids.begin(), [](const Language& each) { return each.id; });
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_THAT(std::set<std::string>(ids.begin(), ids.end()), SizeIs(ids.size()));
  EXPECT_THAT(ids, Contains("python"));
}

TEST(RegistryTest, SaysForEveryBuiltInLanguageHowToGetIt) {
  for (const Language& language : Registry::load({}).all()) {
    EXPECT_FALSE(language.package.empty() && language.install.empty()) << language.id;
    EXPECT_FALSE(language.title.empty()) << language.id;
  }
}

}  // namespace
}  // namespace glovebox
