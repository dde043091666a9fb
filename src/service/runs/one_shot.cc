// SPDX-License-Identifier: Apache-2.0
#include "service/runs/one_shot.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "base/digest/digest.h"
#include "base/frame.h"
#include "base/sys/memory_file.h"
#include "base/text.h"
#include "files/open.h"
#include "sandbox/cgroup_host.h"
#include "service/network/egress.h"
#include "service/policies/policy_walls.h"
#include "service/run_pool/sandbox_claim.h"
#include "service/runs/run_checks.h"
#include "spec/warden_protocol.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// A compiler needs more than most programs, and its time is not the guest's.
constexpr int kCompilePatience = 3;
constexpr Limits kCompileLimits{.wall = 60s, .memory = 1_GiB, .cpus = 2.0};
// A compiler's product that goes from one sandbox to another, through our memory.
constexpr Bytes kMostProduct = 64_MiB;
// Of a program that is sent without waiting for an answer.
constexpr Bytes kMostAlong = 512_KiB;

std::string more_processors_than_there_are(double wanted) {
  const auto processors = static_cast<long long>(cgroup_host().processors);
  std::array<char, 32> number{};
  (void)std::snprintf(number.data(), number.size(), "%g", wanted);
  return "cpus " + std::string(number.data()) + " is more than this machine has: the limit is " +
         std::to_string(processors) + (processors == 1 ? " processor" : " processors");
}

Verdict make_verdict(const Sandbox& sandbox, std::string_view language, const Limits& limits) {
  Verdict verdict;
  verdict.id = sandbox.id();
  verdict.language = language;
  verdict.tier = sandbox.tier();
  verdict.walls = sandbox.walls();
  verdict.limits = sandbox.limit_reports(limits);
  verdict.timings = sandbox.timings();
  verdict.notes = sandbox.notes();
  if (limits.cpus > cgroup_host().processors) {
    verdict.notes.push_back(more_processors_than_there_are(limits.cpus));
  }
  return verdict;
}

// More than the warden takes is refused here, where it can be said plainly.
Result<void> check_counts(const Command& command, const Environment& env) {
  // Room for the variables that every guest has.
  constexpr std::size_t kMaxVariables = warden::kMaxArguments - 256;
  if (command.argv.size() > warden::kMaxArguments) {
    return Error(ErrorCode::kInvalid,
                 "more than " + std::to_string(warden::kMaxArguments) + " arguments",
                 "pass them in a file with --file, or on standard input");
  }
  if (env.size() + command.env.size() > kMaxVariables) {
    return Error(ErrorCode::kInvalid,
                 "more than " + std::to_string(kMaxVariables) + " environment variables",
                 "pass them in a file with --file");
  }
  return {};
}

// A request names nothing that a sandbox is made of. What is missing is missing in the
// installation, and no other request would find it.
Result<std::unique_ptr<Sandbox>> create_sandbox(const SandboxSpec& spec,
                                                const TierWish& tier,
                                                bool from_pool) {
  if (from_pool) {
    if (auto claimed = claim_from_pool(spec, tier); claimed) {
      return claimed;
    }
  }
  auto sandbox = Sandbox::create(spec, tier);
  if (!sandbox && sandbox.error().code() == ErrorCode::kNotFound) {
    return Error(ErrorCode::kUnsupported, sandbox.error().message(), sandbox.error().hint());
  }
  return sandbox;
}

// Of a tier that runs no programs of the machine.
Result<void> refuse_programs(const std::string& tier, const OneShot& request, const Plan& plan) {
  const auto refuse = [&](std::string_view what, std::string_view instead) {
    return Error(ErrorCode::kUnsupported, "the " + tier + " tier " + std::string(what),
                 "use the native tier" + std::string(instead));
  };
  if (plan.compile && request.language.tier != tier) {
    return refuse("has no compiler for " + request.language.title,
                  ", or compile the program to a WebAssembly module first");
  }
  if (!request.in_place.empty()) {
    return refuse("runs no programs of this machine", "");
  }
  if (!request.verify.empty()) {
    return refuse("has no shell to verify with", ", or leave out --verify");
  }
  if (!request.checks.commands.empty()) {
    return refuse("has no shell for the commands that check a run", "");
  }
  if (!request.packages.requests.empty()) {
    return refuse("has no packages", ", or leave out --packages");
  }
  if (request.strict) {
    return refuse("has a system call policy of its own", ", or leave out --seccomp");
  }
  return {};
}

