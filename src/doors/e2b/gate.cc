// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/gate.h"

#include <utility>
#include <vector>

#include "doors/e2b/url.h"

namespace glovebox::e2b {
namespace {

// Beyond this, expired ones are dropped; a request by id brings them back.
constexpr std::size_t kMaxKnown = 20'000;

// Signatures that were found are kept up to here.
constexpr std::size_t kMaxSigned = 4'096;
// A search is charged one unit per this many hashes. A smaller one costs less than answering a
// request, and is free: a flood of bogus signatures keeps no good one from being found. 200 units a
// second are a tenth of a processor.
constexpr std::size_t kHashesOfToken = 1'024;
constexpr Strangers::Rate kSearches{.a_second = 200, .at_once = 400};

}  // namespace

Gate::Gate(SandboxService& service) : service_(service), searches_(kSearches) {
  for (const Bearer& bearer : service_.bearers()) {
    if (const auto notes = read_notes(bearer.info.extra)) {
      remember(bearer.info, *notes);
    }
  }
}

void Gate::remember(const SandboxInfo& info, const SandboxNotes& notes) {
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMaxKnown) {
    drop_expired();
  }
  if (known_.size() < kMaxKnown || known_.contains(info.id)) {
    known_[info.id] = std::make_shared<const Known>(
        Known{.access_token = notes.access_token, .expires = info.expires});
  }
}

void Gate::drop_expired() {
  const auto now = std::chrono::system_clock::now();
  std::erase_if(known_, [now](const auto& each) { return each.second->expires < now; });
}

void Gate::forget(std::string_view id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = known_.find(id); found != known_.end()) {
    known_.erase(found);
  }
}

bool Gate::knows(std::string_view id) const { return find(id).has_value(); }

Result<Visit> Gate::find(std::string_view id) const {
  if (!is_sandbox_id(id)) {
    return Error(ErrorCode::kNotFound, "no such sandbox");
  }
  Bearer bearer = GB_TRY(service_.bearer(id));
  auto notes = read_notes(bearer.info.extra);
  if (!notes) {
    return Error(ErrorCode::kNotFound, "the sandbox was not created through the E2B API");
  }
  return Visit{.caller = std::move(bearer.caller),
               .info = std::move(bearer.info),
               .notes = std::move(*notes)};
}

Result<void> Gate::let_in(Visit& visit, bool counted) {
  if (counted) {
    GB_TRY(service_.renew(visit.caller));
  }
  if (visit.info.state == SandboxState::kPaused) {
    if (!visit.info.auto_resume) {
      return Error(ErrorCode::kNotFound, "the sandbox is paused");
    }
    visit.info = GB_TRY(service_.resume(visit.caller, visit.info.id));
  }
  remember(visit.info, visit.notes);
  return {};
}

// The sandbox that a signature seen before opens; empty if it is new, or no longer opens any.
std::string Gate::look_up(const SignedRequest& request, std::string_view signature) {
  const std::lock_guard lock(mutex_);
  const auto seen = signed_.find(std::string(signature));
  if (seen == signed_.end()) {
    return {};
  }
  const auto known = known_.find(seen->second);
  // The same signature is not valid for another path.
  return known != known_.end() &&
                 equal_secrets(signature, signature_of(request, known->second->access_token))
             ? seen->second
             : std::string();
}

Result<std::string> Gate::search(const SignedRequest& request, std::string_view signature) {
  std::vector<std::pair<std::string, std::shared_ptr<const Known>>> all;
  {
    const std::lock_guard lock(mutex_);
    all.assign(known_.begin(), known_.end());
  }
  GB_TRY(searches_.charge(all.size() / kHashesOfToken));
  for (const auto& [id, known] : all) {
    if (equal_secrets(signature, signature_of(request, known->access_token))) {
      const std::lock_guard lock(mutex_);
      if (signed_.size() >= kMaxSigned) {
        signed_.clear();
      }
      signed_.insert_or_assign(std::string(signature), id);
      return id;
    }
  }
  return Error(ErrorCode::kNotFound, "unknown signature");
}

Result<Visit> Gate::find_signed(const SignedRequest& request, std::string_view signature) {
  constexpr std::size_t kSignatureSize = 46;  // "v1_" and 43 digits: others are not worth a search.
  if (signature.size() != kSignatureSize) {
    return Error(ErrorCode::kNotFound, "unknown signature");
  }
  std::string id = look_up(request, signature);
  if (id.empty()) {
    id = GB_TRY(search(request, signature));
  }
  return find(id);
}

}  // namespace glovebox::e2b
