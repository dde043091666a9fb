// SPDX-License-Identifier: Apache-2.0
// A held sandbox that is saved with its contexts, and one that was loaded.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/json/json.h"
#include "base/sys/write_all.h"
#include "service/keeper/codec.h"
#include "service/keeper/held_sandbox.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;

// Beside what the tier writes; sealed with it.
constexpr const char* kContexts = "/contexts.json";
constexpr std::size_t kMostBytes = 16UL << 20;

json to_json(const RestingContext& resting) {
  return {{"language", resting.language},
          {"version", resting.version},
          {"features", resting.features},
          {"process", resting.process},
          {"next_channel", resting.next_channel}};
}

// The file is ours, and was checked against its seal.
RestingContext to_resting(const json& from) {
  return {.language = from.at("language"),
          .version = from.at("version"),
          .features = from.at("features"),
          .process = from.at("process"),
          .next_channel = from.at("next_channel")};
}

Result<json> read_contexts(const std::string& directory) {
  const std::string path = directory + kContexts;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string text(kMostBytes, '\0');
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (got < 0) {
    return Error::from_errno("read " + path);
  }
  text.resize(static_cast<std::size_t>(got));
  return json::parse(text, nullptr, false);
}

Result<void> write_contexts(const std::string& directory, const std::string& text) {
  if (text.size() >= kMostBytes) {
    return Error(ErrorCode::kExhausted, "the sandbox has too many contexts to be saved",
                 "delete some of them");
  }
  const std::string path = directory + kContexts;
  const UniqueFd file(
      ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file && sys::write_all(file.get(), text) ? Result<void>()
                                                  : Error::from_errno("write " + path);
}

}  // namespace

Result<HeldSandbox::AtRest> HeldSandbox::come_to_rest() {
  if (network_ && network_->reads_tls()) {
    return Error(ErrorCode::kUnsupported,
                 "a sandbox with secrets for hosts over TLS cannot be saved with its memory: its "
                 "programs trust a certificate that no other sandbox has",
                 "pause it without saving it to disk, or fork it without its memory");
  }
  const auto living =
      std::ranges::find_if(processes_, [](const auto& entry) { return !entry.second->ended(); });
  if (living != processes_.end() || starting_ > 0) {
    return Error(ErrorCode::kConflict, "a process that a client has started runs in the sandbox",
                 "end it first");
  }
  AtRest rest;
  json contexts = json::array();
  for (const Named& named : contexts_) {
    rest.turns.push_back(GB_TRY(named.context->rest()));
    const auto& resting = rest.turns.back().resting;
    if (!resting && !named.context->info().alive) {
      continue;  // Its interpreter has ended: there is nothing to come back to.
    }
    contexts.push_back({{"id", named.id},
                        {"request", keeper::to_json(named.context->request())},
                        {"resting", resting ? to_json(*resting) : json()}});
  }
  const json all = {{"next", next_context_}, {"contexts", std::move(contexts)}};
  rest.told = all.dump(-1, ' ', false, json::error_handler_t::replace);
  return rest;
}

Result<void> HeldSandbox::save(const std::string& directory) {
  const auto pass = GB_TRY(gate_->enter());
  if (!sandbox_->features().snapshots_memory) {
    return sandbox_->save(directory);  // Which says why it cannot.
  }
  AtRest rest;
  {
    const std::scoped_lock lock(mutex_);
    rest = GB_TRY(come_to_rest());
    leaving_ = true;
  }
  if (auto written = write_contexts(directory, rest.told); !written) {
    const std::scoped_lock lock(mutex_);
    leaving_ = false;
    return written;
  }
  auto saved = sandbox_->save(directory);
  if (!saved) {
    sandbox_->kill();
  }
  return saved;
}

Result<void> HeldSandbox::copy(const std::string& directory) {
  const auto pass = GB_TRY(gate_->enter());
  if (!sandbox_->features().snapshots_memory) {
    return sandbox_->copy(directory);  // Which says why it cannot.
  }
  if (paused()) {
    return Error(ErrorCode::kConflict, "the sandbox is paused", "resume it first");
  }
  AtRest rest;
  {
    const std::scoped_lock lock(mutex_);
    rest = GB_TRY(come_to_rest());
  }
  GB_TRY(write_contexts(directory, rest.told));
  return sandbox_->copy(directory);
}

Result<void> HeldSandbox::wake(const Registry& registry, const std::string& directory) {
  const json saved = GB_TRY(read_contexts(directory));
  if (!saved.is_object()) {
    return Error(ErrorCode::kInvalid, "the saved sandbox is damaged: its contexts are unreadable",
                 "it cannot be continued; delete it");
  }
  const std::scoped_lock lock(mutex_);
  next_context_ = saved.at("next");
  for (const json& each : saved.at("contexts")) {
    const ContextRequest request = to_context_request(each.at("request"));
    std::unique_ptr<Context> context;
    if (const json& resting = each.at("resting"); resting.is_object()) {
      auto woken = Context::wake(*sandbox_, to_resting(resting));
      if (!woken) {
        continue;  // Its code can cause that; it does not concern the others.
      }
      context = std::move(woken).value();
    }
    std::string id = each.at("id");
    auto held = std::make_shared<HeldContext>(id, request, starter(registry, request),
                                              std::move(context), shared());
    contexts_.push_back({std::move(id), std::move(held)});
  }
  while (!sandbox_->residents().empty()) {
    sandbox_->dismiss(sandbox_->residents().back());
  }
  return {};
}

}  // namespace glovebox::keeper
