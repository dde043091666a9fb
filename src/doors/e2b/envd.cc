// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/envd.h"

#include "base/text.h"
#include "doors/e2b/answers.h"

namespace glovebox::e2b {

void Envd::serve(const Target& target,
                 const Visit& visit,
                 http::Request& request,
                 http::Response& response) {
  const std::string_view method = request.method();
  const std::string_view first =
      target.segments.empty() ? std::string_view() : std::string_view(target.segments[0]);
  const bool whole = target.segments.size() == 1;
  if (whole && first == "health" && method == "GET") {
    answer_empty(response, 204);
    return;
  }
  const bool compose = target.segments.size() == 2 && target.segments[1] == "compose";
  if (first == "files" && (whole || compose)) {
    files_.serve(target, visit, request, response);
  } else if (whole && first == "metrics" && method == "GET") {
    if (const auto reading = meter_.read(visit.caller, visit.info)) {
      answer(response, 200, envd_metric_json(*reading));
    } else {
      refuse(response, reading.error());
    }
  } else if (whole && first == "envs" && method == "GET") {
    Json variables = Json::object();
    for (const auto& [name, value] : visit.info.env) {
      variables[to_utf8(name)] = to_utf8(value);
    }
    answer(response, 200, variables);
  } else {
    serve_rpc(target, visit, request, response);
  }
}

void Envd::serve_rpc(const Target& target,
                     const Visit& visit,
                     http::Request& request,
                     http::Response& response) {
  const bool call = target.segments.size() == 2 && request.method() == "POST";
  if (call && target.segments[0] == "process.Process") {
    processes_.serve(target.segments[1], visit, request, response);
  } else if (call && target.segments[0] == "filesystem.Filesystem") {
    filesystem_.serve(target.segments[1], visit, request, response);
  } else {
    answer(response, 404,
           {{"message", "not found"}, {"path", to_utf8(target.path)}, {"code", 404}});
  }
}

}  // namespace glovebox::e2b