// Where the compiler runs whose product is for another tier.
OneShot compilation_of(const OneShot& request) {
  OneShot compilation = request;
  compilation.language.tier.clear();
  compilation.tier = {.exactly = {}, .at_least = request.tier.at_least};
  compilation.deterministic = false;
  compilation.compile_only = true;
  compilation.checks = {};
  compilation.stdin_fd = -1;
  return compilation;
}

class OneShotRun {
  using Clock = std::chrono::steady_clock;

 public:
  OneShotRun(const OneShot& request, const OneShotObserver& observer)
      : request_(request), observer_(observer) {}

  Result<OneShotResult> execute() {
    GB_TRY(validate(request_.limits));
    GB_TRY(validate(request_.compile_limits, "compile-"));
    const Plan plan = make_plan(request_.language, source(), request_.arguments, request_.limits,
                                request_.compile_limits);
    GB_TRY(check_counts(plan.run, request_.env));
    if (request_.compile_only && !plan.compile) {
      return Error(ErrorCode::kInvalid,
                   "'" + request_.language.id + "' has no compiler that runs beforehand",
                   "run the program without --compile-only");
    }
    const TierWish tier =
        GB_TRY(tier_for(request_.language, request_.tier, request_.deterministic));
    if (!traits_of(tier.exactly).runs_elf) {
      GB_TRY(refuse_programs(tier.exactly, request_, plan));
      if (plan.compile) {
        return compile_and_run(plan);
      }
    }
    // The file system is made once, for the larger of both; what the cgroup limits can change.
    SandboxSpec spec{.limits = request_.limits,
                     .env = request_.env,
                     .mounts = request_.language.mounts,
                     .as_root = request_.as_root,
                     .nested = request_.nested,
                     .deterministic = request_.deterministic};
    spec.rules = GB_TRY(rules_for(request_.language, plan.file_name, request_.rules));
    if (!request_.verify.empty() || !request_.checks.commands.empty()) {
      spec.rules.exec.permit("sh");
    }
    if (plan.compile) {
      spec.limits.disk = std::max(spec.limits.disk, request_.compile_limits.disk);
      spec.limits.inodes = std::max(spec.limits.inodes, request_.compile_limits.inodes);
    }
    const Clock::time_point before = Clock::now();
    // Before the sandbox, whose mount must not be removed as long as it lives.
    const Packages packages = GB_TRY(install_packages_for(
        request_.packages, [this] { phase("packages"); }, request_.cancel_fd));
    const auto installed =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - before);
    packages.add_to(spec);
    GB_TRY(show_image(spec));
    // A layer of packages is kept for who uses it now; a pool would hold on to it.
    const bool from_pool =
        request_.from_pool && request_.packages.requests.empty() && !request_.image;
    EdgeCredentials credentials;
    if (request_.network) {
      credentials =
          GB_TRY(EdgeCredentials::make(*request_.network, request_.secrets, request_.tape));
      Egress::prepare(spec, credentials);
    }
    std::unique_ptr<ReadySandbox> ready = claim_ready(plan, spec, tier);
    const bool was_ready = ready != nullptr;
    if (!was_ready) {
      ready = std::make_unique<ReadySandbox>(GB_TRY(create_sandbox(spec, tier, from_pool)));
    }
    ready_ = ready.get();
    sandbox_ = &**ready;
    result_.verdict = make_verdict(*sandbox_, request_.language.id, request_.limits);
    if (was_ready) {
      result_.verdict.timings = {{"claim", claimed_}};
    }
    std::unique_ptr<Egress> egress;
    if (request_.network) {
      egress = GB_TRY(Egress::start(*sandbox_, *request_.network, credentials, observer_.connection,
                                    request_.public_only, request_.tape));
      if (request_.tape.recording) {
        result_.verdict.notes.emplace_back("the network was answered from a recording");
      } else if (request_.tape.room > 0) {
        result_.verdict.notes.emplace_back("the network was recorded, and TLS was read for that");
      }
    }
    if (!request_.packages.requests.empty()) {
      result_.verdict.timings.push_back({"packages", installed});
      if (!sandbox_->features().own_root) {
        outside_env_ = packages.outside(request_.env);
      }
    }
    GB_TRY(prepare(plan));
    if (!request_.out_directory.empty()) {
      (void)GB_TRY(open_out_directory(request_.out_directory));
    }
    if (!plan.compile || GB_TRY(compile(*plan.compile))) {
      Command command = plan.run;
      if (was_ready) {
        // Its sandbox knew nothing of this request's.
        command.env.insert(command.env.begin(), spec.env.begin(), spec.env.end());
      }
      GB_TRY(run(std::move(command), plan));
      GB_TRY(verify());
      GB_TRY(check_with_commands());
    }
    GB_TRY(collect());
    GB_TRY(check_result());
    if (was_ready) {
      request_.ahead->sandboxes->discard(std::move(ready));
      return std::move(result_);
    }
    GB_TRY(sandbox_->end());
    if (egress) {
      egress->end();
      Egress::Record record = egress->record();
      result_.verdict.connections = std::move(record.connections);
      result_.verdict.more_connections = record.more;
      result_.recording = std::move(record.recording);
    }
    return std::move(result_);
  }

 private:
  // Compiled in one sandbox, run in another.
  Result<OneShotResult> compile_and_run(const Plan& plan) const {
    const OneShot compilation = compilation_of(request_);
    if (request_.compile_only) {
      return run_once(compilation, observer_);
    }
    // What the language runs is what its compiler makes.
    OneShotRun compiler(compilation, observer_);
    compiler.product_name_ = plan.run.argv.front().substr(plan.run.cwd.size() + 1);
    OneShotResult compiled = GB_TRY(compiler.execute());
    if (compiled.verdict.status != Status::kOk) {
      return compiled;
    }
    OneShot program = request_;
    program.code = std::move(compiler.product_);
    program.name.clear();
    program.language.naming = SourceNaming::kFixed;
    program.language.file_name = compiler.product_name_;
    program.language.compile.clear();
    OneShotResult result = GB_TRY(run_once(program, observer_));
    std::vector<Timing>& timings = compiled.verdict.timings;
    std::erase_if(timings, [](const Timing& each) { return each.step != "compile"; });
    result.verdict.timings.insert(result.verdict.timings.begin(), timings.begin(), timings.end());
    result.verdict.notes.push_back("compiled in another sandbox, of the tier " +
                                   compiled.verdict.tier);
    return result;
  }

  [[nodiscard]] SourceText source() const {
    SourceText text{.code = request_.code, .name = request_.name};
    if (request_.image) {
      text.home = request_.image->home;
    }
    return text;
  }

  Result<void> show_image(SandboxSpec& spec) const {
    if (!request_.image) {
      return {};
    }
    const OneShot::Image& image = *request_.image;
    spec.root = image.root;
    spec.home = image.home;
    spec.user = image.name;
    if (!image.root.empty()) {
      spec.mounts.clear();  // They are of this machine.
    }
    spec.mounts.insert(spec.mounts.end(), image.mounts.begin(), image.mounts.end());
    if (!image.user.empty()) {
      spec.mounts.push_back(GB_TRY(file_server_mount()));
    }
    Environment env = image.env;
    if (!request_.as_root) {
      env.insert(env.begin(), {{"HOME", image.home}, {"USER", spec.user}, {"LOGNAME", spec.user}});
    }
    env.insert(env.end(), spec.env.begin(), spec.env.end());
    spec.env = std::move(env);
    return {};
  }

  [[nodiscard]] bool begins_empty() const {
    return request_.files.empty() && request_.contents.empty() && !request_.in_place.empty() &&
           (!request_.image || request_.image->workspace.empty());
  }

  // It can change and delete files there without making any.
  [[nodiscard]] bool writes_root() const { return sandbox_->walls().user == "root"; }

  void phase(std::string_view name) const {
    if (observer_.phase) {
      observer_.phase(name);
    }
  }

  [[nodiscard]] std::function<void()> started(std::string_view phase) const {
    if (!observer_.started) {
      return {};
    }
    return [this, phase] { observer_.started(sandbox_->id(), phase); };
  }

  // What a sandbox shows where no template and no image says otherwise; its home may be another.
  [[nodiscard]] bool shows_usual_view() const {
    return !request_.image || (request_.image->root.empty() && request_.image->mounts.empty() &&
                               request_.image->workspace.empty() && request_.image->user.empty());
  }

  // A sandbox that was made ahead of runs like this one, or none. Whatever makes it different
  // before its program is told what to do is a reason for a sandbox of its own.
  std::unique_ptr<ReadySandbox> claim_ready(const Plan& plan,
                                            const SandboxSpec& spec,
                                            const TierWish& tier) {
    const bool plain = request_.ahead && !traits_of(tier.exactly).runs_elf && shows_usual_view() &&
                       !request_.network && !request_.as_root && !request_.nested &&
                       !request_.deterministic && request_.rules.empty();
    if (!plain) {
      return nullptr;
    }
    const ReadyKind kind{.tier = tier,
                         .limits = request_.limits,
                         .home = spec.home,
                         .user = spec.user,
                         .directory = plan.run.cwd};
    const auto before = Clock::now();
    auto ready = request_.ahead->sandboxes->claim(kind);
    // A path names a module, which is the code itself.
    if (ready && plan.run.argv.front().contains('/')) {
      compiled_ = request_.ahead->modules->find(
          {.tenant = request_.ahead->tenant, .sha256 = sha256_hex(request_.code)}, kind,
          request_.code);
    }
    claimed_ = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - before);
    return ready;
  }

  // The program goes to a runner that waits together with what it is told.
  [[nodiscard]] bool goes_along() const {
    return ready_->waits() && request_.code.size() < kMostAlong.count;
  }

  Result<void> prepare(const Plan& plan) {
    if (request_.image && !request_.image->workspace.empty()) {
      const std::string& path = request_.image->workspace;
      const UniqueFd archive(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!archive) {
        return Error::from_errno("open the image's files");
      }
      GB_TRY(sandbox_->unpack("", archive.get()));
    }
    if (!request_.files.empty()) {
      phase("files");
      GB_TRY(copy_in(*sandbox_, request_.files));
    }
    for (const auto& [name, bytes] : request_.contents) {
      GB_TRY(sandbox_->write_file(name, bytes, 0644));
    }
    if (goes_along()) {
      return {};
    }
    if (request_.in_place.empty()) {
      GB_TRY(write_program(*sandbox_, request_.code, plan.file_name, plan.file_mode));
    }
    GB_TRY(give_workspace());
    // Only what the guest makes is reported; an empty workspace needs no remembering.
    return begins_empty() && !writes_root() ? Result<void>() : sandbox_->mark();
  }

  // The image's user has a workspace to write to, and a home.
  Result<void> give_workspace() {
    if (!request_.image || request_.image->user.empty()) {
      return {};
    }
    RunOptions options{.limits = request_.limits, .cancel_fd = request_.cancel_fd};
    (void)GB_TRY(sandbox_->run(
        {.argv = give_to(request_.image->user, request_.image->home), .env = {}, .cwd = {}},
        options));
    return {};  // Where there is no such user, the program says so.
  }

  // True when the run may follow.
  Result<bool> compile(const Command& command) {
    phase("compile");
    GB_TRY(sandbox_->set_limits(request_.compile_limits));
    RunOptions options{.limits = request_.compile_limits, .cancel_fd = request_.cancel_fd};
    options.observer.started = started("compile");
    RunOutcome outcome = GB_TRY(sandbox_->run(command, options));
    result_.verdict.timings.push_back({"compile", outcome.usage.wall});
    if (outcome.status == Status::kOk && !request_.compile_only) {
      // What the compiler left beside the program is not the guest's doing.
      GB_TRY(sandbox_->mark());
      GB_TRY(sandbox_->set_limits(request_.limits));
      return true;
    }
    const Status status = outcome.status;
    result_.verdict.limits = sandbox_->limit_reports(request_.compile_limits);
    conclude(result_.verdict, std::move(outcome));
    if (status != Status::kCanceled && status != Status::kOk) {
      if (status != Status::kError && status != Status::kSignaled) {
        result_.verdict.notes.push_back("the compiler ended with " +
                                        std::string(to_string(status)));
      }
      result_.verdict.status = Status::kCompileError;
    }
    return false;
  }

  Result<void> run(Command command, const Plan& plan) {
    phase("run");
    if (!request_.in_place.empty()) {
      command.argv.front() = request_.in_place;
      command.cwd = request_.image ? request_.image->directory : command.cwd;
    }
    if (request_.image && !request_.image->user.empty()) {
      command.argv = as_user(request_.image->user, command.argv);
    }
    command.env.insert(command.env.end(), outside_env_.begin(), outside_env_.end());
    RunOptions options{.limits = request_.limits,
                       .stdin_fd = request_.stdin_fd,
                       .cancel_fd = request_.cancel_fd,
                       .cancel_signal = request_.cancel_signal,
                       .strict = request_.strict};
    options.observer.out = observer_.out;
    options.observer.err = observer_.err;
    options.observer.started = started("run");
    RunOutcome outcome = GB_TRY(ready_->waits() ? run_waiting(command, plan, options)
                                                : sandbox_->run(command, options));
    result_.verdict.timings.push_back({"first_event", outcome.first_event});
    result_.verdict.timings.push_back({"run", outcome.usage.wall});
    if (request_.strict) {
      result_.verdict.walls.seccomp = "strict";
    }
    conclude(result_.verdict, std::move(outcome));
    return {};
  }

  Result<RunOutcome> run_waiting(const Command& command,
                                 const Plan& plan,
                                 const RunOptions& options) {
    warden::WriteRequest program;
    if (goes_along()) {
      program = {.path = plan.file_name, .mode = plan.file_mode, .bytes = request_.code};
    }
    return ready_->run(command, program, compiled_ ? *compiled_ : std::string_view(), options);
  }

  Result<void> verify() {
    if (result_.verdict.status == Status::kCanceled) {
      return {};
    }
    if (request_.verify.empty() || !sandbox_->alive()) {
      if (!request_.verify.empty()) {
        result_.verdict.notes.emplace_back("not verified: the sandbox ended with its guest");
      }
      return {};
    }
    phase("verify");
    result_.verdict.verification = std::make_shared<Verdict>(GB_TRY(shell(request_.verify)));
    return {};
  }

  // In the same sandbox, as the guest.
  Result<Verdict> shell(const std::string& text) {
    const RunOptions options{.limits = request_.limits,
                             .cancel_fd = request_.cancel_fd,
                             .strict = request_.strict};
    const Command command{.argv = {"/bin/sh", "-c", text}, .env = outside_env_, .cwd = {}};
    Verdict verdict = make_verdict(*sandbox_, "sh", request_.limits);
    conclude(verdict, GB_TRY(sandbox_->run(command, options)));
    verdict.timings.clear();
    return verdict;
  }

  // What did not end with `ok` is not checked; but where it did, nothing that cannot be checked has
  // passed.
  Result<void> check_with_commands() {
    if (result_.verdict.status != Status::kOk) {
      return {};
    }
    for (const std::string& command : request_.checks.commands) {
      if (sandbox_->alive()) {
        phase("verify");
        reports_.push_back(command_report(command, GB_TRY(shell(command))));
      } else {
        reports_.push_back({.check = "command",
                            .what = command,
                            .reason = "the sandbox ended before it could be run"});
      }
    }
    return {};
  }

  Result<void> check_result() {
    const Verdict& verdict = result_.verdict;
    if (verdict.status != Status::kOk || request_.compile_only || !product_name_.empty()) {
      return {};
    }
    for (const std::string& file : request_.checks.files) {
      reports_.push_back(file_report(file, verdict));
    }
    for (const std::string& schema : request_.checks.schemas) {
      reports_.push_back(GB_TRY(output_report(schema, verdict)));
    }
    add_checks(result_.verdict, std::move(reports_));
    return {};
  }

  Result<void> take_product() {
    auto product = read_made(*sandbox_, product_name_, kMostProduct);
    if (product) {
      product_ = std::move(product).value();
    } else {
      result_.verdict.status = Status::kCompileError;
      result_.verdict.notes.push_back(printable(product.error().message()));
    }
    return {};
  }

  Result<void> collect() {
    if (!product_name_.empty()) {
      return result_.verdict.status == Status::kOk ? take_product() : Result<void>();
    }
    if (!sandbox_->alive()) {
      if (!request_.out_directory.empty()) {
        keep_not_copied(Error(ErrorCode::kUnavailable,
                              "no files were copied out: the sandbox ended with its guest",
                              "raise the limit that ended it"));
      }
      return {};
    }
    // Where it is known that the guest made nothing, nobody needs to look.
    const bool untouched = sandbox_->features().limits_inodes &&
                           result_.verdict.usage.inodes == 0 && begins_empty() && !writes_root();
    if (!untouched) {
      std::optional<Sandbox::Changes> known = ready_->take_changes();
      Sandbox::Changes changes = known ? *std::move(known) : GB_TRY(sandbox_->changed_files());
      result_.verdict.files = std::move(changes.files);
      result_.verdict.files_truncated = changes.truncated;
    }
    if (!request_.out_directory.empty()) {
      phase("out");
      const Bytes max{request_.limits.disk.count + request_.compile_limits.disk.count};
      auto copied = copy_out(*sandbox_, request_.out_directory, max);
      if (copied) {
        result_.copied_out = std::move(copied).value();
        miss_none();
      } else {
        // Names that a guest chose can make this fail; its verdict stands all the same.
        keep_not_copied(std::move(copied).error().within("not all files were copied out"));
      }
    }
    return {};
  }

  // The size of a sparse file, of which no disk limit knows, may be more than is ever copied out.
  void miss_none() {
    const std::set<std::string_view> copied(result_.copied_out.begin(), result_.copied_out.end());
    for (const FileChange& file : result_.verdict.files) {
      const bool of_workspace = !file.path.starts_with('/');
      if (of_workspace && file.kind != FileChange::Kind::kDeleted && !copied.contains(file.path)) {
        keep_not_copied(Error(ErrorCode::kExhausted,
                              "not all files were copied out: '" + printable(file.path) + "' (" +
                                  to_string(Bytes{file.size}) + ") is missing",
                              "raise --disk, or make the program write smaller files"));
        return;
      }
    }
  }

  void keep_not_copied(Error error) {
    result_.verdict.notes.push_back(printable(error.message()));
    result_.not_copied = std::move(error);
  }

  const OneShot& request_;
  const OneShotObserver& observer_;
  std::shared_ptr<const std::string> compiled_;  // The module, for a runner that waits.
  std::chrono::microseconds claimed_{0};
  ReadySandbox* ready_ = nullptr;  // That it runs in,
  Sandbox* sandbox_ = nullptr;     // and the same without its runner.
  Environment outside_env_;        // What a sandbox without a root of its own gets on top.
  // Of a compilation for another sandbox: the only file that is wanted, and what is in it.
  std::string product_name_;
  std::string product_;
  std::vector<CheckReport> reports_;
  OneShotResult result_;
};

}  // namespace

