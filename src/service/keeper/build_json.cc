// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/build_json.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "service/keeper/codec.h"
#include "service/keeper/field_lists.h"
#include "spec/json/network_rules_json.h"

namespace glovebox {

using nlohmann::json;

// The fields of each, without files, which travel as descriptors, and rules, which are checked.
template <>
inline constexpr auto keeper::kFields<RecipeStep> =
    std::tuple{Field{"kind", &RecipeStep::kind}, Field{"text", &RecipeStep::text},
               Field{"path", &RecipeStep::path}, Field{"mode", &RecipeStep::mode},
               Field{"cwd", &RecipeStep::cwd},   Field{"env", &RecipeStep::env}};
template <>
inline constexpr auto keeper::kFields<Debootstrap> =
    std::tuple{Field{"suite", &Debootstrap::suite}, Field{"mirror", &Debootstrap::mirror},
               Field{"packages", &Debootstrap::packages}};
// Only from process to process, in memory. A secret is its value by now.
template <>
inline constexpr auto keeper::kFields<RegistryLogin> = std::tuple{
    Field{"registry", &RegistryLogin::registry}, Field{"username", &RegistryLogin::username},
    Field{"password", &RegistryLogin::password}};
template <>
inline constexpr auto keeper::kFields<Recipe> =
    std::tuple{Field{"name", &Recipe::name},
               Field{"base", &Recipe::base},
               Field{"home", &Recipe::home},
               Field{"user", &Recipe::user},
               Field{"packages", &Recipe::packages},
               Field{"package_sources", &Recipe::package_sources},
               Field{"env", &Recipe::env},
               Field{"start", &Recipe::start},
               Field{"ready", &Recipe::ready},
               Field{"preload", &Recipe::preload},
               Field{"limits", &Recipe::limits},
               Field{"nested", &Recipe::nested},
               Field{"debootstrap", &Recipe::debootstrap},
               Field{"registry", &Recipe::registry},
               Field{"login", &Recipe::login}};
template <>
inline constexpr auto keeper::kFields<TemplateParts> =
    std::tuple{Field{"home", &TemplateParts::home},     Field{"user", &TemplateParts::user},
               Field{"root", &TemplateParts::root},     Field{"files", &TemplateParts::files},
               Field{"layers", &TemplateParts::layers}, Field{"packages", &TemplateParts::packages},
               Field{"env", &TemplateParts::env},       Field{"start", &TemplateParts::start},
               Field{"ready", &TemplateParts::ready},   Field{"preload", &TemplateParts::preload},
               Field{"limits", &TemplateParts::limits}, Field{"nested", &TemplateParts::nested},
               Field{"cache", &TemplateParts::cache}};

// Records have the managers of layers by name.
template <>
struct keeper::Coding<TemplateParts::Layer> {
  static json encode(const TemplateParts::Layer& layer) {
    return {{"manager", to_string(layer.manager)}, {"key", layer.key}};
  }
  static void decode(const json& from, TemplateParts::Layer& layer) {
    layer.key = fields::decoded<std::string>(fields::member(from, "key"));
    layer.manager = fields::decoded<std::string>(fields::member(from, "manager")) == "npm"
                        ? PackageManager::kNpm
                        : PackageManager::kPip;
  }
};

namespace {

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// Returns the place of the descriptor among those that go with the recipe.
Result<std::size_t> open_file(const std::string& path, std::vector<UniqueFd>& opened) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    return Error::from_errno("open " + printable(path));
  }
  opened.push_back(std::move(fd));
  return opened.size() - 1;
}

// A name for a file that its sender could read: opening with O_PATH takes no right to read.
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
    json object = keeper::fields::encode(step);
    if (step.kind == RecipeStep::Kind::kArchive) {
      object["archive"] = GB_TRY(open_file(step.archive, opened));
    }
    steps.push_back(std::move(object));
  }
  return steps;
}

Result<RecipeStep> to_step(const json& object, const std::vector<UniqueFd>& opened) {
  auto step = keeper::fields::decoded<RecipeStep>(object);
  if (static_cast<unsigned>(step.kind) > static_cast<unsigned>(RecipeStep::Kind::kArchive)) {
    return Error(ErrorCode::kInvalid, "unknown step of a recipe");
  }
  step.mode &= 0777U;
  if (step.kind == RecipeStep::Kind::kArchive) {
    step.archive = GB_TRY(name_of(number_in(object, "archive"), opened));
  }
  return step;
}

}  // namespace

json parts_json(const TemplateParts& parts) {
  json object = keeper::fields::encode(parts);
  object["image"] = to_json(parts.image);
  return object;
}

std::optional<TemplateParts> to_parts(const json& object) {
  auto parts = keeper::fields::decoded<TemplateParts>(object);
  auto image = parse_image_config(keeper::fields::member(object, "image"));
  if (parts.home.empty() || !image) {
    return std::nullopt;
  }
  parts.image = *std::move(image);
  return parts;
}

Result<json> recipe_json(const Recipe& recipe, std::vector<UniqueFd>& opened) {
  json object = keeper::fields::encode(recipe);
  object["steps"] = GB_TRY(steps_json(recipe, opened));
  object["network"] = to_json(recipe.network);
  if (recipe.dockerfile) {
    json files = json::array();
    for (const DockerfileBuild::File& file : recipe.dockerfile->files) {
      const auto place = GB_TRY(open_file(file.path, opened));
      files.push_back({{"name", file.name}, {"file", place}});
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
    const auto place = GB_TRY(open_file(recipe.image->path, opened));
    object["image"] = {{"format", static_cast<int>(recipe.image->format)}, {"file", place}};
  }
  return object;
}

Result<Recipe> to_recipe(const json& object, const std::vector<UniqueFd>& opened) {
  if (!object.is_object()) {
    return Error(ErrorCode::kInvalid, "the recipe is not an object");
  }
  auto recipe = keeper::fields::decoded<Recipe>(object);
  for (const json& step : object.value("steps", json::array())) {
    recipe.steps.push_back(GB_TRY(to_step(step, opened)));
  }
  if (object.contains("network")) {
    recipe.network = GB_TRY(parse_network_rules(text_in(object, "network")));
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
      const std::string path = GB_TRY(name_of(number_in(file, "file"), opened));
      recipe.dockerfile->files.push_back({.name = text_in(file, "name"), .path = path});
    }
  }
  if (object.contains("image")) {
    const json& image = object["image"];
    const std::uint64_t format = number_in(image, "format");
    if (format > static_cast<std::uint64_t>(ImageFormat::kRootfs)) {
      return Error(ErrorCode::kInvalid, "unknown format of an image");
    }
    const std::string path = GB_TRY(name_of(number_in(image, "file"), opened));
    recipe.image = ImageFile{.format = static_cast<ImageFormat>(format), .path = path};
  }
  GB_TRY(validate(recipe));
  return recipe;
}

}  // namespace glovebox
