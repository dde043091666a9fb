// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/gate.h"

#include <algorithm>
#include <vector>

#include "doors/e2b/url.h"

namespace glovebox::e2b {
namespace {

// Beyond this, those whose time was over are dropped; a request with a token brings them back.
constexpr std::size_t kMaxKnown = 20'000;

// Signatures that were found are kept up to here.
constexpr std::size_t kMaxSigned = 4'096;
// Hashes that one token of the bucket buys; 200 tokens a second are a tenth of a processor.
constexpr std::size_t kHashesOfToken = 1'024;
constexpr double kTokensASecond = 200;
constexpr double kMostTokens = 400;

std::chrono::steady_clock::time_point monotonic_now() { return std::chrono::steady_clock::now(); }

Caller owner(const std::string& tenant) { return {.tenant = tenant, .scopes = {"run", "read"}}; }

}  // namespace

Gate::Gate(SandboxService& service)
    : service_(service), searches_(kTokensASecond, kMostTokens, monotonic_now()) {}

void Gate::remember(const std::string& tenant, const SandboxInfo& info, const SandboxNotes& notes) {
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMaxKnown) {
    drop_expired();
  }
  if (known_.size() < kMaxKnown || known_.contains(info.id)) {
    known_[info.id] = std::make_shared<const Known>(
        Known{.tenant = tenant, .access_token = notes.access_token, .expires = info.expires});
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

bool Gate::knows(std::string_view id) const { return tenant_of(id).has_value(); }

std::optional<std::string> Gate::tenant_of(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(id);
  return found == known_.end() ? std::nullopt : std::optional(found->second->tenant);
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

// Where a signature that was seen before leads; empty where it was not, or leads nowhere any more.
std::string Gate::find_signed(const SignedRequest& request, std::string_view signature) {
  const std::lock_guard lock(mutex_);
  const auto seen = signed_.find(std::string(signature));
  if (seen == signed_.end()) {
    return {};
  }
  const auto known = known_.find(seen->second);
  // The same signature with another path is nobody's.
  return known != known_.end() &&
                 equal_secrets(signature, signature_of(request, known->second->access_token))
             ? seen->second
             : std::string();
}

Result<std::string> Gate::search_signed(const SignedRequest& request, std::string_view signature) {
  std::vector<std::pair<std::string, std::shared_ptr<const Known>>> all;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t paid = 0; paid <= known_.size(); paid += kHashesOfToken) {
      if (searches_.take(monotonic_now()).count() > 0) {
        return Error(ErrorCode::kExhausted, "too many signatures were nobody's",
                     "try again in 1 second, or name the sandbox in the host of the URL");
      }
    }
    all.assign(known_.begin(), known_.end());
  }
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
  return Error(ErrorCode::kNotFound, "nobody's signature");
}

Result<Visit> Gate::enter_signed(const SignedRequest& request, std::string_view signature) {
  constexpr std::size_t kSignatureSize = 46;  // "v1_" and 43 digits: others are not worth a search.
  if (signature.size() != kSignatureSize) {
    return Error(ErrorCode::kNotFound, "nobody's signature");
  }
  std::string id = find_signed(request, signature);
  if (id.empty()) {
    id = GB_TRY(search_signed(request, signature));
  }
  const auto tenant = tenant_of(id);
  if (!tenant) {
    return Error(ErrorCode::kNotFound, "nobody's signature");
  }
  return enter_as(*tenant, id);
}

bool Gate::shows_access_token(const http::Request& request, const SandboxNotes& notes) {
  return equal_secrets(request.header("X-Access-Token").value_or(""), notes.access_token);
}

bool Gate::shows_traffic_token(const http::Request& request, const SandboxNotes& notes) {
  return equal_secrets(request.header("E2B-Traffic-Access-Token").value_or(""),
                       notes.traffic_token);
}

}  // namespace glovebox::e2b