Result<TierWish> tier_for(const Language& language, const TierWish& wish, bool deterministic) {
  const bool open = wish.exactly.empty() || wish.exactly == "auto";
  TierWish tier = wish;
  if (const std::string& only = language.tier; !only.empty()) {
    if (!open && wish.exactly != only) {
      return Error(ErrorCode::kUnsupported,
                   language.title + ": only the " + only + " tier can run it",
                   "use --tier " + only);
    }
    tier.exactly = only;
  } else if (open && deterministic) {
    tier.exactly = tier_that(&TierTraits::is_deterministic).exactly;
  }
  return tier;
}

Limits run_limits(const Language& language, const LimitWishes& wishes) {
  return wishes.over(language.run_limits.over(Limits{}));
}

Limits compile_limits(const Language& language, const LimitWishes& wishes) {
  Limits limits = language.compile_limits.over(kCompileLimits);
  if (!language.compile_limits.cpu_time) {
    // What a compiler may use in its time. On a machine under load it gets less of it, and right
    // code must not become a compile error; so the clock only ends one that waits.
    limits.cpu_time = std::chrono::duration_cast<std::chrono::milliseconds>(
        limits.wall * std::max(1.0, limits.cpus));
    limits.wall *= kCompilePatience;
  }
  return wishes.over(limits);
}

Result<OneShotResult> run_once(const OneShot& request, const OneShotObserver& observer) {
  return OneShotRun(request, observer).execute();
}

}  // namespace glovebox
