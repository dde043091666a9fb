// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/envd.h"

#include <charconv>

#include "base/text.h"
#include "doors/e2b/answers.h"

namespace glovebox::e2b {
namespace {

// Why a request may not touch files; nothing when it may. The messages are E2B's.
std::optional<std::string> objection(const Target& target,
                                     const Visit& visit,
                                     const http::Request& request) {
  if (!visit.notes.secure) {
    return std::nullopt;
  }
  if (request.header("X-Access-Token")) {
    return Gate::shows_access_token(request, visit.notes)
               ? std::nullopt
               : std::optional("access token present in header but does not match");
  }
  const auto signature = target.parameter("signature");
  if (!signature) {
    return "missing signature query parameter";
  }
  const SignedRequest request_signed = signed_request(target, request);
  if (!equal_secrets(*signature, signature_of(request_signed, visit.notes.access_token))) {
    return "invalid signature";
  }
  if (!request_signed.expiration.empty()) {
    std::int64_t expiration = 0;
    const std::string& text = request_signed.expiration;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), expiration);
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
    if (failure != std::errc{} || end != text.data() + text.size() || expiration < now.count()) {
      return "signature is already expired";
    }
  }
  return std::nullopt;
}

}  // namespace

SignedRequest signed_request(const Target& target, const http::Request& request) {
  return {.path = target.parameter("path").value_or(""),
          .writes = request.method() == "POST",
          .user = target.parameter("username").value_or(""),
          .expiration = target.parameter("signature_expiration").value_or("")};
}

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
  if (first == "files" && whole) {
    if (const auto why_not = objection(target, visit, request)) {
      refuse(response, 401, *why_not);
    } else {
      files_.serve(target, visit, request, response);
    }
    return;
  }
  if (visit.notes.secure && !Gate::shows_access_token(request, visit.notes)) {
    refuse(response, 401, "unauthorized access, please provide a valid access token");
  } else if (first == "files" && compose) {
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
