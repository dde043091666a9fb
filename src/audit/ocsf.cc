// SPDX-License-Identifier: Apache-2.0
#include "audit/ocsf.h"

#include <algorithm>
#include <array>

#include "base/json/json.h"
#include "base/time_text.h"

namespace glovebox::audit {
namespace {

using Json = nlohmann::ordered_json;

// schema.ocsf.io, version 1.3.0.
constexpr const char* kSchema = "1.3.0";
constexpr int kClass = 6003;
constexpr int kCategory = 6;
enum Activity { kCreate = 1, kUpdate = 3, kDelete = 4, kOther = 99 };
enum Severity { kInformational = 1, kLow = 2, kCritical = 5 };
enum Status { kSuccess = 1, kFailure = 2 };

Activity activity_of(std::string_view action) {
  const std::string_view verb = action.substr(std::min(action.rfind('.') + 1, action.size()));
  constexpr std::array<std::string_view, 7> kCreates = {
      "create", "fork", "snapshot", "build", "start", "import", "make_directory"};
  constexpr std::array<std::string_view, 8> kUpdates = {"change",  "pause", "resume", "rotate",
                                                        "restart", "write", "move",   "unpack"};
  constexpr std::array<std::string_view, 4> kDeletes = {"kill", "delete", "remove", "revoke"};
  return std::ranges::find(kCreates, verb) != kCreates.end()   ? kCreate
         : std::ranges::find(kUpdates, verb) != kUpdates.end() ? kUpdate
         : std::ranges::find(kDeletes, verb) != kDeletes.end() ? kDelete
                                                               : kOther;
}

// For a connection, "allowed" means that it was made.
bool succeeded(std::string_view result) {
  return result.empty() || result == "ok" || result == "allowed";
}

}  // namespace

std::string to_ocsf(const Record& record, const std::string& version) {
  const Entry& entry = record.entry;
  const Activity activity = activity_of(entry.action);
  const bool refused = entry.decision == "refused";
  const bool stop = entry.action.starts_with("emergency_stop");
  const bool notable = refused || entry.action == "limit.hit" || entry.result == "denied";
  const Severity severity = stop ? kCritical : notable ? kLow : kInformational;
  Json event{
      {"category_uid", kCategory},
      {"class_uid", kClass},
      {"activity_id", static_cast<int>(activity)},
      {"type_uid", kClass * 100 + static_cast<int>(activity)},
      {"time", from_rfc3339(record.time).time_since_epoch() / std::chrono::milliseconds(1)},
      {"severity_id", static_cast<int>(severity)},
      {"status_id", static_cast<int>(succeeded(entry.result) ? kSuccess : kFailure)},
      {"status_code", entry.result},
      {"metadata",
       {{"version", kSchema},
        {"product", {{"name", "Glovebox"}, {"vendor_name", "Glovebox"}, {"version", version}}},
        {"log_name", "audit"},
        {"sequence", record.number},
        {"uid", record.hash}}},
      {"api", {{"operation", entry.action}, {"service", {{"name", "glovebox"}}}}},
      {"actor",
       {{"user",
         {{"uid", entry.key.empty() ? "unknown" : entry.key}, {"org", {{"uid", entry.tenant}}}}}}},
      {"src_endpoint", {{"name", entry.door.empty() ? "glovebox" : entry.door}}}};
  if (!entry.decision.empty()) {
    event["action_id"] = refused ? 2 : 1;
  }
  Json resources = Json::array();
  const auto add = [&](const char* type, const std::string& uid) {
    if (!uid.empty()) {
      resources.push_back({{"type", type}, {"uid", uid}});
    }
  };
  add("sandbox", entry.sandbox);
  add("context", entry.context);
  add("subject", entry.subject);
  if (!resources.empty()) {
    event["resources"] = std::move(resources);
  }
  event["unmapped"] = Json::parse(entry.details, nullptr, false);
  return event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace glovebox::audit
