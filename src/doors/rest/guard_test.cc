// SPDX-License-Identifier: Apache-2.0
// What the guard in front of the service lets through. Beside a service that stands in for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "doors/rest/fake_service.h"
#include "service/guarded/guarded_service.h"
#include "service/templates/recipe.h"

namespace glovebox::rest {
namespace {

Caller holder_of(const std::string& scope) {
  return {.tenant = "t", .scopes = {scope}, .key = scope};
}
Caller token_of_sandbox(const std::string& id) {
  return {.tenant = "t", .scopes = {"read", "run"}, .key = {}, .sandbox = id};
}
Caller token_of_volume(const std::string& id) {
  return {.tenant = "t", .scopes = {"read", "run"}, .key = {}, .sandbox = {}, .volume = id};
}

// Where a call belongs, which is what a token opens.
enum class Place { kTenant, kSandbox, kVolume };

struct GuardedCall {
  std::string name;
  std::vector<std::string> scopes;  // Any of them is enough.
  Place place;
  std::function<bool(const Caller&)> refused;
};

class GuardTest : public testing::Test {
 protected:
  void SetUp() override {
    service_.execution = [](const EventSink&) { return Result<void>(); };
    service_.process = [](const ProcessSink&) { return Result<void>(); };
  }

  template <typename Call>
  GuardedCall row(std::string name, std::vector<std::string> scopes, Place place, Call call) {
    return {.name = std::move(name),
            .scopes = std::move(scopes),
            .place = place,
            .refused = [call](const Caller& caller) {
              const auto done = call(caller);
              return !done && done.error().code() == ErrorCode::kRefused;
            }};
  }

