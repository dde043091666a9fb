// SPDX-License-Identifier: Apache-2.0
// What a guest can install by itself; tests/cli/test_packages.py has what is installed ahead.
#include "service/packages/packages.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/tree.h"
#include "sandbox/sandbox.h"

namespace glovebox {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Makes a wheel and an archive of npm pack in the current directory.
constexpr const char* kMakePackages = R"py(
import io, json, tarfile, zipfile
with zipfile.ZipFile("gbalpha-1.0-py3-none-any.whl", "w") as wheel:
    info = "gbalpha-1.0.dist-info/"
    wheel.writestr("gbalpha.py", "print('alpha of pip')")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: gbalpha\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "")
with tarfile.open("gb-alpha-1.0.0.tgz", "w:gz") as archive:
    for name, text in (("package.json", json.dumps({"name": "gb-alpha", "version": "1.0.0"})),
                       ("index.js", "console.log('alpha of npm')")):
        member = tarfile.TarInfo("package/" + name)
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
)py";

class PackagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "glovebox-packages.XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
    std::filesystem::create_directories(source());
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", (root_ + "/cache").c_str(), 1), 0);
    const pid_t maker = ::fork();
    if (maker == 0) {
      if (::chdir(source().c_str()) == 0) {
        ::execl("/usr/bin/python3", "python3", "-c", kMakePackages, nullptr);
      }
      ::_exit(127);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(maker, &status, 0), maker);
    ASSERT_EQ(status, 0);
  }
  void TearDown() override { ASSERT_TRUE(sys::remove_tree(root_)); }

  [[nodiscard]] std::string source() const { return root_ + "/source"; }

  // What a shell in a sandbox with these packages says.
  static std::string run(const Packages& packages, const std::string& script) {
    SandboxSpec spec{.limits = {.memory = 1_GiB, .disk = 512_MiB}, .env = {}, .mounts = {}};
    packages.add_to(spec);
    auto sandbox = Sandbox::create(spec, {});
    if (!sandbox) {
      return "no sandbox: " + sandbox.error().message();
    }
    const Command command{.argv = {"/bin/sh", "-c", script + " 2>&1"}, .env = {}, .cwd = {}};
    const auto outcome = sandbox.value()->run(command, {.limits = spec.limits});
    return outcome ? outcome->out.bytes : outcome.error().message();
  }

  std::string root_;
};

TEST_F(PackagesTest, OfASourceAreInstalledByTheGuestsOwnPip) {
  if (::access("/usr/lib/python3/dist-packages/pip", F_OK) != 0) {
    GTEST_SKIP() << "no pip: apt-get install python3-pip";
  }
  const auto packages = offer_packages({source()}, {});
  ASSERT_TRUE(packages) << packages.error().message();

  EXPECT_THAT(run(packages.value(),
                  "python3 -m pip install -q gbalpha && cd /tmp && python3 -c 'import gbalpha'"),
              HasSubstr("alpha of pip"));
}

TEST_F(PackagesTest, OfASourceAreInstalledByTheGuestsOwnNpm) {
  if (::access("/usr/bin/npm", F_OK) != 0) {
    GTEST_SKIP() << "no npm: apt-get install npm";
  }
  const auto packages = offer_packages({source()}, {});
  ASSERT_TRUE(packages) << packages.error().message();

  EXPECT_THAT(
      run(packages.value(), "npm install gb-alpha >/tmp/log && node -e 'require(\"gb-alpha\")'"),
      HasSubstr("alpha of npm"));
}

TEST_F(PackagesTest, ExtendTheCallersVariablesAndReplaceNone) {
  SandboxSpec spec{.limits = {}, .env = {{"PATH", "/mine"}, {"PIP_NO_INDEX", "0"}}, .mounts = {}};

  offer_packages({source()}, {})->add_to(spec);

  EXPECT_THAT(spec.env, Contains(std::pair<std::string, std::string>(
                            "PATH", "/opt/glovebox/package-tools:/mine")));
  EXPECT_THAT(spec.env, Contains(std::pair<std::string, std::string>("PIP_NO_INDEX", "0")));
}

TEST_F(PackagesTest, AddNothingWhereNothingIsWanted) {
  SandboxSpec spec;

  offer_packages({}, {})->add_to(spec);
  install_packages_for({}, {}, -1)->add_to(spec);

  EXPECT_TRUE(spec.mounts.empty());
  EXPECT_TRUE(spec.env.empty());
}

TEST_F(PackagesTest, WithoutASourceWouldTakeANetwork) {
  const auto packages = install_packages_for(
      {.requests = parse_packages({"pip:six"}).value(), .sources = {}}, {}, -1);

  ASSERT_FALSE(packages);
  EXPECT_EQ(packages.error().code(), ErrorCode::kRefused);
}

}  // namespace
}  // namespace glovebox
