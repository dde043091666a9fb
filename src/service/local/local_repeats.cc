// SPDX-License-Identifier: Apache-2.0
// Requests that a client may send again without them happening again.
#include <algorithm>
#include <utility>

#include "base/digest/digest.h"
#include "base/json/json.h"
#include "service/keeper/codec.h"
#include "service/local/local_service.h"
#include "spec/json/network_rules_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox {
namespace {

using nlohmann::json;

// How long a key is remembered.
constexpr std::chrono::hours kRemembered{24};
// Outcomes that wait for the database to take them.
constexpr std::size_t kMostUnsettled = 1'024;
constexpr int kForgetRounds = 10;
// A larger answer has a file of its own.
constexpr std::size_t kMostInRow = 64UL * 1024;

// All that a client asks for. What a door adds (`extra`) differs from call to call.
std::string text_of(const SandboxRequest& request) {
  json volumes = json::array();
  for (const VolumeMount& mount : request.volumes) {
    volumes.push_back({mount.volume, mount.path, mount.read_only});
  }
  return keeper::pack(
      {{"template", request.template_name},
       {"timeout", request.timeout.count()},
       {"pauses", request.on_timeout == OnTimeout::kPause},
       {"auto_resume", request.auto_resume},
       {"as_root", request.as_root},
       {"nested", request.nested},
       {"run_as", request.run_as},
       {"as_guest", request.as_guest},
       {"policies", request.policies},
       {"limits", keeper::to_json(request.limits)},
       {"env", keeper::to_json(request.env)},
       {"metadata", request.metadata},
       {"tier", {request.tier.exactly, request.tier.at_least}},
       {"network", to_json(request.network)},
       {"on_disk", request.storage ? json(*request.storage == Storage::kDisk) : json()},
       {"volumes", std::move(volumes)}});
}

std::string name_of(std::string_view operation, const std::string& request) {
  ContentHash hash;
  hash.add(request);
  return std::string(operation) + ":" + hash.hex();
}

}  // namespace

Result<std::optional<std::string>> LocalService::claim(const Caller& caller,
                                                       const std::string& key,
                                                       const std::string& what,
                                                       const std::string& subject) {
  const auto now = std::chrono::system_clock::now();
  const IdempotencyOutcome outcome = GB_TRY(claims_.claim({.tenant = caller.tenant,
                                                           .key = key,
                                                           .what = what,
                                                           .subject = subject,
                                                           .expires = now + kRemembered},
                                                          now, Durability::kProcess));
  switch (outcome.kind) {
    case IdempotencyOutcome::Kind::kFirst:
      return std::optional<std::string>();
    case IdempotencyOutcome::Kind::kAnswered:
      return std::optional(GB_TRY(answer_of(outcome)));
    case IdempotencyOutcome::Kind::kUnderWay:
      break;
  }
  return Error(ErrorCode::kConflict, "a request with this idempotency key is in progress",
               "send it again in 1 second");
}

Result<std::string> LocalService::answer_of(const IdempotencyOutcome& outcome) {
  if (outcome.place == AnswerPlace::kRow) {
    return outcome.answer;
  }
  if (outcome.place == AnswerPlace::kFile) {
    if (auto answer = answers_.read(outcome.subject)) {
      return answer;
    }
  }
  return Error(
      ErrorCode::kConflict,
      "the request with this idempotency key completed, but there was no room to store its "
      "response",
      "send the request with a new key to repeat it");
}

void LocalService::settle(const Caller& caller,
                          const std::string& key,
                          const std::string& subject,
                          const std::optional<std::string>& answer) {
  settle(Unsettled{.caller = caller, .key = key, .subject = subject, .answer = answer});
}

Result<void> LocalService::record(Unsettled& one) {
  const std::string& tenant = one.caller.tenant;
  if (!one.answer) {
    return claims_.abandon(tenant, one.key, one.subject);
  }
  if (one.answer->size() <= kMostInRow) {
    return claims_.finish(tenant, one.key, one.subject, *one.answer, Durability::kProcess,
                          one.place);
  }
  // Nobody may look for files without a record between the writing of this file and of its record.
  const std::scoped_lock lock(keeping_);
  if (answers_.keep(tenant, one.subject, *one.answer)) {
    auto recorded =
        claims_.finish(tenant, one.key, one.subject, "", Durability::kProcess, AnswerPlace::kFile);
    if (recorded) {
      return recorded;
    }
    answers_.remove(one.subject);
  }
  // The request was carried out, and its answer must not stay in memory until there is room.
  one.answer.emplace();
  one.place = AnswerPlace::kNowhere;
  return claims_.finish(tenant, one.key, one.subject, "", Durability::kProcess, one.place);
}