  std::vector<GuardedCall> calls() {
    GuardedService& s = guarded_;
    const auto tenant = Place::kTenant;
    const auto sandbox = Place::kSandbox;
    const auto volume = Place::kVolume;
    const EventSink events = [](std::string_view) { return true; };
    const BuildSink builds = [](const BuildEvent&) { return true; };
    const FileClient::Source nothing = [](std::span<char>) { return Result<std::size_t>(0); };
    const ArchiveSink taken{.begin = [](std::uint64_t) { return true; },
                            .take = [](std::string_view) { return true; }};
    using C = const Caller&;
    return {
        row("create", {"run"}, tenant, [&s](C c) { return s.create(c, {}); }),
        row("find", {"read", "run"}, sandbox, [&s](C c) { return s.find(c, "sb1"); }),
        row("list", {"read"}, tenant, [&s](C c) { return s.list(c, {}); }),
        row("change", {"run"}, sandbox, [&s](C c) { return s.change(c, "sb1", {}); }),
        row("kill", {"run"}, sandbox, [&s](C c) { return s.kill(c, "sb1"); }),
        row("pause", {"run"}, sandbox, [&s](C c) { return s.pause(c, "sb1", PauseTo::kDisk); }),
        row("resume", {"run"}, sandbox, [&s](C c) { return s.resume(c, "sb1"); }),
        row("usage", {"read"}, sandbox, [&s](C c) { return s.usage(c, "sb1"); }),
        row("connections", {"read"}, sandbox, [&s](C c) { return s.connections(c, "sb1"); }),
        row("snapshot", {"run"}, tenant, [&s](C c) { return s.snapshot(c, "sb1", "x"); }),
        row("fork", {"run"}, tenant, [&s](C c) { return s.fork(c, "sb1", {}); }),
        row("export_archive", {"run"}, tenant,
            [&s, taken](C c) { return s.export_archive(c, "sb1", taken); }),
        row("open_archive", {"run"}, tenant,
            [&s, nothing](C c) { return s.open_archive(c, nothing); }),
        row("create_context", {"run"}, sandbox,
            [&s](C c) { return s.create_context(c, "sb1", {}); }),
        row("contexts", {"read", "run"}, sandbox, [&s](C c) { return s.contexts(c, "sb1"); }),
        row("delete_context", {"run"}, sandbox,
            [&s](C c) { return s.delete_context(c, "sb1", "c1"); }),
        row("restart_context", {"run"}, sandbox,
            [&s](C c) { return s.restart_context(c, "sb1", "c1"); }),
        row("interrupt", {"run"}, sandbox, [&s](C c) { return s.interrupt(c, "sb1", "c1"); }),
        row("execute", {"run"}, sandbox,
            [&s, events](C c) { return s.execute(c, "sb1", "c1", {}, events); }),
        row("reply_input", {"run"}, sandbox,
            [&s](C c) { return s.reply_input(c, "sb1", "c1", {}); }),
        row("reply_tool", {"run"}, sandbox, [&s](C c) { return s.reply_tool(c, "sb1", "c1", {}); }),
        row("tool_wait", {"read"}, sandbox,
            [&s](C c) { return s.tool_wait(c, "sb1", "c1", "t1"); }),
        row("agree_to_tool", {"approve"}, sandbox,
            [&s](C c) { return s.agree_to_tool(c, "sb1", "c1", "t1", "hash"); }),
        row("complete", {"run"}, sandbox, [&s](C c) { return s.complete(c, "sb1", "c1", {}); }),
        row("inspect", {"run"}, sandbox, [&s](C c) { return s.inspect(c, "sb1", "c1", {}, 0); }),
        row("checkpoint", {"run"}, sandbox, [&s](C c) { return s.checkpoint(c, "sb1", "c1"); }),
        row("rollback", {"run"}, sandbox, [&s](C c) { return s.rollback(c, "sb1", "c1", 1); }),
        row("fork_context", {"run"}, sandbox,
            [&s](C c) { return s.fork_context(c, "sb1", "c1", 1); }),
        row("dry_runs", {"read"}, sandbox, [&s](C c) { return s.dry_runs(c, "sb1"); }),
        row("commit a dry run", {"run"}, sandbox,
            [&s](C c) { return s.decide_dry_run(c, "sb1", "d1", {.commit = true}); }),
        row("discard a dry run", {"run"}, sandbox,
            [&s](C c) { return s.decide_dry_run(c, "sb1", "d1", {.commit = false}); }),
        row("notebook", {"read"}, sandbox,
            [&s](C c) {
              return s.notebook(c, "sb1", "c1", SandboxService::NotebookFormat::kIpynb);
            }),
        row("install_packages", {"run"}, sandbox,
            [&s, events](C c) { return s.install_packages(c, "sb1", {}, events); }),
        row("judge", {"run"}, tenant, [&s, events](C c) { return s.judge(c, {}, events); }),
        row("run", {"run"}, tenant, [&s, events](C c) { return s.run(c, {}, events); }),
        row("start_process", {"run"}, sandbox, [&s](C c) { return s.start_process(c, "sb1", {}); }),
        row("attach_process", {"run"}, sandbox,
            [&s](C c) { return s.attach_process(c, "sb1", 5); }),
        row("processes", {"read", "run"}, sandbox, [&s](C c) { return s.processes(c, "sb1"); }),
        row("signal_process", {"run"}, sandbox,
            [&s](C c) { return s.signal_process(c, "sb1", 5, 2); }),
        row("write_process", {"run"}, sandbox,
            [&s](C c) { return s.write_process(c, "sb1", 5, "x"); }),
        row("close_stdin", {"run"}, sandbox, [&s](C c) { return s.close_stdin(c, "sb1", 5); }),
        row("resize", {"run"}, sandbox, [&s](C c) { return s.resize(c, "sb1", 5, {}); }),
        row("files to read", {"read", "run"}, sandbox,
            [&s](C c) { return s.files(c, "sb1", FileAccess::kRead); }),
        row("files to use", {"run"}, sandbox,
            [&s](C c) { return s.files(c, "sb1", FileAccess::kUse); }),
        row("files of another user", {"run"}, sandbox,
            [&s](C c) { return s.files_of(c, "sb1", FileAccess::kUse, "root"); }),
        row("templates", {"read", "run"}, tenant, [&s](C c) { return s.templates(c); }),
        row("list approvals", {"read"}, tenant, [&s](C c) { return s.waiting(c); }),
        row("decide about an approval", {"approve"}, tenant,
            [&s](C c) { return s.decide(c, "x", {}); }),
        row("answer a review", {"run"}, tenant, [&s](C c) { return s.review(c, "x", {}); }),
        // One of something that is not there, so that the others are not stopped.
        row("emergency_stop", {"admin"}, tenant,
            [&s](C c) {
              return s.emergency_stop(c, {.kind = StopScope::Kind::kSandbox, .name = "x"});
            }),
        row("lift_emergency_stop", {"admin"}, tenant,
            [&s](C c) { return s.lift_emergency_stop(c, {}); }),
        row("emergency_stops", {"admin"}, tenant, [&s](C c) { return s.emergency_stops(c); }),
        row("audit_records", {"admin"}, tenant, [&s](C c) { return s.audit_records(c, {}); }),
        row("create a volume", {"run"}, tenant, [&s](C c) { return s.volumes().create(c, {}); }),
        row("list volumes", {"read"}, tenant, [&s](C c) { return s.volumes().list(c); }),
        row("find a volume", {"read", "run"}, volume,
            [&s](C c) { return s.volumes().find(c, "vol1"); }),
        row("remove a volume", {"run"}, tenant,
            [&s](C c) { return s.volumes().remove(c, "vol1"); }),
        row("read a volume", {"read", "run"}, volume,
            [&s](C c) { return s.volumes().files(c, "vol1", FileAccess::kRead); }),
        row("use a volume", {"run"}, volume,
            [&s](C c) { return s.volumes().files(c, "vol1", FileAccess::kUse); }),
        row("create a secret", {"run"}, tenant, [&s](C c) { return s.secrets().create(c, {}); }),
        row("list secrets", {"read"}, tenant, [&s](C c) { return s.secrets().list(c, "", 1); }),
        row("find a secret", {"read"}, tenant, [&s](C c) { return s.secrets().find(c, "x"); }),
        row("change a secret", {"run"}, tenant,
            [&s](C c) { return s.secrets().change(c, "x", "y", {}); }),
        row("remove a secret", {"run"}, tenant, [&s](C c) { return s.secrets().remove(c, "x"); }),
        row("list tenants", {"admin"}, tenant, [&s](C c) { return s.tenants().tenants(c); }),
        row("show a tenant", {"admin"}, tenant,
            [&s](C c) { return s.tenants().tenant(c, "acme"); }),
        row("create a tenant", {"admin"}, tenant,
            [&s](C c) { return s.tenants().create_tenant(c, "acme", {}); }),
        row("change a tenant", {"admin"}, tenant,
            [&s](C c) { return s.tenants().set_quotas(c, "acme", {}); }),
        row("remove a tenant", {"admin"}, tenant,
            [&s](C c) { return s.tenants().remove_tenant(c, "acme"); }),
        row("list keys", {"admin"}, tenant, [&s](C c) { return s.tenants().keys(c, ""); }),
        row("create a key", {"admin"}, tenant,
            [&s](C c) { return s.tenants().create_key(c, "acme", {"run"}, {}); }),
        row("rotate a key", {"admin"}, tenant,
            [&s](C c) { return s.tenants().rotate_key(c, "k1", {}); }),
        row("revoke a key", {"admin"}, tenant,
            [&s](C c) { return s.tenants().revoke_key(c, "k1"); }),
        row("build a template", {"run"}, tenant,
            [&s, builds](C c) { return s.template_service().build(c, {}, builds); }),
        row("import a template", {"run"}, tenant,
            [&s, builds, nothing](C c) {
              return s.template_service().import(c, "x", {}, nothing, builds);
            }),
        row("export a template", {"read"}, tenant,
            [&s, taken](C c) { return s.template_service().export_archive(c, "default", taken); }),
        row("show a template", {"read"}, tenant,
            [&s](C c) { return s.template_service().find(c, "x"); }),
        row("list templates", {"read"}, tenant, [&s](C c) { return s.template_service().list(c); }),
        row("tag a template", {"run"}, tenant,
            [&s](C c) { return s.template_service().tag(c, "x", {"v1"}); }),
        row("remove a template", {"run"}, tenant,
            [&s](C c) { return s.template_service().remove(c, "x"); }),
        row("keep files for a build", {"run"}, tenant,
            [&s, nothing](C c) { return s.template_service().keep_files(c, nothing); }),
        row("keep an upload for a build", {"run"}, tenant,
            [&s, nothing](C c) { return s.template_service().keep_upload(c, "x", nothing); }),
        row("open an upload", {"run"}, tenant,
            [&s](C c) { return s.template_service().open_upload(c, "x"); }),
        row("keep a build", {"run"}, tenant,
            [&s](C c) { return s.template_service().keep_build(c, {}); }),
        row("find a build", {"read", "run"}, tenant,
            [&s](C c) { return s.template_service().find_build(c, "x"); }),
    };
  }

