// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/gate.h"

#include <algorithm>
#include <vector>

#include "doors/e2b/url.h"

namespace glovebox::e2b {
namespace {

// Beyond this, those whose time was over are dropped; a request with a token brings them back.
constexpr std::size_t kMaxKnown = 20'000;

Caller owner(const std::string& tenant) { return {.tenant = tenant, .scopes = {"run", "read"}}; }

}  // namespace

void Gate::remember(const std::string& tenant, const SandboxInfo& info, const SandboxNotes& notes) {
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMaxKnown) {
    drop_expired();
  }
  if (known_.size() < kMaxKnown || known_.contains(info.id)) {
    known_[info.id] = {.tenant = tenant,
                       .access_token = notes.access_token,
                       .expires = info.expires};
  }
}

void Gate::drop_expired() {
  const auto now = std::chrono::system_clock::now();
  std::erase_if(known_, [now](const auto& each) { return each.second.expires < now; });
}

void Gate::forget(std::string_view id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = known_.find(id); found != known_.end()) {
    known_.erase(found);
  }
}

bool Gate::knows(std::string_view id) const { return tenant_of(id).has_value(); }

std::optional<std::string> Gate::tenant_of(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(id);
  return found == known_.end() ? std::nullopt : std::optional(found->second.tenant);
}

Result<Visit> Gate::enter_as(const std::string& tenant, std::string_view id) {
  Visit visit{.caller = owner(tenant), .info = {}, .notes = {}};
  visit.info = GB_TRY(service_.find(visit.caller, id));
  auto notes = read_notes(visit.info.extra);
  if (!notes) {
    return Error(ErrorCode::kNotFound, "the sandbox was not made through this door");
  }
  visit.notes = std::move(*notes);
  if (visit.info.state == SandboxState::kPaused) {
    if (!visit.info.auto_resume) {
      return Error(ErrorCode::kNotFound, "the sandbox is paused");
    }
    visit.info = GB_TRY(service_.resume(visit.caller, id));
  }
  remember(tenant, visit.info, visit.notes);
  return visit;
}

Result<Visit> Gate::enter(std::string_view id, const http::Request& request) {
  if (!is_sandbox_id(id)) {
    return Error(ErrorCode::kNotFound, "no such sandbox");
  }
  std::vector<std::string> tenants;
  if (auto known = tenant_of(id)) {
    tenants.push_back(std::move(*known));
  } else {
    for (const char* header : {"X-Access-Token", "E2B-Traffic-Access-Token"}) {
      auto tenant = tenant_of_token(request.header(header).value_or(""));
      if (tenant && std::ranges::find(tenants, *tenant) == tenants.end()) {
        tenants.push_back(std::move(*tenant));
      }
    }
    // After a restart, for requests without a token: whoever runs this daemon.
    tenants.push_back(service_.unix_peer().tenant);
  }
  for (const std::string& tenant : tenants) {
    auto visit = enter_as(tenant, id);
    if (visit || visit.error().code() != ErrorCode::kNotFound) {
      return visit;
    }
  }
  return Error(ErrorCode::kNotFound, "no such sandbox");
}

Result<Visit> Gate::enter_signed(const SignedRequest& request, std::string_view signature) {
  constexpr std::size_t kSignatureSize = 46;  // "v1_" and 43 digits: others are not worth a search.
  std::string id;
  std::string tenant;
  if (signature.size() == kSignatureSize) {
    const std::lock_guard lock(mutex_);
    for (const auto& [each, known] : known_) {
      if (equal_secrets(signature, signature_of(request, known.access_token))) {
        id = each;
        tenant = known.tenant;
        break;
      }
    }
  }
  if (id.empty()) {
    return Error(ErrorCode::kNotFound, "nobody's signature");
  }
  return enter_as(tenant, id);
}

bool Gate::shows_access_token(const http::Request& request, const SandboxNotes& notes) {
  return equal_secrets(request.header("X-Access-Token").value_or(""), notes.access_token);
}

bool Gate::shows_traffic_token(const http::Request& request, const SandboxNotes& notes) {
  return equal_secrets(request.header("E2B-Traffic-Access-Token").value_or(""),
                       notes.traffic_token);
}

}  // namespace glovebox::e2b
