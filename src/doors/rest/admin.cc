// SPDX-License-Identifier: Apache-2.0
// What is about the whole daemon.
#include "doors/rest/openapi.h"
#include "doors/rest/routes.h"

namespace glovebox::rest {

Result<void> list_languages(Call& call) {
  call.send(200, "application/json", GB_TRY(call.service.languages()));
  return {};
}

Result<void> emergency_stop(Call& call) {
  call.send_json(200, {{"stopped", GB_TRY(call.service.emergency_stop(call.caller))}});
  return {};
}

Result<void> not_built(Call&) {
  return Error(ErrorCode::kUnsupported, "this version of glovebox does not support this yet");
}

Result<void> show_health(Call& call) {
  call.send_json(200, {{"status", "ok"}, {"ready", call.service.ready()}});
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
