// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/one_shot_call.h"

#include <mutex>
#include <string>

#include "base/json/json.h"
#include "base/sys/memory_file.h"
#include "service/keeper/act_records.h"
#include "service/runs/analyser_program.h"
#include "service/runs/one_shot.h"
#include "service/runs/run_terms.h"
#include "service/runs/stream_events.h"
#include "spec/json/recording_event.h"
#include "spec/json/verdict_json.h"

namespace glovebox::keeper {
namespace {

// As much of a file as a shebang line needs.
constexpr std::size_t kHead = 512;

Result<Language> installed(Language language) {
  if (const Readiness ready = readiness(language); !ready.ready) {
    return Error(ErrorCode::kUnsupported,
                 language.title + " is not installed: " + ready.missing + " is missing",
                 ready.hint);
  }
  return language;
}

// The language that a request names, or else that of its file. What another root has installed
// turns out when it is started there.
Result<Language> language_of(const RunRequest& request,
                             bool has_other_root,
                             const CallContext& context) {
  const Registry& registry = context.keeper.registry();
  Language language =
      GB_TRY(request.language.empty()
                 ? registry.detect(request.name, std::string_view(request.code).substr(0, kHead))
                 : registry.find(request.language));
  const TierWish tier = GB_TRY(tier_for(language, request.tier, false));
  language = in_tier(std::move(language), tier.exactly);
  // A tier that runs no programs of this machine brings its own, except compilers.
  const bool is_of_tier = !traits_of(tier.exactly).runs_elf && language.compile.empty();
  return has_other_root || is_of_tier ? Result<Language>(std::move(language))
                                      : installed(std::move(language));
}

}  // namespace

Result<Language> installed_language(const std::string& name, const CallContext& context) {
  return installed(GB_TRY(context.keeper.registry().find(name)));
}

Result<nlohmann::json> run_one_shot(const RunRequest& request,
                                    const CreateOrder& wanted,
                                    const std::string& archive,
                                    CallContext& context) {
  const CreateOrder order = with_image_user(wanted);
  GB_TRY(context.keeper.admit(kDescriptorsOfOne));
  const std::vector<UniqueFd> contents = GB_TRY(hold_contents(order.shows));
  OneShot one_shot;
  one_shot.language = GB_TRY(language_of(request, !order.shows.root.empty(), context));
  if (!order.home.empty()) {
    one_shot.image = OneShot::Image{.root = order.shows.root,
                                    .home = order.home,
                                    .name = order.user,
                                    .mounts = order.shows.mounts,
                                    .workspace = archive,
                                    .user = order.image_user,
                                    .env = order.env};
  }
  if (request.analysis) {
    one_shot.language.mounts.push_back(GB_TRY(analyser_mount()));
  }
  one_shot.code = request.code;
  one_shot.name = request.name;
  one_shot.arguments = request.arguments;
  one_shot.limits = run_limits(one_shot.language, request.limits);
  one_shot.compile_limits = compile_limits(one_shot.language, {});
  one_shot.tier = request.tier;
  one_shot.as_root = request.as_root || order.as_root;
  one_shot.nested = request.nested;
  one_shot.rules = request.rules;
  one_shot.env = request.env;
  one_shot.ahead = {.sandboxes = &context.keeper.ready_sandboxes(),
                    .modules = &context.keeper.compiled_modules(),
                    .tenant = order.tenant};
  if (order.network) {
    one_shot.network = order.network->rules;
    one_shot.public_only = order.network->public_only;
    one_shot.secrets = order.network->secrets;
    one_shot.tape = request.tape;
  }
  one_shot.contents = request.files;
  one_shot.verify = request.verify;
  one_shot.checks = request.checks;
  const UniqueFd input = GB_TRY(sys::memory_file(request.standard_input));
  one_shot.stdin_fd = input.get();
  // If the caller goes, its end closes, which makes ours readable: nobody else will have the
  // answer.
  one_shot.cancel_fd = context.socket;
  // Connections end in a thread of their own, and the caller's socket takes one event at a time.
  std::mutex one_at_a_time;
  const auto emit = [&](const std::string& event) {
    const std::scoped_lock lock(one_at_a_time);
    context.tell(event);
  };
  OneShotObserver observer;
  bool watched = false;
  observer.started = [&](std::string_view id, std::string_view phase) {
    watched = note_acts(context.keeper.happenings(), order.tenant, id);
    emit(started_event(id, phase));
  };
  observer.connection = [&](const ConnectionRecord& connection) {
    emit(connection_event(connection));
  };
  StreamEvents out("stdout", one_shot.limits.output, false, emit);
  StreamEvents err("stderr", one_shot.limits.output, false, emit);
  observer.out = [&](std::string_view bytes) { out.pass(bytes); };
  observer.err = [&](std::string_view bytes) { err.pass(bytes); };
  const OneShotResult result = GB_TRY(run_once(one_shot, observer));
  if (!watched) {
    note_unwatched(context.keeper.happenings(), order.tenant, result.verdict.id,
                   result.verdict.tier);
  }
  out.finish(result.verdict.out);
  err.finish(result.verdict.err);
  if (one_shot.tape.room > 0) {
    for (const std::string& event : recording_events(result.recording)) {
      emit(event);
    }
  }
  context.wire.queue(MessageType::kEvent, verdict_event(result.verdict));  // Goes with the answer.
  return nlohmann::json();
}

}  // namespace glovebox::keeper
