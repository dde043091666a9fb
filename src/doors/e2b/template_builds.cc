// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_builds.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <system_error>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "doors/e2b/network.h"
#include "doors/e2b/template_name.h"
#include "doors/e2b/template_routes.h"
#include "doors/e2b/times.h"

namespace glovebox::e2b {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxBuildBody = 4UL << 20;
// Per tenant; one more replaces the tenant's oldest. Nothing here is shared with another tenant.
constexpr std::size_t kMostBuilds = 64;
constexpr std::size_t kMostEntries = 20'000;
constexpr std::size_t kPage = 100;
// How long after its creation a build that does not run is remembered, at least.
constexpr auto kRemembered = 1h;

std::string upload_name(const std::string& name, const std::string& hash) {
  return name + "\n" + hash;
}

Result<void> check_hash(const std::string& hash) {
  const bool plain = hash.size() == 64 && std::ranges::all_of(hash, [](char c) {
                       return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                     });
  return plain ? Result<void>() : Error(ErrorCode::kInvalid, "invalid files hash");
}

std::string whole(const Error& error) {
  return error.message() + (error.hint().empty() ? "" : "; " + error.hint());
}

std::string path_of(const UniqueFd& file) { return "/proc/self/fd/" + std::to_string(file.get()); }

}  // namespace

TemplateBuilds::~TemplateBuilds() {
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, build] : builds_) {
      build->canceled = true;
    }
  }
  for (const auto& [id, build] : builds_) {
    if (build->thread.joinable()) {
      build->thread.join();
    }
  }
}

void TemplateBuilds::add_to(Routes& routes) {
  const auto handler = [this](auto method) {
    return [this, method](ControlCall& call) { return (this->*method)(call); };
  };
  routes.add("POST", "v3/templates", handler(&TemplateBuilds::begin));
  routes.add("GET", "templates/*/files/*", handler(&TemplateBuilds::link_upload));
  routes.add("PUT", "templates/*/files/*", handler(&TemplateBuilds::take_upload));
  routes.add("POST", "v2/templates/*/builds/*", handler(&TemplateBuilds::start));
  routes.add("GET", "templates/*/builds/*/status", handler(&TemplateBuilds::show));
}

// Requires: the mutex is held.
void TemplateBuilds::drop_old() {
  const auto now = std::chrono::system_clock::now();
  std::erase_if(builds_, [now](const auto& each) {
    return now - each.second->created > kRemembered && is_at_rest(*each.second);
  });
}

// Requires: the mutex is held. Whether no thread works on it; joins the thread if it has ended.
bool TemplateBuilds::is_at_rest(Build& build) {
  if (build.status == "building") {
    return false;
  }
  if (build.thread.joinable()) {
    build.thread.join();  // It has set the final status, and takes no lock any more.
  }
  return true;
}

// Requires: the mutex is held.
Result<void> TemplateBuilds::make_room(const std::string& tenant) {
  std::size_t count = 0;
  auto oldest = builds_.end();
  for (auto each = builds_.begin(); each != builds_.end(); ++each) {
    if (each->second->caller.tenant != tenant) {
      continue;
    }
    ++count;
    if (each->second->status != "building" &&
        (oldest == builds_.end() || each->second->created < oldest->second->created)) {
      oldest = each;
    }
  }
  if (count < kMostBuilds) {
    return {};
  }
  if (oldest == builds_.end() || !is_at_rest(*oldest->second)) {
    return Error(ErrorCode::kExhausted, "the tenant has too many template builds in progress",
                 "try again in a minute")
        .with_retry_after(std::chrono::seconds(60));
  }
  builds_.erase(oldest);
  return {};
}

Result<void> TemplateBuilds::begin(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  const TemplateName wanted =
      GB_TRY(TemplateName::parse(GB_TRY(text_member(body, "name")).value_or("")));
  std::vector<std::string> tags = GB_TRY(texts_member(body, "tags"));
  if (tags.empty() || !wanted.tag.empty()) {
    tags.insert(tags.begin(), wanted.tag_or_default());
  }
  auto build = std::make_shared<Build>();
  build->caller = call.caller;
  build->created = std::chrono::system_clock::now();
  build->name = wanted.name;
  build->tags = GB_TRY(template_tags(tags));
  for (const std::string& tag : build->tags) {
    GB_TRY(check_template_name(TemplateName{build->name, tag}.ours()));
  }
  if (const auto cpus = GB_TRY(number_member(body, "cpuCount")); cpus && *cpus > 0) {
    build->limits.cpus = static_cast<double>(*cpus);
  }
  if (const auto memory = GB_TRY(number_member(body, "memoryMB"));
      memory && *memory > 0 && *memory < (1 << 24)) {
    build->limits.memory = Bytes{static_cast<std::uint64_t>(*memory) << 20U};
  }
  const std::string id = build->id = random_hex(16);
  {
    const std::scoped_lock lock(mutex_);
    drop_old();
    GB_TRY(make_room(build->caller.tenant));
    builds_[id] = build;
  }
  // Before the client learns of it.
  GB_TRY(service_.template_service().keep_build(
      build->caller, {.id = id, .name = build->name, .created = build->created}));
  answer(call.response, 202,
         {{"templateID", build->name},
          {"buildID", id},
          {"names", {build->name}},
          {"tags", build->tags},
          {"aliases", {build->name}},
          {"public", false}});
  return {};
}

