// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/list_routes.h"

#include <algorithm>
#include <charconv>

#include "doors/e2b/fields.h"
#include "doors/e2b/page.h"
#include "doors/e2b/sandbox_json.h"
#include "doors/e2b/times.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxCollected = 100'000;
constexpr std::size_t kMaxAtOnce = 100;

Result<std::optional<std::int64_t>> number_parameter(const Target& target, const char* name) {
  const auto text = target.parameter(name);
  if (!text || text->empty()) {
    return std::optional<std::int64_t>();
  }
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failure != std::errc{} || end != text->data() + text->size()) {
    return invalid("'" + std::string(name) + "' must be a number");
  }
  return std::optional(number);
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

struct ListWish {
  SandboxQuery query;
  std::string template_name;
  std::optional<SystemTime> started_after;
  bool ascending = false;
};

Result<ListWish> parse_wish(const Target& target, bool running_only) {
  ListWish wish;
  if (const auto metadata = target.parameter("metadata")) {
    auto pairs = parse_metadata(*metadata);
    if (!pairs) {
      return invalid("malformed 'metadata'");
    }
    wish.query.metadata = std::move(*pairs);
  }
  for (const std::string& state : split(target.parameter("state").value_or(""))) {
    if (state != "running" && state != "paused") {
      return invalid("unknown state '" + state + "'");
    }
    wish.query.states.push_back(state == "paused" ? SandboxState::kPaused : SandboxState::kRunning);
  }
  if (running_only) {
    wish.query.states = {SandboxState::kRunning};
  }
  wish.template_name = target.parameter("template").value_or("");
  if (wish.template_name.find(':') != std::string::npos) {
    return invalid("'template' can't have a tag");
  }
  if (const auto after = target.parameter("startedAfter")) {
    wish.started_after = from_rfc3339(*after);
    if (!wish.started_after) {
      return invalid("'startedAfter' must be an RFC 3339 timestamp");
    }
  }
  const std::string order = target.parameter("order").value_or("desc");
  if (order != "asc" && order != "desc") {
    return invalid("'order' must be asc or desc");
  }
  wish.ascending = order == "asc";
  wish.query.limit = GB_TRY(page_size(target));
  wish.query.after = target.parameter("nextToken").value_or("");
  return wish;
}

bool fits(const SandboxInfo& info, const ListWish& wish) {
  if (wish.started_after && info.created < *wish.started_after) {
    return false;
  }
  return wish.template_name.empty() || wish.template_name == info.template_name ||
         wish.template_name == notes_of(info).template_id;
}

// If the service has no query for what is wanted, searches all that it lists; the token is then the
// id after which the page starts.
Result<SandboxPage> seek(SandboxService& service, const Caller& caller, const ListWish& wish) {
  SandboxQuery query = wish.query;
  query.limit = kMaxPage;
  query.after.clear();
  std::vector<SandboxInfo> found;
  do {
    SandboxPage page = GB_TRY(service.list(caller, query));
    for (SandboxInfo& info : page.sandboxes) {
      if (fits(info, wish)) {
        found.push_back(std::move(info));
      }
    }
    query.after = std::move(page.next);
  } while (!query.after.empty() && found.size() < kMaxCollected);

  if (wish.ascending) {
    std::ranges::reverse(found);
  }
  auto first = found.begin();
  if (!wish.query.after.empty()) {
    first = std::ranges::find(found, wish.query.after, &SandboxInfo::id);
    if (first == found.end()) {
      return invalid("invalid next token");
    }
  }
  SandboxPage page;
  for (; first != found.end() && page.sandboxes.size() < wish.query.limit; ++first) {
    page.sandboxes.push_back(*first);
  }
  page.next = first == found.end() ? std::string() : first->id;
  return page;
}

}  // namespace

std::optional<std::map<std::string, std::string>> parse_metadata(const std::string& parameter) {
  const auto form = parse_form(parameter);
  if (!form) {
    return std::nullopt;
  }
  std::map<std::string, std::string> metadata;
  for (const auto& [name, value] : *form) {
    auto plain_name = percent_decode(name);
    auto plain_value = percent_decode(value);
    if (!plain_name || !plain_value) {
      return std::nullopt;
    }
    metadata.emplace(std::move(*plain_name), std::move(*plain_value));
  }
  return metadata;
}

void ListRoutes::add_to(Routes& routes) {
  routes.add("GET", "v2/sandboxes", [this](ControlCall& call) { return list(call, false); });
  routes.add("GET", "sandboxes", [this](ControlCall& call) { return list(call, true); });
  routes.add("GET", "sandboxes/metrics",
             [this](ControlCall& call) { return metrics_of_many(call); });
  routes.add("GET", "sandboxes/*/metrics", [this](ControlCall& call) { return metrics(call); });
  routes.add("GET", "sandboxes/*/logs", [this](ControlCall& call) { return logs(call); });
  routes.add("GET", "v2/sandboxes/*/logs", [this](ControlCall& call) { return logs(call); });
}

Result<void> ListRoutes::list(ControlCall& call, bool running_only) {
  const ListWish wish = GB_TRY(parse_wish(call.target, running_only));
  const bool plain = !wish.ascending && !wish.started_after && wish.template_name.empty();
  const SandboxPage page =
      GB_TRY(plain ? service_.list(call.caller, wish.query) : seek(service_, call.caller, wish));
  Json items = Json::array();
  for (const SandboxInfo& info : page.sandboxes) {
    items.push_back(listed_json(info, notes_of(info)));
  }
  http::Headers headers;
  if (!page.next.empty()) {
    headers.emplace_back("x-next-token", page.next);
  }
  answer(call.response, 200, items, std::move(headers));
  return {};
}

Result<void> ListRoutes::metrics(ControlCall& call) {
  const auto start = GB_TRY(number_parameter(call.target, "start"));
  const auto end = GB_TRY(number_parameter(call.target, "end"));
  const SandboxInfo info = GB_TRY(service_.find(call.caller, call.arguments[0]));
  const auto reading = GB_TRY(meter_.read(call.caller, info));
  const std::int64_t at =
      std::chrono::duration_cast<std::chrono::seconds>(reading.usage.at.time_since_epoch()).count();
  Json samples = Json::array();
  if (at >= start.value_or(at) && at <= end.value_or(at)) {
    samples.push_back(metric_json(reading));
  }
  answer(call.response, 200, samples);
  return {};
}

Result<void> ListRoutes::metrics_of_many(ControlCall& call) {
  const auto ids = split(call.target.parameter("sandbox_ids").value_or(""));
  if (ids.empty() || ids.size() > kMaxAtOnce) {
    return invalid("'sandbox_ids' must name between 1 and 100 sandboxes");
  }
  Json sandboxes = Json::object();
  for (const std::string& id : ids) {
    const auto info = service_.find(call.caller, id);
    if (!info) {
      continue;
    }
    if (const auto reading = meter_.read(call.caller, *info)) {
      sandboxes[id] = metric_json(*reading);
    }
  }
  answer(call.response, 200, {{"sandboxes", std::move(sandboxes)}});
  return {};
}

Result<void> ListRoutes::logs(ControlCall& call) {
  // There is no log besides what commands and code print, which goes to the client that ran them.
  (void)GB_TRY(service_.find(call.caller, call.arguments[0]));
  answer(call.response, 200, {{"logs", Json::array()}, {"logEntries", Json::array()}});
  return {};
}

}  // namespace glovebox::e2b
