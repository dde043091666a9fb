// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/call.h"

#include <algorithm>
#include <array>
#include <utility>

namespace glovebox::mcp {
namespace {

constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};
// What a person needs to fill in a form.
constexpr std::chrono::minutes kAnswerPatience{10};
// In a task, whose client may look for questions later.
constexpr std::chrono::minutes kTaskPatience{60};

}  // namespace

std::optional<int> severity(std::string_view level) {
  const auto* const found = std::ranges::find(kLevels, level);
  return found == kLevels.end() ? std::nullopt : std::optional(int(found - kLevels.begin()));
}

Call::Call(const Message& message,
           std::string version,
           Params client_capabilities,
           const Caller& caller,
           Conversation& conversation,
           Cancellation& cancellation,
           Outlet outlet)
    : message_(message),
      version_(std::move(version)),
      client_capabilities_(std::move(client_capabilities)),
      caller_(caller),
      conversation_(conversation),
      cancellation_(cancellation),
      outlet_(std::move(outlet)) {
  const Params& meta = message_.params.value("_meta", Params::object());
  if (!meta.is_object()) {
    return;
  }
  if (const auto token = meta.find("progressToken"); token != meta.end()) {
    if (token->is_string() && token->get_ref<const std::string&>().size() <= 1'024) {
      progress_token_ = token->get<std::string>();
    } else if (token->is_number_integer()) {
      progress_token_ = token->get<std::int64_t>();
    }
  }
  log_level_ = stateless() ? text_member(meta, "io.modelcontextprotocol/logLevel").value_or("")
                           : conversation_.log_level();
}

std::string Call::name() const { return text_member(message_.params, "name").value_or(""); }

const Params& Call::arguments() const {
  static const Params kNone = Params::object();
  const auto found = message_.params.find("arguments");
  return found != message_.params.end() ? *found : kNone;
}

bool Call::client_can(std::string_view capability) const {
  return client_capabilities_.is_object() && client_capabilities_.contains(capability);
}

const Params* Call::client_extension(std::string_view extension) const {
  if (!client_can("extensions")) {
    return nullptr;
  }
  const Params& extensions = client_capabilities_.at("extensions");
  const auto found = extensions.is_object() ? extensions.find(extension) : extensions.end();
  return found != extensions.end() ? &*found : nullptr;
}

bool Call::client_has_forms() const {
  if (!client_can("elicitation")) {
    return false;
  }
  // Without a mode, it means forms (revision 2025-11-25).
  const Params& modes = client_capabilities_["elicitation"];
  return modes.is_object() && (modes.empty() || modes.contains("form"));
}

void Call::progress(double progress, std::optional<double> total, std::string_view message) const {
  if (outlet_.print) {
    outlet_.print(message);
  }
  if (progress_token_.is_null()) {
    return;
  }
  Json params{{"progressToken", progress_token_}, {"progress", progress}};
  if (total) {
    params["total"] = *total;
  }
  if (!message.empty()) {
    params["message"] = message;
  }
  outlet_(notification_text("notifications/progress", params));
}

void Call::log(std::string_view level, const Json& data) const {
  const auto wanted = severity(log_level_);
  if (!wanted || severity(level).value_or(0) < *wanted) {
    return;
  }
  outlet_(notification_text("notifications/message",
                            {{"level", level}, {"logger", "glovebox"}, {"data", data}}));
}

Result<Params> Call::ask(std::string_view method,
                         const Json& params,
                         const std::function<bool()>& is_moot) const {
  if (asks_by_response()) {
    return Error(ErrorCode::kUnsupported,
                 "revision " + version_ + " lets a server ask nothing during a request");
  }
  return conversation_.ask(method, params, outlet_, cancellation_,
                           outlet_.ask ? kTaskPatience : kAnswerPatience, is_moot);
}

}  // namespace glovebox::mcp
