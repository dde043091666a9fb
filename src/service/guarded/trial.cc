// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/trial.h"

#include <algorithm>
#include <utility>

#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/random.h"
#include "spec/json/raw_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr std::size_t kSealBytes = 32;

}  // namespace

std::string Trial::why_not(const ExecuteRequest& request) {
  if (request.dry_run.wanted) {
    return "the request is for a dry run itself";
  }
  if (request.recover) {
    return "'recover' and a dry run cannot be combined";
  }
  if (request.allow_input) {
    return "the code may ask for input";
  }
  return request.tools.tools.empty() ? "" : "the code may call tools";
}

Result<std::unique_ptr<Trial>> Trial::run(const Place& place,
                                          ExecuteRequest request,
                                          std::chrono::milliseconds patience,
                                          const EventSink& sink) {
  request.dry_run.wanted = true;
  request.dry_run.network = false;
  if (request.dry_run_seal.empty()) {
    request.dry_run_seal = random_hex(kSealBytes);
  }
  request.dry_run.timeout = std::min<std::chrono::milliseconds>(patience, DryRunWish::kMostTimeout);
  std::unique_ptr<Trial> trial(new Trial(place, request));
  bool left = false;
  GB_TRY(place.service.execute(
      place.caller, place.sandbox, place.context, request, [&](std::string_view event) {
        if (!left && !sink({})) {
          // Waits for the verdict all the same: it names what to discard.
          left = true;
          (void)place.service.interrupt(place.caller, place.sandbox, place.context);
        }
        trial->keep(event);
        return true;
      }));
  GB_TRY(trial->read_verdict());
  if (left) {
    return Error(ErrorCode::kUnavailable, "the client left before a person was asked");
  }
  if (trial->overflowed_) {
    return Error(ErrorCode::kExhausted,
                 "the program printed more than can be held back until a person has agreed",
                 "print less, or write to a file");
  }
  return trial;
}

Trial::~Trial() {
  if (!decided_ && !id_.empty()) {
    (void)place_.service.decide_dry_run(place_.caller, place_.sandbox, id_, {.commit = false});
  }
}

void Trial::keep(std::string_view event) {
  if (is_verdict_event(event)) {
    verdict_ = event;
  } else if (overflowed_ || event.size() > kMostHeld - held_) {
    overflowed_ = true;
  } else if (!event.empty()) {
    held_ += event.size();
    events_.emplace_back(event);
  }
}

Result<void> Trial::read_verdict() {
  report_ = raw_member(verdict_, "dry_run").value_or("");
  const json parsed = json::parse(report_, nullptr, false);
  id_ = parsed.is_object() ? parsed.value("id", "") : "";
  return id_.empty() ? Result<void>(Error(ErrorCode::kUnavailable, "the execution was canceled"))
                     : Result<void>();
}

std::string Trial::digest() const {
  json report = json::parse(report_, nullptr, false);
  for (const char* const name : {"id", "context", "expires"}) {
    report.erase(name);
  }
  for (json& process : report["processes"]) {
    process.erase("pid");
  }
  return sha256_hex(report.dump(-1, ' ', false, json::error_handler_t::replace));
}

Result<void> Trial::commit() {
  const auto kept = place_.service.decide_dry_run(place_.caller, place_.sandbox, id_,
                                                  {.commit = true, .seal = seal_});
  if (!kept && kept.error().code() == ErrorCode::kConflict) {
    return Error(ErrorCode::kConflict,
                 "files changed after the dry run was shown, so it was discarded",
                 "a process that the code leaves behind continues to write");
  }
  decided_ = kept.has_value();
  return kept;
}

void Trial::tell(const EventSink& sink) const {
  for (const std::string& event : events_) {
    if (!sink(event)) {
      return;
    }
  }
  const std::string_view report = raw_member(verdict_, "dry_run").value_or("");
  std::string told = verdict_;
  // Before the brace that closes the report.
  told.insert(static_cast<std::size_t>(report.end() - 1 - std::string_view(verdict_).begin()),
              R"(,"committed":true)");
  (void)sink(told);
}

std::string KeptTrials::name_of(const Trial::Place& place, std::string_view client_key) {
  return ContentHash()
      .add(place.caller.tenant)
      .add(place.sandbox)
      .add(place.context)
      .add(client_key)
      .hex();
}

std::optional<KeptTrials::Kept> KeptTrials::find(const Trial::Place& place,
                                                 std::string_view client_key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = kept_.find(name_of(place, client_key));
  return found == kept_.end() ? std::nullopt : std::optional(found->second);
}

void KeptTrials::add(const Trial& trial, std::string_view client_key) {
  if (client_key.empty()) {
    return;
  }
  const std::string name = name_of(trial.place_, client_key);
  const std::scoped_lock lock(mutex_);
  if (kept_.insert_or_assign(name, Kept{.key = trial.key_, .seal = trial.seal_, .id = trial.id_})
          .second) {
    order_.push_back(name);
  }
  if (order_.size() > kMost) {
    kept_.erase(order_.front());
    order_.pop_front();
  }
}

}  // namespace glovebox
