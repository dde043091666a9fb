// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/image_templates.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "service/api/template_service.h"
#include "service/guarded/deeds.h"
#include "service/templates/registry_image.h"

namespace glovebox {
namespace {

constexpr std::chrono::seconds kBeat{1};

// A pull is not a sandbox: what the rules deny a sandbox, and its secrets, do not apply.
NetworkRules rules_of_pull(const NetworkRules& rules) {
  return {.allow = rules.allow, .otherwise = NetworkRules::Otherwise::kAllow};
}

Error nothing_out(const std::string& image) {
  return {ErrorCode::kRefused,
          "this daemon lets nothing out, so it cannot pull '" + printable(image) + "'",
          "build a template from a file and name that: glovebox template build NAME "
          "--from-docker-save FILE; or start the daemon with --network public"};
}

Result<NamedLocks::Held> wait_turn(NamedLocks& turns,
                                   const std::string& name,
                                   const std::function<bool()>& wanted) {
  for (;;) {
    if (auto turn = turns.take(name, kBeat)) {
      return std::move(*turn);
    }
    if (!wanted()) {
      return Error(ErrorCode::kUnavailable, "the client left while the image was being pulled");
    }
  }
}

}  // namespace

Result<std::string> ImageTemplates::find(const Caller& caller,
                                         const std::string& image,
                                         const NetworkRules& rules,
                                         const std::function<bool()>& wanted) {
  Recipe recipe;
  recipe.name = template_name_of(GB_TRY(parse_registry_image(image)));
  recipe.registry = image;
  recipe.network = rules_of_pull(rules);
  TemplateService& templates = service_.template_service();
  const auto is_there = [&] { return templates.find(caller, recipe.name).has_value(); };
  if (is_there()) {
    return recipe.name;
  }
  const NamedLocks::Held turn =
      GB_TRY(wait_turn(pulling_, caller.tenant + "\n" + recipe.name, wanted));
  if (is_there()) {
    return recipe.name;
  }
  Deed pulling = deed_about("template.pull", recipe.name);
  pulling.details["image"] = to_utf8(image);
  const auto pull = [&]() -> Result<TemplateBuilt> {
    if (service_.network_policy() == NetworkPolicy::kNone) {
      return nothing_out(image);
    }
    return templates.build(caller, recipe, [&wanted](const BuildEvent&) { return wanted(); });
  };
  const auto note = [](const auto& made, Deed& deed) {
    deed.details["content"] = made->info.content;
  };
  (void)GB_TRY(recorder_.act(caller, std::move(pulling), guard_.work(caller), pull, note));
  return recipe.name;
}

}  // namespace glovebox
