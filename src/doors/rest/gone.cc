// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/gone.h"

#include "base/text.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "spec/json/schema.h"

namespace glovebox::rest {

std::optional<Json> describe_gone(const Call& call, const Error& error) {
  const std::string_view pattern = call.route == nullptr ? "" : call.route->pattern;
  const bool about_sandbox = call.named_by_host || pattern.starts_with("/v1/sandboxes/{id}");
  const bool may_be_gone =
      error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kUnavailable;
  if (!about_sandbox || !may_be_gone) {
    return std::nullopt;
  }
  const std::string& sandbox = call.parameters[0];
  const bool has_context = pattern.find("{cid}") != std::string_view::npos;
  const std::string context = has_context ? call.parameters[1] : std::string();
  const auto ending = call.service.ending(call.caller, sandbox, context);
  if (!ending) {
    return std::nullopt;
  }
  // While its sandbox lives, a context can only be gone because it was deleted.
  const bool of_context = has_context && call.service.find(call.caller, sandbox);
  const std::string what =
      of_context ? "context '" + printable(context) + "'" : "sandbox '" + printable(sandbox) + "'";
  return Json{{"schema", schema_of("error")},
              {"code", 410},
              {"error", "gone"},
              {"message", what + " has ended: " + std::string(describe(ending->reason))},
              {"hint", of_context ? "create another context" : "create another sandbox"},
              {"reason", to_string(ending->reason)},
              {"ended_at", to_text(ending->at)}};
}

}  // namespace glovebox::rest
