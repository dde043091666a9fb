// SPDX-License-Identifier: Apache-2.0
// What is about the whole daemon.
#include "base/text.h"
#include "doors/rest/openapi.h"
#include "doors/rest/routes.h"

namespace glovebox::rest {

Result<void> list_languages(Call& call) {
  call.send(200, "application/json", GB_TRY(call.service.languages()));
  return {};
}

Result<void> list_templates(Call& call) {
  Json templates = Json::array();
  for (const std::string& name : GB_TRY(call.service.templates(call.caller))) {
    templates.push_back({{"name", to_utf8(name)}});
  }
  call.send_json(200, {{"templates", std::move(templates)}});
  return {};
}

Result<void> emergency_stop(Call& call) {
  call.send_json(200, {{"stopped", GB_TRY(call.service.emergency_stop(call.caller))}});
  return {};
}

Result<void> not_built(Call&) {
  return Error(ErrorCode::kUnsupported, "this version of glovebox does not have that yet");
}

Result<void> show_health(Call& call) {
  call.send_json(200, {{"status", "ok"}});
  return {};
}

Result<void> show_openapi(Call& call) {
  call.send(200, "application/json", openapi_text());
  return {};
}

Result<void> show_metrics(Call& call) {
  call.send(200, "text/plain; version=0.0.4; charset=utf-8",
            call.metrics.text() + (call.more_metrics ? call.more_metrics() : ""));
  return {};
}

}  // namespace glovebox::rest
