// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/reviews.h"

#include <algorithm>
#include <utility>

#include "base/json/json.h"
#include "base/random.h"
#include "base/text.h"
#include "spec/json/verdict_json.h"
#include "trace/span.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::steady_clock;

// How often to check that a waiting listener is still there.
constexpr std::chrono::seconds kReviewBeat{1};
constexpr std::size_t kMostReason = 4'096;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string shown(std::string_view text) { return to_utf8(text.substr(0, Reviews::kMostShown)); }

std::string call_event(const std::string& id,
                       const std::string& criteria,
                       const RunRequest& run,
                       const Json& verdict) {
  return text_of({{"type", "tool_call"},
                  {"id", id},
                  {"name", "review"},
                  {"arguments",
                   {{"criteria", to_utf8(criteria)},
                    {"language", verdict.value("language", "")},
                    {"code", shown(run.code)},
                    {"stdout", shown(verdict.value("stdout", ""))},
                    {"stderr", shown(verdict.value("stderr", ""))}}}});
}

Json report(const std::string& criteria, const ReviewReply& reply) {
  Json told{{"check", "review"}, {"passed", reply.ok}, {"what", to_utf8(criteria)}};
  if (!reply.reason.empty()) {
    told["reason"] = to_utf8(reply.reason.substr(0, kMostReason));
  }
  return told;
}

}  // namespace

std::string Reviews::reviewed(const Caller& caller,
                              const RunRequest& run,
                              const std::string& verdict_event,
                              const EventSink& sink) {
  const auto text = verdict_in(verdict_event);
  Json verdict = Json::parse(text.value_or(""), nullptr, false);
  if (!verdict.is_object() || verdict.value("status", "") != "ok") {
    return verdict_event;
  }
  const trace::Span span("review");
  for (const std::string& criteria : run.checks.reviews) {
    const ReviewReply reply = ask(
        caller, [&](const std::string& id) { return call_event(id, criteria, run, verdict); },
        sink);
    verdict["checks"].push_back(report(criteria, reply));
    if (!reply.ok) {
      verdict["status"] = to_string(Status::kUnverified);
      break;  // Another opinion would change nothing.
    }
  }
  return glovebox::verdict_event(text_of(verdict));
}

ReviewReply Reviews::ask(const Caller& caller,
                         const std::function<std::string(const std::string& id)>& event,
                         const EventSink& sink) {
  const std::string id = random_name();
  const auto deadline = steady_clock::now() + patience_;
  std::unique_lock lock(mutex_);
  const auto waiting = std::ranges::count_if(
      entries_, [&](const auto& entry) { return entry.second.tenant == caller.tenant; });
  if (static_cast<std::size_t>(waiting) >= kMostWaiting) {
    return {.ok = false, .reason = "too many reviews of this tenant wait for an answer"};
  }
  const auto entry = entries_.emplace(id, Entry{.tenant = caller.tenant}).first;
  std::string told = event(id);
  ReviewReply reply{.ok = false, .reason = "nobody reviewed it in time"};
  while (!entry->second.reply && steady_clock::now() < deadline) {
    // The listener may be slow.
    lock.unlock();
    const bool wanted = sink(std::exchange(told, std::string()));
    lock.lock();
    if (!wanted) {
      reply.reason = "the client left before it was reviewed";
      break;
    }
    changed_.wait_until(lock, std::min(deadline, steady_clock::now() + kReviewBeat),
                        [&] { return entry->second.reply.has_value(); });
  }
  if (entry->second.reply) {
    reply = *std::move(entry->second.reply);
  }
  entries_.erase(entry);
  return reply;
}

Result<void> Reviews::answer(const Caller& caller, std::string_view id, const ReviewReply& reply) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.tenant != caller.tenant) {
    return Error(ErrorCode::kNotFound, "no review '" + printable(id) + "' waits for an answer");
  }
  if (found->second.reply) {
    return Error(ErrorCode::kConflict, "this review has an answer already");
  }
  found->second.reply = reply;
  changed_.notify_all();
  return {};
}

}  // namespace glovebox