  FakeService service_;
  PolicyGate policies_{service_, {}};
  GuardedService guarded_{service_, policies_};
};

bool holds(const std::vector<std::string>& scopes, const std::string& scope) {
  return std::ranges::find(scopes, scope) != scopes.end();
}

TEST_F(GuardTest, EachCallTakesItsScopesAndNoOther) {
  for (const GuardedCall& call : calls()) {
    for (const char* scope : {"read", "run", "admin", "approve"}) {
      EXPECT_EQ(call.refused(holder_of(scope)), !holds(call.scopes, scope))
          << call.name << " with " << scope;
    }
    EXPECT_TRUE(call.refused({.tenant = "t"})) << call.name << " with no scope at all";
  }
}

TEST_F(GuardTest, AKeyThatIsNoLongerValidIsRefusedByEachCall) {
  for (const GuardedCall& call : calls()) {
    service_.revoked = call.scopes.front();
    EXPECT_TRUE(call.refused(holder_of(call.scopes.front()))) << call.name;
  }
}

TEST_F(GuardTest, ATokenOpensItsOwnSandboxOrVolumeAndNothingElse) {
  for (const GuardedCall& call : calls()) {
    const bool usable = !holds(call.scopes, "admin") && !holds(call.scopes, "approve");
    EXPECT_EQ(call.refused(token_of_sandbox("sb1")), !(usable && call.place == Place::kSandbox))
        << call.name;
    EXPECT_EQ(call.refused(token_of_volume("vol1")), !(usable && call.place == Place::kVolume))
        << call.name;
    EXPECT_TRUE(call.refused(token_of_sandbox("other"))) << call.name;
    EXPECT_TRUE(call.refused(token_of_volume("other"))) << call.name;
  }
}

TEST_F(GuardTest, RecipesThatReadTheHostTakeAnAdministrator) {
  Recipe recipe;
  recipe.package_sources = {"/srv/wheels"};
  ASSERT_TRUE(takes_admin(recipe));
  const Caller runner = holder_of("run");
  const BuildSink nobody = [](const BuildEvent&) { return true; };
  const Caller both{.tenant = "t", .scopes = {"run", "admin"}};
  EXPECT_EQ(guarded_.template_service().build(runner, recipe, nobody).error().code(),
            ErrorCode::kRefused);
  EXPECT_TRUE(guarded_.template_service().build(both, recipe, nobody));
}

TEST_F(GuardTest, ReadersSeeNoTokens) {
  service_.extra = R"({"e2b":{"access_token":"secret"}})";
  EXPECT_EQ(guarded_.find(holder_of("read"), "sb1")->extra, "");
  EXPECT_EQ(guarded_.list(holder_of("read"), {})->sandboxes[0].extra, "");
  EXPECT_EQ(guarded_.find(holder_of("run"), "sb1")->extra, service_.extra);
  EXPECT_EQ(guarded_.volumes().find(holder_of("read"), "vol1")->secret, "");
  EXPECT_EQ(guarded_.volumes().list(holder_of("read"))->at(0).secret, "");
  EXPECT_EQ(guarded_.volumes().find(holder_of("run"), "vol1")->secret, "volume's secret");
}

TEST_F(GuardTest, FilesForReadingRefuseEverythingElse) {
  auto files = guarded_.files(holder_of("read"), "sb1", FileAccess::kRead);
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->list("."));
  EXPECT_EQ(files->make_directory("d").error().code(), ErrorCode::kRefused);
  EXPECT_EQ(files->remove("d").error().code(), ErrorCode::kRefused);
  EXPECT_EQ(files->move("a", "b").error().code(), ErrorCode::kRefused);
  EXPECT_EQ(files->connect(80).error().code(), ErrorCode::kRefused);
  const FileClient::Source nothing = [](std::span<char>) { return Result<std::size_t>(0); };
  EXPECT_EQ(files->write("f", {}, nothing).error().code(), ErrorCode::kRefused);
  EXPECT_EQ(files->unpack("d", nothing).error().code(), ErrorCode::kRefused);
  EXPECT_TRUE(files->list(".")) << "a refusal ends nothing";
}

}  // namespace
}  // namespace glovebox::rest
