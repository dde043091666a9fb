// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/audit_trail.h"

#include <algorithm>
#include <utility>

#include "audit/segments.h"
#include "base/digest/digest.h"
#include "base/text.h"
#include "base/time_text.h"
#include "spec/json/error_json.h"
#include "trace/span.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;

// How many failures of a tenant are recorded: so many at once, and so many a second.
constexpr double kFailureBurst = 50;
constexpr double kFailureRate = 5;
// Tenants whose failures are counted apart. Callers without a key are one of them.
constexpr std::size_t kMostTenants = 4096;
// Of code that is recorded in full. JSON makes up to six bytes of one.
constexpr std::size_t kMostCode = 256UL << 10;
constexpr std::size_t kMostRequest = 256UL << 10;
constexpr std::size_t kMostDetails = 1800UL << 10;

std::string text_of(const Json& details) {
  return details.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string details_of(const Deed& deed) {
  std::string text = text_of(deed.details);
  if (!deed.more.empty()) {
    text.pop_back();
    text += (deed.details.empty() ? "" : ",") + deed.more + "}";
  }
  return text;
}

}  // namespace

void AuditTrail::add_text(Json& details, const char* name, std::string_view text) const {
  const std::string prefix(name);
  details[prefix + "_sha256"] = sha256_hex(text);
  details[prefix + "_bytes"] = text.size();
  if (options_.code_in_full) {
    details[prefix] = to_utf8(text.substr(0, kMostCode));
    if (text.size() > kMostCode) {
      details[prefix + "_cut"] = true;
    }
  }
}

void AuditTrail::add_request(Json& details, Json body) const {
  if (!options_.inputs) {
    return;
  }
  if (const std::size_t size = text_of(body).size(); size > kMostRequest) {
    details["request_bytes"] = size;
  } else {
    details["request"] = std::move(body);
  }
}

Result<audit::Room> AuditTrail::room(const Deed& deed, std::size_t more) {
  const bool varies = options_.code_in_full || options_.inputs;
  const std::size_t details = varies ? details_of(deed).size() : 0;
  return journal_.reserve(audit::kUsualLine + details + more, deed.frees);
}

Result<std::uint64_t> AuditTrail::append(const Caller& caller,
                                         std::string_view door,
                                         const Deed& deed,
                                         std::string_view decision,
                                         std::string_view result,
                                         audit::Haste haste) {
  std::string details = details_of(deed);
  if (details.size() > kMostDetails) {
    details = R"({"cut":true})";
  }
  return journal_.append({.tenant = caller.tenant,
                          .key = caller.key,
                          .door = std::string(door),
                          .action = deed.action,
                          .sandbox = deed.sandbox,
                          .context = deed.context,
                          .subject = deed.subject,
                          .decision = std::string(decision),
                          .result = std::string(result),
                          .details = std::move(details)},
                         haste);
}

bool AuditTrail::admit_failure(const std::string& tenant, std::uint64_t& suppressed) {
  const auto now = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  auto found = failures_.find(tenant);
  if (found == failures_.end()) {
    // Tenant names come from keys that were valid; they are bounded all the same.
    const std::string name = failures_.size() < kMostTenants ? tenant : std::string();
    found = failures_
                .try_emplace(
                    name, Failures{.bucket = {kFailureRate, kFailureBurst, now}, .suppressed = 0})
                .first;
  }
  if (found->second.bucket.take(now) > std::chrono::nanoseconds(0)) {
    ++found->second.suppressed;
    return false;
  }
  suppressed = std::exchange(found->second.suppressed, 0);
  return true;
}

Result<std::uint64_t> AuditTrail::note(const Caller& caller,
                                       std::string_view door,
                                       const Deed& deed,
                                       const Error* error,
                                       audit::Haste haste) {
  if (error == nullptr) {
    return append(caller, door, deed, "allowed", "ok", haste);
  }
  Deed failed = deed;
  std::uint64_t suppressed = 0;
  if (!admit_failure(caller.tenant, suppressed)) {
    return std::uint64_t{0};
  }
  if (suppressed > 0) {
    failed.details["suppressed_before"] = suppressed;
  }
  return append(caller, door, failed, "allowed", name_of(error->code()));
}

Result<std::uint64_t> AuditTrail::note_end(const Caller& caller,
                                           std::string_view door,
                                           const Deed& deed,
                                           std::string_view status) {
  return append(caller, door, deed, "allowed", status,
                waits_for_ends() ? audit::Haste::kNone : audit::Haste::kSoon);
}

void AuditTrail::note_refusal(const Caller& caller,
                              std::string_view door,
                              const Deed& deed,
                              const Error& error) {
  std::uint64_t suppressed = 0;
  if (!admit_failure(caller.tenant, suppressed)) {
    return;
  }
  Deed refused = deed;
  refused.details = {{"reason", to_utf8(error.message().substr(0, audit::kMostText))}};
  if (suppressed > 0) {
    refused.details["suppressed_before"] = suppressed;
  }
  // It is refused either way: nobody waits for the disk to say so, and nobody is told of a failure.
  (void)append(caller, door, refused, "refused", name_of(error.code()), audit::Haste::kSoon);
}

void AuditTrail::note_ending(std::string_view tenant,
                             std::string_view sandbox,
                             const Ending& ending) {
  (void)journal_.append({.tenant = std::string(tenant),
                         .action = "sandbox.end",
                         .sandbox = std::string(sandbox),
                         .decision = "",
                         .result = std::string(to_string(ending.reason)),
                         .details = Json{{"at", to_rfc3339(ending.at)}}.dump()});
}

void AuditTrail::note_happening(const Happening& happening) {
  std::string details = happening.details;
  // The command line of a program that code has started is recorded as those of callers are.
  if (Json all = Json::parse(details, nullptr, false);
      happening.action == "program.start" && all.is_object() && all.contains("command")) {
    const std::string command = all.value("command", "");
    all.erase("command");
    add_text(all, "command", command);
    details = text_of(all);
  }
  (void)journal_.append({.tenant = happening.tenant,
                         .action = happening.action,
                         .sandbox = happening.sandbox,
                         .subject = happening.subject,
                         .decision = "",
                         .result = happening.result,
                         .details = std::move(details)});
}

void AuditTrail::flush_meanwhile(std::uint64_t record) { journal_.flush_meanwhile(record); }

Result<void> AuditTrail::wait(std::uint64_t record) {
  if (record == 0 || journal_.durability() == audit::Durability::kRelaxed) {
    return {};
  }
  const trace::Span span("audit");
  return journal_.wait(record);
}

Result<audit::Page> AuditTrail::read(const audit::Query& query) {
  const UniqueFd directory = GB_TRY(audit::open_directory(journal_.directory()));
  return audit::read_page(directory.get(), query);
}

}  // namespace glovebox