Result<void> TemplateBuilds::link_upload(ControlCall& call) {
  GB_TRY(check_hash(call.arguments[1]));
  const auto present = service_.template_service().open_upload(
      call.caller, upload_name(call.arguments[0], call.arguments[1]));
  if (present) {
    answer(call.response, 201, {{"present", true}});
    return {};
  }
  if (present.error().code() != ErrorCode::kNotFound) {
    return present.error();
  }
  // Back to us, with the key that the client has shown.
  const std::string host(call.request.header("Host").value_or("localhost"));
  Json headers = Json::object();
  if (const auto key = call.request.header("X-API-KEY")) {
    headers["X-API-KEY"] = std::string(*key);
  }
  const bool secure =
      options_.tls || call.request.header("X-Forwarded-Proto").value_or("") == "https";
  answer(call.response, 201,
         {{"present", false},
          {"url", std::string(secure ? "https://" : "http://") + host + "/templates/" +
                      call.arguments[0] + "/files/" + call.arguments[1]},
          {"headers", std::move(headers)}});
  return {};
}

Result<void> TemplateBuilds::take_upload(ControlCall& call) {
  GB_TRY(check_hash(call.arguments[1]));
  GB_TRY(service_.template_service().keep_upload(
      call.caller, upload_name(call.arguments[0], call.arguments[1]),
      [&call](std::span<char> into) { return call.request.read(into); }));
  answer_empty(call.response, 200);
  return {};
}

Result<std::shared_ptr<TemplateBuilds::Build>> TemplateBuilds::find(const Caller& caller,
                                                                    const std::string& name,
                                                                    const std::string& id) {
  std::shared_ptr<Build> build;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = builds_.find(id); found != builds_.end()) {
      build = found->second;
    }
  }
  if (!build) {
    // The build may be an earlier daemon's.
    if (auto state = service_.template_service().find_build(caller, id)) {
      build = std::make_shared<Build>();
      build->caller = caller;
      build->id = id;
      build->name = std::move(state->name);
      build->created = state->created;
      build->status = state->progress == BuildState::Progress::kReady ? "ready" : "error";
      build->reason = std::move(state->reason);
      build->step = std::move(state->step);
    }
  }
  if (!build || build->caller.tenant != caller.tenant || build->name != name) {
    return Error(ErrorCode::kNotFound, "build '" + printable(id) + "' not found");
  }
  return build;
}

void TemplateBuilds::keep(const Build& build,
                          bool ready,
                          const std::string& reason,
                          const std::string& step) {
  // If the disk is full, the build counts as one that was under way, which is close to the truth.
  (void)service_.template_service().keep_build(
      build.caller,
      {.id = build.id,
       .name = build.name,
       .progress = ready ? BuildState::Progress::kReady : BuildState::Progress::kFailed,
       .reason = reason,
       .step = step,
       .created = build.created});
}

