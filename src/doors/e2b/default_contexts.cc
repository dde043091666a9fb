// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/default_contexts.h"

#include <algorithm>

#include "doors/e2b/change_notes.h"
#include "doors/e2b/options.h"
#include "doors/e2b/python_prelude.h"

namespace glovebox::e2b {
namespace {

// An interpreter starts in less.
constexpr std::chrono::seconds kPatience{90};

Error no_context(const std::string& id) {
  return Error(ErrorCode::kNotFound, "Context " + id + " not found");
}

}  // namespace

std::string normal_language(std::string_view name) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!name.empty() && is_space(name.front())) {
    name.remove_prefix(1);
  }
  while (!name.empty() && is_space(name.back())) {
    name.remove_suffix(1);
  }
  std::string language(name);
  std::ranges::transform(language, language.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return language == "js" ? "javascript" : language == "ts" ? "typescript" : language;
}

Result<NamedLocks::Held> DefaultContexts::lock(std::string_view sandbox) {
  auto held = locks_.take(sandbox, kPatience);
  if (!held) {
    return Error(ErrorCode::kUnavailable,
                 "another request is still starting a context in this sandbox",
                 "try again in a moment");
  }
  return *std::move(held);
}

Result<SandboxNotes> DefaultContexts::fresh(const Visit& visit) {
  const SandboxInfo info = GB_TRY(service_.find(visit.caller, visit.info.id));
  return read_notes(info.extra).value_or(visit.notes);
}

Result<void> DefaultContexts::change(const Visit& visit,
                                     const std::function<void(SandboxNotes&)>& edit) {
  auto changed = change_notes(service_, visit.caller, visit.info.id,
                              [&edit](const SandboxInfo&, SandboxNotes& notes, SandboxChange&) {
                                edit(notes);
                                return Result<void>();
                              });
  return changed ? Result<void>() : Result<void>(changed.error());
}

Result<ContextInfo> DefaultContexts::make(const Visit& visit,
                                          const std::string& language,
                                          std::string cwd) {
  ContextRequest request;
  request.language = language;
  request.cwd = std::move(cwd);
  ContextInfo made = GB_TRY(service_.create_context(visit.caller, visit.info.id, request));
  prepare(visit, language, made.id);
  return made;
}

void DefaultContexts::prepare(const Visit& visit,
                              const std::string& language,
                              const std::string& context) {
  if (language != "python") {
    return;
  }
  ExecuteRequest request;
  request.code = python_prelude();
  request.store_history = false;
  // A context in which this fails shows less, and works.
  (void)service_.execute(visit.caller, visit.info.id, context, request,
                         [](std::string_view) { return true; });
}

Result<ChosenContext> DefaultContexts::of_language(const Visit& visit,
                                                   const std::string& language) {
  const auto known = visit.notes.contexts.find(language);
  if (known != visit.notes.contexts.end() && !known->second.made.empty()) {
    return ChosenContext{.id = known->second.made, .language = language};
  }
  return remake(visit, language, "");
}

Result<ChosenContext> DefaultContexts::of_id(const Visit& visit, const std::string& id) {
  for (const auto& [language, context] : visit.notes.contexts) {
    if (context.id == id) {
      return of_language(visit, language);
    }
  }
  return ChosenContext{.id = id, .language = {}};
}

Result<ChosenContext> DefaultContexts::in_place_of(const Visit& visit, const ChosenContext& gone) {
  return gone.language.empty() ? Result<ChosenContext>(no_context(gone.id))
                               : remake(visit, gone.language, gone.id);
}

Result<ChosenContext> DefaultContexts::remake(const Visit& visit,
                                              const std::string& language,
                                              const std::string& gone) {
  const auto held = GB_TRY(lock(visit.info.id));
  // Another request may have made it meanwhile.
  SandboxNotes notes = GB_TRY(fresh(visit));
  if (const std::string& meanwhile = notes.contexts[language].made;
      !meanwhile.empty() && meanwhile != gone) {
    return ChosenContext{.id = meanwhile, .language = language};
  }
  const std::string made = GB_TRY(make(visit, language, kHome)).id;
  GB_TRY(change(visit, [&](SandboxNotes& now) {
    SandboxNotes::DefaultContext& context = now.contexts[language];
    context.made = made;
    if (context.id.empty()) {
      context.id = made;
    }
  }));
  return ChosenContext{.id = made, .language = language};
}

Result<ShownContext> DefaultContexts::create(const Visit& visit,
                                             const std::string& language,
                                             const std::string& cwd) {
  const std::string wanted = cwd.empty() ? kHome : cwd;
  const ContextInfo made = GB_TRY(make(visit, language, wanted));
  return ShownContext{.id = made.id, .language = language, .cwd = wanted};
}

Result<std::vector<ShownContext>> DefaultContexts::list(const Visit& visit) {
  std::vector<ShownContext> shown;
  // E2B makes these two when a sandbox starts, in this order.
  for (const char* language : {"python", "javascript"}) {
    if (const auto found = visit.notes.contexts.find(language);
        found != visit.notes.contexts.end()) {
      shown.push_back({.id = found->second.id, .language = language, .cwd = kHome});
    }
  }
  for (const ContextInfo& each : GB_TRY(service_.contexts(visit.caller, visit.info.id))) {
    const bool listed = std::ranges::any_of(visit.notes.contexts, [&](const auto& context) {
      return context.second.made == each.id && context.second.id != each.id;
    });
    if (!listed) {
      shown.push_back({.id = each.id, .language = each.language, .cwd = each.cwd});
    }
  }
  return shown;
}

Result<void> DefaultContexts::remove(const Visit& visit, const std::string& id) {
  const auto held = GB_TRY(lock(visit.info.id));
  const SandboxNotes notes = GB_TRY(fresh(visit));
  const auto is_meant = [&id](const auto& each) { return each.second.id == id; };
  const auto found = std::ranges::find_if(notes.contexts, is_meant);
  const std::string made = found == notes.contexts.end() ? id : found->second.made;
  if (found != notes.contexts.end()) {
    GB_TRY(change(visit, [&](SandboxNotes& now) { std::erase_if(now.contexts, is_meant); }));
    if (made.empty()) {
      return {};
    }
  }
  auto removed = service_.delete_context(visit.caller, visit.info.id, made);
  if (!removed && removed.error().code() == ErrorCode::kNotFound) {
    return no_context(id);
  }
  return removed;
}

Result<void> DefaultContexts::restart(const Visit& visit, const std::string& id) {
  std::string language;
  std::string made = id;
  for (const auto& [name, context] : visit.notes.contexts) {
    if (context.id == id) {
      language = name;
      made = context.made;
    }
  }
  const auto contexts = GB_TRY(service_.contexts(visit.caller, visit.info.id));
  const auto found = std::ranges::find(contexts, made, &ContextInfo::id);
  if (found == contexts.end()) {
    // A default one that was never used is as new as it can be.
    return language.empty() ? Result<void>(no_context(id)) : Result<void>();
  }
  if (auto restarted = service_.restart_context(visit.caller, visit.info.id, made); !restarted) {
    return restarted;
  }
  prepare(visit, found->language, made);
  return {};
}

}  // namespace glovebox::e2b
