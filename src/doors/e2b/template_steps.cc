// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_steps.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/shell_words.h"
#include "base/text.h"
#include "doors/e2b/options.h"
#include "doors/e2b/template_dockerfile.h"
#include "service/templates/registry_image.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxSteps = 1'000;

// What E2B calls its own images, with or without a tag.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOurImages = {
    {{"e2bdev/base", "base"},
     {"e2bdev/code-interpreter", "code-interpreter"},
     {"base", "base"},
     {"code-interpreter", "code-interpreter"}}};

std::string absolute(const std::string& directory, const std::string& path) {
  return path.starts_with('/') ? path : directory + "/" + path;
}

bool can_be_written(const std::string& path) {
  const std::string whole = path + "/";
  return whole.find("/../") == std::string::npos &&
         (whole.starts_with(std::string(kHome) + "/") || whole.starts_with("/tmp/"));
}

Error not_in_home(const std::string& path) {
  return {ErrorCode::kUnsupported, "'" + printable(path) + "' cannot be written",
          "only " + std::string(kHome) +
              " is saved in a template; to add files elsewhere, build its root with "
              "'glovebox template build'"};
}

class Translator {
 public:
  Translator(const FindUpload& find_upload) : find_upload_(find_upload) {}

  Result<void> take(const Json& step, std::size_t number, Recipe& recipe) {
    const std::string type = GB_TRY(text_member(step, "type")).value_or("");
    const std::vector<std::string> args = GB_TRY(texts_member(step, "args"));
    if (type == "RUN" && !args.empty()) {
      GB_TRY(check_user(args.size() > 1 ? args[1] : ""));
      return add_command(recipe, args[0]);
    }
    if (type == "WORKDIR" && args.size() == 1) {
      directory_ = absolute(directory_, args[0]);
      if (!can_be_written(directory_)) {
        return not_in_home(directory_);
      }
      const std::string made = directory_;
      return add_command(recipe, "mkdir -p " + shell_quoted(made), kHome);
    }
    if (type == "USER" && args.size() == 1) {
      return check_user(args[0]);
    }
    if (type == "ENV" && args.size() % 2 == 0) {
      for (std::size_t i = 0; i < args.size(); i += 2) {
        env_.emplace_back(args[i], args[i + 1]);
        recipe.env.emplace_back(args[i], args[i + 1]);
      }
      return {};
    }
    if (type == "COPY" && args.size() >= 2) {
      const std::string hash = GB_TRY(text_member(step, "filesHash")).value_or("");
      return add_copy(recipe, number, args, hash);
    }
    return Error(ErrorCode::kUnsupported, "the step '" + printable(type) + "' is not supported");
  }

 private:
  Result<void> add_command(Recipe& recipe,
                           const std::string& text,
                           const std::string& cwd = {}) const {
    RecipeStep step;
    step.kind = RecipeStep::Kind::kCommand;
    step.text = text;
    step.cwd = cwd.empty() ? directory_ : cwd;
    step.env = env_;
    recipe.steps.push_back(std::move(step));
    return {};
  }

  // As Docker's COPY.
  Result<void> add_copy(Recipe& recipe,
                        std::size_t number,
                        const std::vector<std::string>& args,
                        const std::string& hash) const {
    const std::string target = absolute(directory_, args[1]);
    if (!can_be_written(target)) {
      return not_in_home(target);
    }
    const std::string archive = find_upload_(hash);
    if (archive.empty()) {
      return Error(ErrorCode::kInvalid, "the files of this step were not uploaded");
    }
    const std::string scratch = std::string(kHome) + "/.copy-" + std::to_string(number);
    RecipeStep unpack;
    unpack.kind = RecipeStep::Kind::kArchive;
    unpack.path = scratch;
    unpack.archive = archive;
    recipe.steps.push_back(std::move(unpack));
    return add_command(recipe, copy_script(args, target, scratch), kHome);
  }

