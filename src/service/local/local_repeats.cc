// SPDX-License-Identifier: Apache-2.0
// Requests that a client may send again without them happening again.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "service/content_hash.h"
#include "service/keeper/codec.h"
#include "service/local/local_service.h"

namespace glovebox {
namespace {

using nlohmann::json;

// How long a key is remembered.
constexpr std::chrono::hours kRemembered{24};
// Outcomes that wait for the database to take them.
constexpr std::size_t kMostUnsettled = 1'024;

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
      return std::optional(outcome.answer);
    case IdempotencyOutcome::Kind::kUnderWay:
      break;
  }
  return Error(ErrorCode::kConflict, "a request with this idempotency key is under way",
               "ask again in a moment");
}

void LocalService::settle(const Caller& caller,
                          const std::string& key,
                          const std::string& subject,
                          const std::optional<std::string>& answer) {
  const auto settled =
      answer ? claims_.finish(caller.tenant, key, subject, *answer, Durability::kProcess)
             : claims_.abandon(caller.tenant, key, subject);
  if (settled || settled.error().code() == ErrorCode::kNotFound) {
    return;
  }
  // The disk is full, say. Until it is recorded the request counts as under way.
  const std::scoped_lock lock(mutex_);
  if (unsettled_.size() < kMostUnsettled) {
    unsettled_.push_back({.caller = caller, .key = key, .subject = subject, .answer = answer});
  }
}

void LocalService::settle_again() {
  std::vector<Unsettled> left;
  {
    const std::scoped_lock lock(mutex_);
    left.swap(unsettled_);
  }
  for (const Unsettled& one : left) {
    settle(one.caller, one.key, one.subject, one.answer);
  }
}

// Of a daemon that died at them: what was made is found by the claim that it bears.
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
  const std::string what =
      name_of("create", keeper::pack({{"template", request.template_name},
                                      {"timeout", request.timeout.count()},
                                      {"limits", keeper::to_json(request.limits)},
                                      {"env", keeper::to_json(request.env)},
                                      {"metadata", request.metadata}}));
  if (const auto known = GB_TRY(claim(caller, key, what, subject))) {
    return find(caller, *known);
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
  std::string verdict;
  auto done = run_once(caller, request, [&](std::string_view event) {
    if (!event.empty()) {
      verdict = event;
    }
    return sink(event);
  });
  // The last event of a run that came to its end.
  const json last = json::parse(verdict, nullptr, false);
  const bool whole = done && last.is_object() && last.value("type", "") == "verdict";
  settle(caller, key, subject, whole ? std::optional(verdict) : std::nullopt);
  return done;
}

}  // namespace glovebox
