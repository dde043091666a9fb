// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/build_json.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/text.h"
#include "service/keeper/codec.h"
#include "spec/json/network_rules_json.h"

namespace glovebox {
namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> texts_in(const json& object, const char* name) {
  std::vector<std::string> texts;
  const auto found = object.find(name);
  if (found != object.end() && found->is_array()) {
    for (const json& text : *found) {
      texts.push_back(text.is_string() ? text.get<std::string>() : std::string());
    }
  }
  return texts;
}

std::uint64_t number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// The place of a descriptor among those that go with the recipe.
Result<std::size_t> open_file(const std::string& path, std::vector<UniqueFd>& opened) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    return Error::from_errno("open " + printable(path));
  }
  opened.push_back(std::move(fd));
  return opened.size() - 1;
}

// A name for a file that whoever passed it could read: O_PATH takes no right to read.
Result<std::string> name_of(std::uint64_t place, const std::vector<UniqueFd>& opened) {
  const int flags = place < opened.size() ? ::fcntl(opened[place].get(), F_GETFL) : -1;
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY) {
    return Error(ErrorCode::kInvalid, "a file of the recipe was not passed on");
  }
  return "/proc/self/fd/" + std::to_string(opened[place].get());
}

Result<json> steps_json(const Recipe& recipe, std::vector<UniqueFd>& opened) {
  json steps = json::array();
  for (const RecipeStep& step : recipe.steps) {
    json object = {{"kind", static_cast<int>(step.kind)},
                   {"text", step.text},
                   {"path", step.path},
                   {"mode", step.mode},
                   {"cwd", step.cwd},
                   {"env", keeper::to_json(step.env)}};
    if (step.kind == RecipeStep::Kind::kArchive) {
      object["archive"] = GB_TRY(open_file(step.archive, opened));
    }
    steps.push_back(std::move(object));
  }
  return steps;
}

Result<RecipeStep> to_step(const json& object, const std::vector<UniqueFd>& opened) {
  const std::uint64_t kind = number_in(object, "kind");
  if (kind > static_cast<std::uint64_t>(RecipeStep::Kind::kArchive)) {
    return Error(ErrorCode::kInvalid, "unknown step of a recipe");
  }
  RecipeStep step{.kind = static_cast<RecipeStep::Kind>(kind),
                  .text = text_in(object, "text"),
                  .path = text_in(object, "path"),
                  .mode = static_cast<std::uint32_t>(number_in(object, "mode") & 0777U),
                  .cwd = text_in(object, "cwd"),
                  .env = keeper::to_environment(object.value("env", json::array()))};
  if (step.kind == RecipeStep::Kind::kArchive) {
    step.archive = GB_TRY(name_of(number_in(object, "archive"), opened));
  }
  return step;
}

}  // namespace

json parts_json(const TemplateParts& parts) {
  json layers = json::array();
  for (const TemplateParts::Layer& layer : parts.layers) {
    layers.push_back({{"manager", to_string(layer.manager)}, {"key", layer.key}});
  }
  return {{"home", parts.home},
          {"user", parts.user},
          {"root", parts.root},
          {"files", parts.files},
          {"layers", std::move(layers)},
          {"packages", parts.packages},
          {"env", keeper::to_json(parts.env)},
          {"start", parts.start},
          {"ready", parts.ready},
          {"preload", parts.preload},
          {"limits", keeper::to_json(parts.limits)},
          {"image", to_json(parts.image)},
          {"cache", parts.cache}};
}

std::optional<TemplateParts> to_parts(const json& object) {
  if (!object.is_object() || text_in(object, "home").empty()) {
    return std::nullopt;
  }
  TemplateParts parts{.home = text_in(object, "home"),
                      .user = text_in(object, "user"),
                      .root = text_in(object, "root"),
                      .files = text_in(object, "files"),
                      .layers = {},
                      .packages = texts_in(object, "packages"),
                      .env = keeper::to_environment(object.value("env", json::array())),
                      .start = text_in(object, "start"),
                      .ready = text_in(object, "ready"),
                      .preload = texts_in(object, "preload"),
                      .limits = keeper::to_limit_wishes(object.value("limits", json::object())),
                      .image = {},
                      .cache = texts_in(object, "cache")};
  auto image = parse_image_config(object.value("image", json()));
  if (!image) {
    return std::nullopt;
  }
  parts.image = *std::move(image);
  const auto layers = object.find("layers");
  if (layers != object.end() && layers->is_array()) {
    for (const json& layer : *layers) {
      if (layer.is_object()) {
        parts.layers.push_back({.manager = text_in(layer, "manager") == "npm"
                                               ? PackageManager::kNpm
                                               : PackageManager::kPip,
                                .key = text_in(layer, "key")});
      }
    }
  }
  return parts;
}

