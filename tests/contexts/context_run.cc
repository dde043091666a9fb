// SPDX-License-Identifier: Apache-2.0
// context-run: `glovebox run`, but that the code is executed in a Python context forked from a
// zygote. With it the attacks on one-shot runs are tried again from inside a context. What is no
// Python is started by the context as its child.
//
//   context-run [--root DIR] [--mount DIR:PLACE] [--preload MODULE] run …
//
// The options are what a tenant brings into its realm: then the attack comes from the zygote.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "base/unique_fd.h"
#include "cli/run_options.h"
#include "context/agent_files.h"
#include "context/context.h"
#include "context/zygote.h"
#include "language/language.h"
#include "sandbox/foreign_root.h"
#include "service/network/egress.h"
#include "service/runs/one_shot.h"
#include "service/runs/transfer.h"
#include "spec/json/error_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox {
namespace {

// A cell that runs a program and ends as it did.
std::string cell_for(const Command& command) {
  const std::string argv = nlohmann::json(command.argv).dump(-1, ' ', true);
  return "import os, signal, subprocess\n"
         "status = subprocess.run(" +
         argv +
         ").returncode\n"
         "if status < 0:\n"
         "    if -status in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these.\n"
         "        signal.signal(-status, signal.SIG_DFL)\n"
         "    os.kill(os.getpid(), -status)\n"
         "assert status == 0, status\n";
}

// What a tenant brings.
struct Brought {
  std::string root{};   // Absolute; empty: the host's.
  std::string mount{};  // "SOURCE:TARGET", or empty.
  std::string module{};
};

class ContextRun {
 public:
  ContextRun(const OneShot& request, const Brought& brought)
      : request_(request), brought_(brought) {}

  Result<Verdict> run() {
    std::vector<Mount> mounts = request_.language.mounts;
    if (const std::size_t colon = brought_.mount.find(':'); colon != std::string::npos) {
      mounts.push_back(
          {.source = brought_.mount.substr(0, colon), .target = brought_.mount.substr(colon + 1)});
    }
    if (!brought_.root.empty()) {
      const UniqueFd root(::open(brought_.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      GB_TRY(prepare_foreign_root(root.get()));
    }
    if (brought_.module.empty()) {
      // Nothing preloaded: an attack gains nothing by modules that it could import itself.
      zygote_ = GB_TRY(Zygote::start({.modules = {}, .env = {}}));
    } else {
      zygote_ = GB_TRY(Zygote::start({.modules = {brought_.module},
                                      .env = request_.env,
                                      .mounts = mounts,
                                      .root = brought_.root}));
    }
    SandboxSpec spec{.limits = request_.limits,
                     .env = request_.env,
                     .mounts = mounts,
                     .live = true};
    spec.root = brought_.root;
    spec.mounts.push_back(GB_TRY(agents_mount()));
    spec.within = &zygote_->realm();
    if (request_.network) {
      Egress::prepare(spec);
    }
    sandbox_ = GB_TRY(Sandbox::create(spec, {.exactly = "native"}));
    if (request_.network) {
      egress_ = GB_TRY(Egress::start(*sandbox_, *request_.network, {}, {}));
    }
    GB_TRY(copy_in(*sandbox_, request_.files));
    context_ = GB_TRY(Context::fork(*sandbox_, *zygote_, {}));
    Verdict verdict = GB_TRY(execute());
    GB_TRY(verify());
    if (!request_.out_directory.empty() && sandbox_->alive()) {
      // That a hostile name could not be copied is no failure of the run.
      (void)copy_out(*sandbox_, request_.out_directory, request_.limits.disk);
    }
    context_.reset();
    GB_TRY(sandbox_->end());
    if (egress_) {
      egress_->end();
      verdict.connections = egress_->record().connections;
    }
    return verdict;
  }

 private:
  Result<Verdict> execute() {
    if (request_.language.id == "python") {
      GB_TRY(sandbox_->mark());
      return cell(request_.code, request_.limits);
    }
    const Plan plan = make_plan(request_.language, {request_.code, request_.name}, {},
                                request_.limits, request_.compile_limits);
    GB_TRY(sandbox_->write_file(plan.file_name, request_.code, plan.file_mode));
    GB_TRY(sandbox_->mark());
    if (plan.compile) {
      Verdict compiled = GB_TRY(cell(cell_for(*plan.compile), request_.compile_limits));
      if (compiled.status != Status::kOk) {
        compiled.status = Status::kCompileError;
        return compiled;
      }
    }
    return cell(cell_for(plan.run), request_.limits);
  }

  Result<Verdict> cell(std::string_view code, const Limits& limits) {
    Execution execution = GB_TRY(
        context_->execute({.code = code, .limits = limits, .cancel_fd = request_.cancel_fd}));
    return make_verdict(*context_, std::move(execution), limits);
  }

  Result<void> verify() {
    if (!request_.verify.empty() && sandbox_->alive()) {
      const RunOptions options{.limits = request_.limits};
      const Command command{.argv = {"/bin/sh", "-c", request_.verify}, .env = {}, .cwd = {}};
      (void)GB_TRY(sandbox_->run(command, options));
    }
    return {};
  }

  const OneShot& request_;
  const Brought& brought_;
  std::unique_ptr<Zygote> zygote_;
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<Egress> egress_;
  std::unique_ptr<Context> context_;
};

int answer(const Error& error) {
  std::cout << to_json(error) << "\n";
  return 125;
}

int run(const cli::RunOptionsText& options, const Brought& brought) {
  const auto plan = cli::make_run_plan(options);
  if (!plan) {
    return answer(plan.error());
  }
  const auto verdict = ContextRun(plan->request, brought).run();
  if (!verdict) {
    return answer(verdict.error());
  }
  std::cout << to_json(*verdict) << "\n";
  return verdict->exit_code;
}

}  // namespace
}  // namespace glovebox

int main(int argc, char** argv) {
  CLI::App app("Runs a program in a live context, as `glovebox run` does in a process of its own");
  glovebox::Brought brought;
  app.add_option("--root", brought.root, "root directory of the zygote and of its sandboxes");
  app.add_option("--mount", brought.mount, "SOURCE:TARGET, shown to both");
  app.add_option("--preload", brought.module, "module that the zygote imports");
  glovebox::cli::RunOptionsText options;
  glovebox::cli::add_options(*app.add_subcommand("run"), options);
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  return glovebox::run(options, brought);
}
