// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/routes.h"

#include <algorithm>

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxBody = 1 << 20;

bool fits(const std::vector<std::string>& pattern,
          const std::vector<std::string>& segments,
          std::vector<std::string>& arguments) {
  if (pattern.size() != segments.size()) {
    return false;
  }
  arguments.clear();
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == "*") {
      arguments.push_back(segments[i]);
    } else if (pattern[i] != segments[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<Json> ControlCall::body() const { return read_object(request, kMaxBody); }

void Routes::add(std::string_view method, std::string_view pattern, ControlHandler handler) {
  Route route{.method = std::string(method), .pattern = {}, .handler = std::move(handler)};
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    route.pattern.emplace_back(pattern.substr(0, end));
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  routes_.push_back(std::move(route));
}

void Routes::serve(ControlCall& call, SandboxService& service) const {
  bool known = false;
  for (const Route& route : routes_) {
    if (!fits(route.pattern, call.target.segments, call.arguments)) {
      continue;
    }
    known = true;
    if (route.method != call.request.method()) {
      continue;
    }
    http::RequestFacts& facts = call.request.facts();
    facts.route.clear();
    for (const std::string& word : route.pattern) {
      facts.route += "/" + word;
    }
    if (route.pattern[0] == "sandboxes" && !call.arguments.empty()) {
      facts.sandbox = call.arguments[0];
    }
    auto done = service.admit(call.caller, route.method == "GET" ? kScopeRead : kScopeRun);
    if (done) {
      done = route.handler(call);
    }
    if (!done) {
      refuse(call.response, done.error());
    }
    return;
  }
  refuse(call.response, known ? 405 : 404, known ? "method not allowed" : "no such route");
}

}  // namespace glovebox::e2b