void LocalService::settle(Unsettled one) {
  auto recorded = record(one);
  if (!recorded && recorded.error().code() == ErrorCode::kInvalid) {
    // The database will never take this answer.
    one.answer.emplace();
    one.place = AnswerPlace::kNowhere;
    recorded = record(one);
  }
  if (recorded || recorded.error().code() == ErrorCode::kNotFound) {
    return;
  }
  // The disk is full, say. Until it is recorded the request counts as under way.
  const std::scoped_lock lock(mutex_);
  if (unsettled_.size() < kMostUnsettled) {
    unsettled_.push_back(std::move(one));
  }
}

void LocalService::settle_again() {
  std::vector<Unsettled> left;
  {
    const std::scoped_lock lock(mutex_);
    left.swap(unsettled_);
  }
  for (Unsettled& one : left) {
    settle(std::move(one));
  }
}

void LocalService::forget_old() {
  const auto now = std::chrono::system_clock::now();
  // In rounds, so that nothing waits for a long past to be forgotten; the rest goes the next time.
  for (int round = 0; round < kForgetRounds; ++round) {
    const auto ended = records_.forget_ended(now - keep_records_);
    const auto expired = claims_.forget_expired(now);
    if ((!ended || *ended == 0) && (!expired || *expired == 0)) {
      break;
    }
  }
  const std::scoped_lock lock(keeping_);
  if (const auto kept = claims_.answered_by_files()) {
    answers_.sweep(*kept);
  }
}

// Claims of a daemon that died during them: a sandbox that was made is found by its claim.
void LocalService::settle_old_claims() {
  const auto unfinished = claims_.unfinished();
  if (!unfinished) {
    return;
  }
  const std::vector<SandboxEntry> living = book_.all();
  for (const IdempotencyClaim& old : unfinished.value()) {
    const auto made = std::ranges::find(living, old.subject, &SandboxEntry::claim);
    settle({.tenant = old.tenant, .scopes = {}}, old.key, old.subject,
           made == living.end() ? std::nullopt : std::optional(made->info.id));
  }
}

Result<SandboxInfo> LocalService::create(const Caller& caller, const SandboxRequest& request) {
  const std::string& key = request.idempotency_key;
  if (key.empty()) {
    return create_once(caller, request, {});
  }
  const std::string subject = random_name();
  const std::string what = name_of("create", text_of(request));
  if (const auto known = GB_TRY(claim(caller, key, what, subject))) {
    auto info = find(caller, *known);
    if (!info && info.error().code() == ErrorCode::kNotFound) {
      return Error(ErrorCode::kConflict,
                   "sandbox '" + *known + "', created with this idempotency key, has ended",
                   "send the request with a new key to create another sandbox");
    }
    return info;
  }
  auto made = create_once(caller, request, subject);
  settle(caller, key, subject, made ? std::optional(made->id) : std::nullopt);
  return made;
}

Result<void> LocalService::run(const Caller& caller,
                               const RunRequest& request,
                               const EventSink& sink) {
  const std::string& key = request.idempotency_key;
  if (key.empty()) {
    return run_once(caller, request, sink);
  }
  const std::string subject = random_name();
  const std::string what = name_of("run", keeper::pack(keeper::to_json(request)));
  if (const auto known = GB_TRY(claim(caller, key, what, subject))) {
    (void)sink(*known);
    return {};
  }
  // Told once it is recorded, so that a client that has it and asks again gets it again.
  std::optional<std::string> verdict;
  auto done = run_once(caller, request, [&](std::string_view event) {
    if (!is_verdict_event(event)) {
      return sink(event);
    }
    verdict = event;
    return true;
  });
  settle(caller, key, subject, done ? verdict : std::nullopt);
  if (verdict) {
    (void)sink(*verdict);
  }
  return done;
}

}  // namespace glovebox