Result<json> recipe_json(const Recipe& recipe, std::vector<UniqueFd>& opened) {
  json object = {{"name", recipe.name},
                 {"base", recipe.base},
                 {"home", recipe.home},
                 {"user", recipe.user},
                 {"packages", recipe.packages},
                 {"package_sources", recipe.package_sources},
                 {"steps", GB_TRY(steps_json(recipe, opened))},
                 {"network", glovebox::to_json(recipe.network)},
                 {"env", keeper::to_json(recipe.env)},
                 {"start", recipe.start},
                 {"ready", recipe.ready},
                 {"preload", recipe.preload},
                 {"limits", keeper::to_json(recipe.limits)}};
  if (!recipe.registry.empty()) {
    object["registry"] = recipe.registry;
  }
  if (recipe.login) {
    // Only from process to process, in memory. The secret is its value by now.
    object["login"] = {{"registry", recipe.login->registry},
                       {"username", recipe.login->username},
                       {"password", recipe.login->password}};
  }
  if (recipe.debootstrap) {
    object["debootstrap"] = {{"suite", recipe.debootstrap->suite},
                             {"mirror", recipe.debootstrap->mirror},
                             {"packages", recipe.debootstrap->packages}};
  }
  if (recipe.dockerfile) {
    json files = json::array();
    for (const DockerfileBuild::File& file : recipe.dockerfile->files) {
      files.push_back({{"name", file.name}, {"file", GB_TRY(open_file(file.path, opened))}});
    }
    object["dockerfile"] = {{"path", recipe.dockerfile->path},
                            {"text", recipe.dockerfile->text},
                            {"files", std::move(files)},
                            {"args", keeper::to_json(recipe.dockerfile->args)},
                            {"use_cache", recipe.dockerfile->use_cache}};
    if (!recipe.dockerfile->context.empty()) {
      object["dockerfile"]["context"] = GB_TRY(open_file(recipe.dockerfile->context, opened));
    }
  }
  if (recipe.image) {
    object["image"] = {{"format", static_cast<int>(recipe.image->format)},
                       {"file", GB_TRY(open_file(recipe.image->path, opened))}};
  }
  return object;
}

Result<Recipe> to_recipe(const json& object, const std::vector<UniqueFd>& opened) {
  if (!object.is_object()) {
    return Error(ErrorCode::kInvalid, "the recipe is not an object");
  }
  Recipe recipe;
  recipe.name = text_in(object, "name");
  recipe.base = text_in(object, "base");
  recipe.home = text_in(object, "home");
  recipe.user = text_in(object, "user");
  recipe.packages = texts_in(object, "packages");
  recipe.package_sources = texts_in(object, "package_sources");
  for (const json& step : object.value("steps", json::array())) {
    recipe.steps.push_back(GB_TRY(to_step(step, opened)));
  }
  if (object.contains("network")) {
    recipe.network = GB_TRY(parse_network_rules(text_in(object, "network")));
  }
  recipe.env = keeper::to_environment(object.value("env", json::array()));
  recipe.start = text_in(object, "start");
  recipe.ready = text_in(object, "ready");
  recipe.preload = texts_in(object, "preload");
  recipe.limits = keeper::to_limit_wishes(object.value("limits", json::object()));
  recipe.registry = text_in(object, "registry");
  if (object.contains("login")) {
    const json& login = object["login"];
    recipe.login = RegistryLogin{.registry = text_in(login, "registry"),
                                 .username = text_in(login, "username"),
                                 .password = text_in(login, "password")};
  }
  if (object.contains("debootstrap")) {
    const json& wanted = object["debootstrap"];
    recipe.debootstrap = Debootstrap{.suite = text_in(wanted, "suite"),
                                     .mirror = text_in(wanted, "mirror"),
                                     .packages = texts_in(wanted, "packages")};
  }
  if (object.contains("dockerfile")) {
    const json& wanted = object["dockerfile"];
    recipe.dockerfile =
        DockerfileBuild{.context = {},
                        .path = text_in(wanted, "path"),
                        .text = text_in(wanted, "text"),
                        .args = keeper::to_environment(wanted.value("args", json::array())),
                        .use_cache = wanted.value("use_cache", true)};
    if (wanted.contains("context")) {
      recipe.dockerfile->context = GB_TRY(name_of(number_in(wanted, "context"), opened));
    }
    for (const json& file : wanted.value("files", json::array())) {
      recipe.dockerfile->files.push_back(
          {.name = text_in(file, "name"),
           .path = GB_TRY(name_of(number_in(file, "file"), opened))});
    }
  }
  if (object.contains("image")) {
    const json& image = object["image"];
    const std::uint64_t format = number_in(image, "format");
    if (format > static_cast<std::uint64_t>(ImageFormat::kRootfs)) {
      return Error(ErrorCode::kInvalid, "unknown format of an image");
    }
    recipe.image = ImageFile{.format = static_cast<ImageFormat>(format),
                             .path = GB_TRY(name_of(number_in(image, "file"), opened))};
  }
  GB_TRY(validate(recipe));
  return recipe;
}

}  // namespace glovebox