  const FindUpload& find_upload_;
  std::string directory_ = kHome;
  Environment env_;
};

// A template of ours, or the name of an image of a registry.
struct Base {
  std::string name;
  bool image = false;
  std::optional<RegistryLogin> login{};
};

// A login is a name and a password. Google's is one, too; Amazon's has to be asked for.
Result<std::optional<RegistryLogin>> login_of(const Json& body, const std::string& image) {
  const Json login = GB_TRY(object_member(body, "fromImageRegistry"));
  if (login.empty()) {
    return std::optional<RegistryLogin>();
  }
  const auto text = [&login](const char* name) -> Result<std::string> {
    return GB_TRY(text_member(login, name)).value_or("");
  };
  RegistryLogin made{.registry = GB_TRY(parse_registry_image(image)).registry, .username = {}};
  const std::string type = GB_TRY(text("type"));
  if (type == "registry") {
    made.username = GB_TRY(text("username"));
    made.password = GB_TRY(text("password"));
  } else if (type == "gcp") {
    made.username = "_json_key";
    made.password = GB_TRY(text("serviceAccountJson"));
  } else if (type == "aws") {
    return Error(ErrorCode::kUnsupported, "a login with an AWS access key is not supported",
                 "fetch a password with 'aws ecr get-login-password', and use fromImage with the "
                 "user name AWS");
  } else {
    return Error(ErrorCode::kInvalid, "'fromImageRegistry' has the unknown type '" +
                                          printable(type.substr(0, 64)) + "'");
  }
  return std::optional(std::move(made));
}

Result<Base> base_of(const Json& body, const FindTemplate& find_template) {
  if (const auto name = GB_TRY(text_member(body, "fromTemplate")); name && !name->empty()) {
    return Base{.name = GB_TRY(find_template(*name))};
  }
  const std::string image = GB_TRY(text_member(body, "fromImage")).value_or("e2bdev/base");
  const std::string bare = image.substr(0, image.find(':', image.rfind('/') + 1));
  for (const auto& [known, ours] : kOurImages) {
    if (bare == known) {
      return Base{.name = std::string(ours)};
    }
  }
  auto login = GB_TRY(login_of(body, image));
  return Base{.name = image, .image = true, .login = std::move(login)};
}

}  // namespace

Result<void> check_user(const std::string& user) {
  if (user.empty() || user == "user" || user == "root") {
    return {};
  }
  return Error(ErrorCode::kUnsupported, "unknown user '" + printable(user) + "'",
               "use user or root");
}

Result<OrderedBuild> recipe_of_build(const Json& body,
                                     const FindUpload& find_upload,
                                     const FindTemplate& find_template,
                                     std::string& failed_step) {
  failed_step = "base";
  OrderedBuild build;
  Recipe& recipe = build.recipe;
  const Base base = GB_TRY(base_of(body, find_template));
  recipe.home = kHome;
  recipe.user = "user";
  const Json* const steps = member(body, "steps");
  if (steps != nullptr && (!steps->is_array() || steps->size() > kMaxSteps)) {
    return Error(ErrorCode::kInvalid, "'steps' must be a list of at most 1000");
  }
  if (base.image) {
    ImageBuild image = GB_TRY(build_of_image(base.name, steps, find_upload, failed_step));
    recipe.dockerfile = std::move(image.dockerfile);
    recipe.login = base.login;
    build.steps = std::move(image.steps);
  } else {
    recipe.base = base.name;
    Translator translator(find_upload);
    for (std::size_t i = 0; steps != nullptr && i < steps->size(); ++i) {
      failed_step = std::to_string(i + 1);
      GB_TRY(translator.take((*steps)[i], i, recipe));
    }
  }
  failed_step = "finalize";
  recipe.start = GB_TRY(text_member(body, "startCmd")).value_or("");
  recipe.ready = GB_TRY(text_member(body, "readyCmd")).value_or("");
  return build;
}

}  // namespace glovebox::e2b
