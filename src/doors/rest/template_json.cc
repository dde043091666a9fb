// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/template_json.h"

#include <charconv>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "doors/rest/sandbox_json.h"
#include "service/templates/registry_image.h"

namespace glovebox::rest {
namespace {

constexpr std::size_t kMaxContent = 16UL << 20;

// What the template sets, in the words of a recipe.
Json limits_json(const LimitWishes& limits) {
  Json object = Json::object();
  each_wish([&](const auto& field) {
    if (const auto& value = limits.*field.wish) {
      object[field.name] = limit_json(*value);
    }
  });
  return object;
}

Json texts(const std::vector<std::string>& list) {
  Json array = Json::array();
  for (const std::string& text : list) {
    array.push_back(to_utf8(text));
  }
  return array;
}

Json variables(const Environment& env) {
  Json object = Json::object();
  for (const auto& [name, value] : env) {
    object[to_utf8(name)] = to_utf8(value);
  }
  return object;
}

// What the image says, in our words; what it does not say is empty.
Json image_json(const ImageConfig& image) {
  return {{"user", to_utf8(image.user)},           {"workdir", to_utf8(image.directory)},
          {"entrypoint", texts(image.entrypoint)}, {"cmd", texts(image.cmd)},
          {"exposed_ports", texts(image.ports)},   {"volumes", texts(image.volumes)},
          {"labels", variables(image.labels)},     {"stop_signal", to_utf8(image.stop_signal)}};
}

std::optional<std::uint32_t> octal(const std::string& text) {
  std::uint32_t mode = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  const bool whole = failure == std::errc{} && end == text.data() + text.size();
  return whole && mode <= 0777 ? std::optional(mode) : std::nullopt;
}

// {"username": "me", "password": "…"}, or "secret" with the name of one.
Result<void> read_login(Json object, Recipe& recipe) {
  Fields login(std::move(object), "base.login.");
  recipe.login = RegistryLogin{.registry = GB_TRY(parse_registry_image(recipe.registry)).registry,
                               .username = login.required_text("username", 256),
                               .password = login.text("password", 16UL << 10).value_or(""),
                               .secret = login.text("secret", 128).value_or("")};
  return login.done();
}

// {"registry": IMAGE, "login": {…}}, {"debootstrap": {…}}, {"oci": PATH}, {"docker": PATH} or
// {"rootfs": PATH}
Result<void> read_base(Fields& fields, Json object, Recipe& recipe) {
  Fields base(std::move(object), "base.");
  if (auto wanted = base.object("debootstrap")) {
    Fields inner(*std::move(wanted), "base.debootstrap.");
    Debootstrap debootstrap;
    debootstrap.suite = inner.required_text("suite", 64);
    debootstrap.mirror = inner.text("mirror", 1024).value_or(debootstrap.mirror);
    debootstrap.packages = inner.texts("packages", 256).value_or(std::vector<std::string>());
    GB_TRY(inner.done());
    recipe.debootstrap = std::move(debootstrap);
  }
  recipe.registry = base.text("registry", 519).value_or("");
  int images = recipe.registry.empty() ? 0 : 1;
  if (auto login = base.object("login"); login && !recipe.registry.empty()) {
    GB_TRY(read_login(*std::move(login), recipe));
  } else if (login) {
    base.refuse("login", "needs 'registry'");
  }
  for (const ImageFormat format : {ImageFormat::kOci, ImageFormat::kDocker, ImageFormat::kRootfs}) {
    if (auto path = base.text(to_string(format).c_str())) {
      recipe.image = ImageFile{.format = format, .path = *std::move(path)};
      ++images;
    }
  }
  GB_TRY(base.done());
  if (images + (recipe.debootstrap ? 1 : 0) != 1) {
    fields.refuse("base", "expected exactly one of registry, debootstrap, oci, docker and rootfs");
  }
  return {};
}

}  // namespace

Json to_json(const TemplateInfo& info) {
  const TemplateParts& parts = info.parts;
  return {{"name", to_utf8(info.name)},
          {"builtin", info.builtin},
          {"source", info.source},
          {"base", info.base.empty() ? Json(nullptr) : Json(to_utf8(info.base))},
          {"content", info.content},
          {"created", info.builtin ? Json(nullptr) : Json(to_text(info.created))},
          {"size", info.size},
          {"home", to_utf8(parts.home)},
          {"user", to_utf8(parts.user)},
          {"own_root", !parts.root.empty()},
          {"packages", texts(parts.packages)},
          {"env", variables(parts.env)},
          {"image", image_json(parts.image)},
          {"start", to_utf8(parts.start)},
          {"ready", to_utf8(parts.ready)},
          {"preload", texts(parts.preload)},
          {"limits", limits_json(parts.limits)},
          {"nested", parts.nested},
          {"policy", texts(info.policies)}};
}

Result<RecipeStep> read_recipe_file(Fields& fields) {
  RecipeStep step;
  step.kind = RecipeStep::Kind::kFile;
  step.path = fields.required_text("path", 4'096);
  const auto content = fields.text("content", kMaxContent);
  const auto encoded = fields.text("base64", 2 * kMaxContent);
  const auto mode = fields.text("mode", 8);
  if (mode) {
    const auto bits = octal(*mode);
    step.mode = bits.value_or(0644);
    if (!bits) {
      fields.refuse("mode", "expected permissions like \"0644\"");
    }
  }
  const auto bytes = encoded ? from_base64(*encoded) : std::nullopt;
  if (content.has_value() == encoded.has_value()) {
    fields.refuse("content", "expected either 'content' or 'base64'");
  } else if (encoded && !bytes) {
    fields.refuse("base64", "invalid base64");
  }
  GB_TRY(fields.done());
  step.text = content ? *content : *bytes;
  return step;
}

Result<Recipe> read_recipe(Fields& fields) {
  Recipe recipe;
  recipe.name = fields.required_text("name", 128);
  if (auto object = fields.object_or_text("base")) {
    if (object->is_string()) {
      recipe.base = object->get<std::string>();
    } else {
      GB_TRY(read_base(fields, *std::move(object), recipe));
    }
  }
  recipe.home = fields.text("home", 64).value_or("");
  recipe.user = fields.text("user", 32).value_or("");
  recipe.packages = fields.texts("packages", 256).value_or(std::vector<std::string>());
  recipe.package_sources = fields.texts("package_sources", 16).value_or(std::vector<std::string>());
  for (Json& file : fields.objects("files", 1'000).value_or(std::vector<Json>())) {
    Fields inner(std::move(file), "files.");
    recipe.steps.push_back(GB_TRY(read_recipe_file(inner)));
  }
  for (std::string& command : fields.texts("commands", 256).value_or(std::vector<std::string>())) {
    RecipeStep step;
    step.kind = RecipeStep::Kind::kCommand;
    step.text = std::move(command);
    recipe.steps.push_back(std::move(step));
  }
  recipe.network = GB_TRY(read_network(fields)).value_or(NetworkRules());
  recipe.env = fields.environment("env").value_or(Environment());
  recipe.start = fields.text("start", 64 * 1024).value_or("");
  recipe.ready = fields.text("ready", 64 * 1024).value_or("");
  recipe.preload = fields.texts("preload", 64).value_or(std::vector<std::string>());
  recipe.limits = GB_TRY(read_limits(fields));
  recipe.nested = fields.flag("nested").value_or(false);
  recipe.policies = fields.texts("policy", 16).value_or(std::vector<std::string>());
  GB_TRY(fields.done());
  GB_TRY(validate(recipe));
  return recipe;
}

}  // namespace glovebox::rest
