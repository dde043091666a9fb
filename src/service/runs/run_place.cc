// SPDX-License-Identifier: Apache-2.0
#include "service/runs/run_place.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/digest/digest.h"
#include "files/open.h"
#include "sandbox/cgroup_host.h"
#include "service/run_pool/sandbox_claim.h"
#include "service/runs/compiled_modules.h"

namespace glovebox {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::microseconds since(Clock::time_point before) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - before);
}

std::string more_processors_than_there_are(double wanted) {
  const auto processors = static_cast<long long>(cgroup_host().processors);
  std::array<char, 32> number{};
  (void)std::snprintf(number.data(), number.size(), "%g", wanted);
  return "cpus " + std::string(number.data()) + " is more than this machine has: the limit is " +
         std::to_string(processors) + (processors == 1 ? " processor" : " processors");
}

Result<void> show_image(const OneShot& request, SandboxSpec& spec) {
  if (!request.image) {
    return {};
  }
  const OneShot::Image& image = *request.image;
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
  if (!request.as_root) {
    env.insert(env.begin(), {{"HOME", image.home}, {"USER", spec.user}, {"LOGNAME", spec.user}});
  }
  env.insert(env.end(), spec.env.begin(), spec.env.end());
  spec.env = std::move(env);
  return {};
}

// What a sandbox shows if no template and no image says otherwise; its home may be another.
bool shows_usual_view(const OneShot& request) {
  return !request.image || (request.image->root.empty() && request.image->mounts.empty() &&
                            request.image->workspace.empty() && request.image->user.empty());
}

// Whether sandboxes are made ahead of runs like this one. A run that differs before its program is
// told what to do needs a sandbox of its own.
bool is_usual(const OneShot& request, const TierWish& tier) {
  return request.ahead && !traits_of(tier.exactly).runs_elf && shows_usual_view(request) &&
         !request.network && !request.as_root && !request.nested && !request.deterministic &&
         request.rules.empty();
}

// A layer of packages is kept for its present user; a pool would hold on to it.
bool may_come_from_pool(const OneShot& request) {
  return request.from_pool && request.packages.requests.empty() && !request.image;
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

}  // namespace

Result<RunPlace> RunPlace::find(const OneShot& request,
                                RunPlan& plan,
                                const OneShotObserver& observer) {
  RunPlace place;
  const Clock::time_point before = Clock::now();
  const auto installing = [&observer] { observer.enter("packages"); };
  place.packages_ = GB_TRY(install_packages_for(request.packages, installing, request.cancel_fd));
  const auto installed = since(before);
  place.packages_.add_to(plan.spec);
  GB_TRY(show_image(request, plan.spec));
  EdgeCredentials credentials;
  if (request.network) {
    credentials = GB_TRY(EdgeCredentials::make(*request.network, request.secrets, request.tape));
    Egress::prepare(plan.spec, credentials);
  }
  if (is_usual(request, plan.tier)) {
    place.claim(request, plan);
  }
  if (!place.sandbox_) {
    GB_TRY(place.make(request, plan));
  }
  if (request.network) {
    GB_TRY(place.connect(request, credentials, observer));
  }
  if (!request.packages.requests.empty()) {
    place.timings_.push_back({"packages", installed});
  }
  return place;
}

void RunPlace::claim(const OneShot& request, RunPlan& plan) {
  const ReadyKind kind{.tier = plan.tier,
                       .limits = request.limits,
                       .home = plan.spec.home,
                       .user = plan.spec.user,
                       .directory = plan.steps.run.cwd};
  const Clock::time_point before = Clock::now();
  sandbox_ = request.ahead->sandboxes->claim(kind);
  if (!sandbox_) {
    return;
  }
  made_by_ = request.ahead->sandboxes;
  env_ = std::move(plan.spec.env);  // Its sandbox knew nothing of these.
  // A path names a module, which is the code itself.
  if (plan.steps.run.argv.front().contains('/')) {
    compiled_ = request.ahead->modules->find(
        {.tenant = request.ahead->tenant, .sha256 = sha256_hex(request.code)}, kind, request.code);
  }
  timings_ = {{"claim", since(before)}};
}

Result<void> RunPlace::make(const OneShot& request, const RunPlan& plan) {
  sandbox_ = std::make_unique<ReadySandbox>(
      GB_TRY(create_sandbox(plan.spec, plan.tier, may_come_from_pool(request))));
  timings_ = (*sandbox_)->timings();
  if (!request.packages.requests.empty() && !(*sandbox_)->features().own_root) {
    env_ = packages_.outside(request.env);
  }
  return {};
}

Result<void> RunPlace::connect(const OneShot& request,
                               const EdgeCredentials& credentials,
                               const OneShotObserver& observer) {
  egress_ = GB_TRY(Egress::start(**sandbox_, *request.network, credentials, observer.connection,
                                 request.public_only, request.tape));
  if (request.tape.recording) {
    notes_.emplace_back("the network was answered from a recording");
  } else if (request.tape.room > 0) {
    notes_.emplace_back("the network was recorded, and TLS was read for that");
  }
  return {};
}

Verdict RunPlace::verdict(std::string_view language, const Limits& limits) const {
  const Sandbox& sandbox = **sandbox_;
  Verdict verdict;
  verdict.id = sandbox.id();
  verdict.language = language;
  verdict.tier = sandbox.tier();
  verdict.walls = sandbox.walls();
  verdict.limits = sandbox.limit_reports(limits);
  verdict.notes = sandbox.notes();
  if (limits.cpus > cgroup_host().processors) {
    verdict.notes.push_back(more_processors_than_there_are(limits.cpus));
  }
  return verdict;
}

Verdict RunPlace::first_verdict(std::string_view language, const Limits& limits) const {
  Verdict first = verdict(language, limits);
  first.timings = timings_;
  first.notes.insert(first.notes.end(), notes_.begin(), notes_.end());
  return first;
}

Result<void> RunPlace::end(OneShotResult& result) {
  if (made_by_ != nullptr) {
    made_by_->discard(std::move(sandbox_));
    return {};
  }
  GB_TRY((*sandbox_)->end());
  if (egress_) {
    egress_->end();
    Egress::Record record = egress_->record();
    result.verdict.connections = std::move(record.connections);
    result.verdict.more_connections = record.more;
    result.recording = std::move(record.recording);
  }
  return {};
}

}  // namespace glovebox
