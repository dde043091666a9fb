// SPDX-License-Identifier: Apache-2.0
// Routes about the whole daemon.
#include "doors/rest/openapi.h"
#include "doors/rest/routes.h"

namespace glovebox::rest {

Result<void> list_languages(Call& call) {
  call.send_json_text(200, GB_TRY(call.service.languages()));
  return {};
}

Result<void> show_self(Call& call) {
  if (call.accepts("text/html")) {
    call.send(
        200, "text/html; charset=utf-8",
        "<!doctype html><html lang=\"en\"><title>Glovebox</title><h1>Glovebox</h1>"
        "<p>This is the API of a Glovebox daemon, which runs code in sandboxes. It is described "
        "by <a href=\"/openapi.json\">openapi.json</a>; <a href=\"/healthz\">healthz</a> tells "
        "whether it is ready.</p></html>\n",
        {{"Content-Security-Policy", "default-src 'none'"}});
    return {};
  }
  call.send_json(200, "service",
                 {{"name", "glovebox"},
                  {"description", "The API of a Glovebox daemon, which runs code in sandboxes."},
                  {"openapi", "/openapi.json"},
                  {"health", "/healthz"},
                  {"ready", call.service.ready()}});
  return {};
}

Result<void> show_health(Call& call) {
  call.send_json(200, "health", {{"status", "ok"}, {"ready", call.service.ready()}});
  return {};
}

Result<void> show_openapi(Call& call) {
  call.send(200, "application/json", openapi_text());
  return {};
}

Result<void> show_metrics(Call& call) {
  call.send(200, "text/plain; version=0.0.4; charset=utf-8",
            call.metrics ? call.metrics(call.caller) : "");
  return {};
}

}  // namespace glovebox::rest