Result<void> TemplateBuilds::start(ControlCall& call) {
  const Json body = GB_TRY(read_object(call.request, kMaxBuildBody));
  const std::shared_ptr<Build> build =
      GB_TRY(find(call.caller, call.arguments[0], call.arguments[1]));
  // Shared, because std::thread copies its arguments.
  const auto files = std::make_shared<std::vector<UniqueFd>>();
  const auto find_upload = [&](const std::string& hash) {
    auto file =
        service_.template_service().open_upload(call.caller, upload_name(build->name, hash));
    return file ? path_of(files->emplace_back(*std::move(file))) : std::string();
  };
  const auto find_template = [&](const std::string& name) {
    return resolve_template(service_, call.caller, name);
  };
  std::string step;
  auto order = recipe_of_build(body, find_upload, find_template, step);
  std::unique_lock lock(mutex_);
  if (build->status != "waiting") {
    return Error(ErrorCode::kConflict, build->status == "error"
                                           ? "this build has failed: " + build->reason
                                           : "this build has already started");
  }
  if (!order) {
    // The client learns of this as of any other step that fails.
    build->status = "error";
    build->step = step;
    build->reason = whole(order.error());
    lock.unlock();
    keep(*build, false, build->reason, step);
  } else {
    order->recipe.name = TemplateName{build->name, build->tags.front()}.ours();
    order->recipe.build = build->id;
    order->recipe.limits = build->limits;
    if (service_.network_policy() != NetworkPolicy::kNone) {
      order->recipe.network = GB_TRY(make_network(Json::object(), std::nullopt)).rules;
    }
    try {
      build->thread = std::thread(&TemplateBuilds::run, this, build, *std::move(order), files);
      build->status = "building";
    } catch (const std::system_error&) {
      // The build still waits, so the client may start it again.
      return Error(ErrorCode::kUnavailable, "the build could not be started: no more threads",
                   "try again in 10 seconds")
          .with_retry_after(std::chrono::seconds(10));
    }
  }
  answer_empty(call.response, 202);
  return {};
}

// False: the build is not wanted any more.
bool TemplateBuilds::note(Build& build, std::string level, std::string message) {
  const std::scoped_lock lock(mutex_);
  if (!message.empty() && build.log.size() < kMostEntries) {
    build.log.push_back({std::chrono::system_clock::now(), std::move(level), std::move(message)});
  }
  return !build.canceled;
}

void TemplateBuilds::run(const std::shared_ptr<Build>& build,
                         const OrderedBuild& order,
                         const std::shared_ptr<const std::vector<UniqueFd>>& /*held meanwhile*/) {
  std::size_t step = 0;
  const auto tell = [&](const BuildEvent& event) {
    if (event.kind == BuildEvent::Kind::kProgress) {
      step = event.step;
    }
    return note(*build, event.kind == BuildEvent::Kind::kLog ? "debug" : "info", event.text);
  };
  const auto attempt = [&]() -> Result<TemplateBuilt> {
    try {
      TemplateService& templates = service_.template_service();
      auto built = templates.build(build->caller, order.recipe, tell);
      if (built && build->tags.size() > 1) {
        (void)GB_TRY(templates.tag(build->caller, order.recipe.name,
                                   {build->tags.begin() + 1, build->tags.end()}));
      }
      return built;
    } catch (const std::exception& error) {  // No more threads or memory, say: this build's end.
      return Error(ErrorCode::kUnavailable, std::string("the build was aborted: ") + error.what(),
                   "build it again");
    }
  };
  const auto built = attempt();
  const std::string reason = built ? "" : whole(built.error());
  if (order.recipe.dockerfile) {
    // The first is FROM.
    step = step >= 2 && step - 2 < order.steps.size() ? order.steps[step - 2] : 0;
  }
  const std::string failed = built ? "" : step == 0 ? "base" : std::to_string(step);
  // Stored before it is shown: a client that has seen the end will see it again.
  keep(*build, built.has_value(), reason, failed);
  const std::scoped_lock lock(mutex_);
  build->status = built ? "ready" : "error";
  build->reason = reason;
  build->step = failed;
}

Result<void> TemplateBuilds::show(ControlCall& call) {
  const std::shared_ptr<Build> build =
      GB_TRY(find(call.caller, call.arguments[0], call.arguments[1]));
  std::size_t offset = 0;
  if (const auto text = call.target.parameter("logsOffset")) {
    const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), offset);
    if (failure != std::errc{} || end != text->data() + text->size()) {
      return Error(ErrorCode::kInvalid, "'logsOffset' must be a number");
    }
  }
  const std::scoped_lock lock(mutex_);
  Json entries = Json::array();
  for (std::size_t i = offset; i < build->log.size() && entries.size() < kPage; ++i) {
    const Entry& entry = build->log[i];
    entries.push_back({{"timestamp", to_rfc3339(entry.at)},
                       {"level", entry.level},
                       {"message", to_utf8(entry.message)}});
  }
  Json answered = {{"templateID", build->name},
                   {"buildID", call.arguments[1]},
                   {"status", build->status},
                   {"logEntries", std::move(entries)},
                   {"logs", Json::array()}};
  if (build->status == "error") {
    answered["reason"] = {{"message", to_utf8(build->reason)}, {"step", build->step}};
  }
  answer(call.response, 200, answered);
  return {};
}

}  // namespace glovebox::e2b
