// SPDX-License-Identifier: Apache-2.0
#include "service/judge/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/sys/memory_file.h"
#include "service/judge/only_file.h"
#include "service/policies/policy_walls.h"
#include "service/run_pool/sandbox_claim.h"

namespace glovebox::judge {
namespace {

// What a compiler may leave for the runs.
constexpr Bytes kMaxProducts = 256_MiB;
// Of one file that is written at once: well below what a frame holds (base/frame.h).
constexpr Bytes kMaxProduct = 512_KiB;

std::string path_of(const UniqueFd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

}  // namespace

Result<std::unique_ptr<Program>> Program::compile(Submission submission, int cancel_fd) {
  GB_TRY(validate(submission.limits));
  GB_TRY(validate(submission.compile_limits, "compile-"));
  std::unique_ptr<Program> program(new Program(std::move(submission)));
  const Submission& own = program->submission_;
  const Plan plan =
      make_plan(own.language, {own.code, own.name}, own.arguments, own.limits, own.compile_limits);
  program->submission_.rules = GB_TRY(rules_for(own.language, plan.file_name, own.rules));
  if (plan.compile) {
    const auto sandbox =
        GB_TRY(program->furnished(program->sandbox_spec(own.compile_limits), plan));
    GB_TRY(sandbox->set_limits(own.compile_limits));
    GB_TRY(program->compile_in(*sandbox, plan, cancel_fd));
    GB_TRY(sandbox->end());
  }
  return program;
}

Result<void> Program::compile_in(Sandbox& sandbox, const Plan& plan, int cancel_fd) {
  GB_TRY(sandbox.mark());
  RunOutcome outcome = GB_TRY(
      sandbox.run(*plan.compile, {.limits = submission_.compile_limits, .cancel_fd = cancel_fd}));
  compile_time_ = outcome.usage.wall;
  if (outcome.status != Status::kOk) {
    rejection_ = Rejection{std::move(outcome)};
    return {};
  }
  products_ = GB_TRY(sys::memory_file());
  GB_TRY(sandbox.pack_changes(kMaxProducts, [this](std::string_view bytes) {
    return sys::write_all(products_.get(), bytes) ? Result<void>()
                                                  : Error::from_errno("write to a file in memory");
  }));
  find_product(plan);
  return {};
}

// What can't be read this way is left to the archiver.
void Program::find_product(const Plan& plan) {
  const off_t size = ::lseek(products_.get(), 0, SEEK_END);
  if (size <= 0 || static_cast<std::uint64_t>(size) > kMaxProduct.count) {
    return;
  }
  std::string archive(static_cast<std::size_t>(size), '\0');
  if (::pread(products_.get(), archive.data(), archive.size(), 0) != size) {
    return;
  }
  const auto found = only_file(archive);
  if (found && found->name != plan.file_name) {
    product_ =
        Product{.name = found->name, .mode = found->mode, .bytes = std::string(found->bytes)};
  }
}

Result<void> Program::put_products(Sandbox& sandbox) const {
  if (product_) {
    return sandbox.write_file(product_->name, product_->bytes, product_->mode);
  }
  if (!products_) {
    return {};
  }
  // An open file description of its own, with its own offset.
  const UniqueFd products(::open(path_of(products_).c_str(), O_RDONLY | O_CLOEXEC));
  return products ? sandbox.unpack("", products.get())
                  : Error::from_errno("open what the compiler made");
}

SandboxSpec Program::sandbox_spec(const Limits& limits) const {
  return {.limits = limits,
          .env = submission_.env,
          .mounts = submission_.language.mounts,
          .rules = submission_.rules};
}

// A sandbox with the submission and its files.
Result<std::unique_ptr<Sandbox>> Program::furnished(const SandboxSpec& spec,
                                                    const Plan& plan) const {
  std::unique_ptr<Sandbox> sandbox;
  if (submission_.from_pool) {
    if (auto claimed = claim_from_pool(spec, submission_.tier); claimed) {
      sandbox = std::move(claimed).value();
    }
  }
  if (!sandbox) {
    sandbox = GB_TRY(Sandbox::create(spec, submission_.tier));
  }
  GB_TRY(copy_in(*sandbox, submission_.files));
  GB_TRY(sandbox->write_file(plan.file_name, submission_.code, plan.file_mode));
  return sandbox;
}

Result<RunOutcome> Program::run(const Start& start) const {
  RunOptions options = start.options;
  options.strict = submission_.strict;
  std::vector<std::string> arguments = submission_.arguments;
  arguments.insert(arguments.end(), start.arguments.begin(), start.arguments.end());
  const Plan plan = make_plan(submission_.language, {submission_.code, submission_.name}, arguments,
                              options.limits, submission_.compile_limits);
  const auto sandbox = GB_TRY(furnished(sandbox_spec(options.limits), plan));
  GB_TRY(put_products(*sandbox));
  std::vector<UniqueFd> held;
  std::vector<FileToCopy> contents;
  for (const auto& [name, bytes] : start.contents) {
    held.push_back(GB_TRY(sys::memory_file(bytes)));
    contents.push_back({.source = path_of(held.back()), .target = name});
  }
  GB_TRY(copy_in(*sandbox, contents));
  RunOutcome outcome = GB_TRY(sandbox->run(plan.run, options));
  GB_TRY(sandbox->end());
  return outcome;
}

}  // namespace glovebox::judge
