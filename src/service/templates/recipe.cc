// SPDX-License-Identifier: Apache-2.0
#include "service/templates/recipe.h"

#include <algorithm>

#include "base/text.h"
#include "service/packages/package_request.h"
#include "service/templates/registry_image.h"

namespace glovebox {
namespace {

constexpr std::size_t kMaxSteps = 2'000;
constexpr std::size_t kMaxAll = 16UL << 20;
constexpr std::size_t kMaxList = 256;
constexpr std::size_t kMaxUsername = 256;
constexpr std::size_t kMaxPassword = 16UL << 10;  // A key of a service account is one.

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool consists_of(std::string_view text, std::string_view more, std::size_t most) {
  return !text.empty() && text.size() <= most && std::ranges::all_of(text, [more](char c) {
    return is_letter_or_digit(c) || more.find(c) != std::string_view::npos;
  });
}

Error bad(const std::string& field, const std::string& why, std::string hint = {}) {
  return {ErrorCode::kInvalid, "'" + field + "': " + why, std::move(hint)};
}

bool is_plain_path(std::string_view path) {
  return !path.empty() && path.size() <= 4096 && path.find('\0') == std::string_view::npos &&
         ("/" + std::string(path) + "/").find("/../") == std::string::npos;
}

Result<void> check_home(const Recipe& recipe) {
  const std::string& home = recipe.home;
  if (!home.empty() && home != "/workspace" &&
      !(home.starts_with("/home/") && consists_of(home.substr(6), "._-", 32) && home[6] != '.')) {
    return bad("home", "'" + printable(home) + "' is neither /workspace nor /home/NAME");
  }
  if (!recipe.user.empty() && !(consists_of(recipe.user, "_-", 32) && recipe.user != "root" &&
                                recipe.user != "nobody" && recipe.user.front() != '-')) {
    return bad("user", "'" + printable(recipe.user) + "' is not a valid user name");
  }
  return {};
}

// What is checked here becomes words of debootstrap's command line, and of apt's.
Result<void> check_debootstrap(const Debootstrap& wanted) {
  if (!consists_of(wanted.suite, ".-", 64) || wanted.suite.front() == '-' ||
      wanted.suite.front() == '.') {
    return bad("base.debootstrap.suite", "'" + printable(wanted.suite) + "' is not a valid suite",
               "for example: bookworm");
  }
  const bool remote = wanted.mirror.starts_with("http://") || wanted.mirror.starts_with("https://");
  if (!remote || !consists_of(wanted.mirror, "/:.-_~+%", 1024)) {
    return bad("base.debootstrap.mirror",
               "'" + printable(wanted.mirror) + "' is not a valid mirror URL");
  }
  for (const std::string& package : wanted.packages) {
    if (!consists_of(package, "+.-", 128) || !is_letter_or_digit(package.front())) {
      return bad("base.debootstrap.packages",
                 "'" + printable(package) + "' is not a valid package name");
    }
  }
  return wanted.packages.size() > kMaxList ? bad("base.debootstrap.packages", "too many")
                                           : Result<void>();
}

Result<void> check_dockerfile(const Recipe& recipe) {
  if (!recipe.dockerfile) {
    return {};
  }
  if (!is_plain_path(recipe.dockerfile->path) || recipe.dockerfile->path.front() == '/') {
    return bad("dockerfile", "expected a path in the build context");
  }
  if (recipe.dockerfile->text.size() > (1UL << 20) || recipe.dockerfile->files.size() > kMaxSteps) {
    return bad("dockerfile", "too large");
  }
  for (const DockerfileBuild::File& file : recipe.dockerfile->files) {
    if (!consists_of(file.name, "._-", 128) || file.name.front() == '.') {
      return bad("dockerfile", "'" + printable(file.name.substr(0, 128)) + "' is not a valid name");
    }
  }
  std::size_t size = 0;
  for (const auto& [name, value] : recipe.dockerfile->args) {
    size += name.size() + value.size();
    if (!consists_of(name, "_", 256) || value.find('\0') != std::string::npos) {
      return bad("build_args", "'" + printable(name.substr(0, 128)) + "' cannot be set");
    }
  }
  return recipe.dockerfile->args.size() > kMaxList || size > 64UL * 1024
             ? bad("build_args", "too many or too large")
             : Result<void>();
}

// The sender decides what it says; it goes into a JSON file, and to its registry.
Result<void> check_login(const RegistryLogin& login) {
  const std::string_view user = login.username;
  if (user.empty() || user.size() > kMaxUsername ||
      user.find_first_of(std::string_view(":\n\r\0", 4)) != std::string_view::npos) {
    return bad("login", "a user name has 1 to 256 characters, and no colon among them");
  }
  if (login.password.empty() == login.secret.empty()) {
    return bad("login", "expected either a password or the name of a secret");
  }
  if (login.password.size() > kMaxPassword) {
    return bad("login", "the password is longer than 16 KiB");
  }
  return {};
}

Result<void> check_registry(const Recipe& recipe) {
  if (!recipe.registry.empty()) {
    (void)GB_TRY(parse_registry_image(recipe.registry));
  }
  return recipe.login ? check_login(*recipe.login) : Result<void>();
}

Result<void> check_steps(const Recipe& recipe) {
  if (recipe.steps.size() > kMaxSteps) {
    return bad("commands", "too many files and commands");
  }
  std::size_t all = 0;
  for (const RecipeStep& step : recipe.steps) {
    const bool command = step.kind == RecipeStep::Kind::kCommand;
    all += step.text.size();
    if (!command && !is_plain_path(step.path)) {
      return bad("files", "'" + printable(step.path.substr(0, 128)) + "' is not a valid path");
    }
    if (command && (step.text.empty() || step.text.find('\0') != std::string::npos)) {
      return bad("commands", "a command is empty or contains a NUL byte");
    }
    if (step.text.size() > (command ? 128 * 1024 : kMaxAll) || all > kMaxAll) {
      return bad(command ? "commands" : "files", "too large",
                 "put large files into an image of the root");
    }
  }
  return {};
}

}  // namespace

std::string_view without_tag(std::string_view template_name) {
  return template_name.substr(0, template_name.find(':'));
}

Result<void> check_template_name(std::string_view name) {
  const auto is_word = [](std::string_view word) {
    return consists_of(word, "._-", 128) && word.front() != '.' && word.front() != '-';
  };
  const std::string_view plain = without_tag(name);
  const bool tagged = plain.size() < name.size();
  const std::string_view tag = tagged ? name.substr(plain.size() + 1) : std::string_view();
  if (!is_word(plain) || (tagged && (!is_word(tag) || tag == "default"))) {
    return bad("name", "'" + printable(name.substr(0, 257)) + "' is not a valid template name",
               "use at most 128 letters, digits, '.', '_' and '-', and the same after a ':' for a "
               "tag");
  }
  return {};
}

Result<void> validate(const Recipe& recipe) {
  GB_TRY(check_template_name(recipe.name));
  GB_TRY(check_home(recipe));
  if ((recipe.debootstrap ? 1 : 0) + (recipe.image ? 1 : 0) + (recipe.registry.empty() ? 0 : 1) >
      1) {
    return bad("base", "expected exactly one base");
  }
  GB_TRY(check_registry(recipe));
  GB_TRY(check_dockerfile(recipe));
  if (!recipe.network.credentials.empty()) {
    return Error(ErrorCode::kUnsupported, "'network': a build gets no secrets",
                 "leave out 'secrets' and 'headers'; sandboxes of the template can have them");
  }
  if (recipe.debootstrap) {
    GB_TRY(check_debootstrap(*recipe.debootstrap));
  }
  if (recipe.image && (!is_plain_path(recipe.image->path) || recipe.image->path.front() != '/')) {
    return bad("base", "expected an absolute path");
  }
  if (recipe.packages.size() > kMaxList || recipe.package_sources.size() > 16) {
    return bad("packages", "too many");
  }
  (void)GB_TRY(parse_packages(recipe.packages));
  if (!recipe.packages.empty() && recipe.package_sources.empty()) {
    return Error(ErrorCode::kRefused, "installing packages without a source requires a network",
                 "add a directory on the daemon's host to 'package_sources'");
  }
  for (const std::string& source : recipe.package_sources) {
    if (!is_plain_path(source) || source.front() != '/') {
      return bad("package_sources", "expected absolute paths");
    }
  }
  GB_TRY(check_steps(recipe));
  for (const std::string& module : recipe.preload) {
    if (!consists_of(module, "._", 128) || module.front() == '.') {
      return bad("preload", "'" + printable(module) + "' is not a valid module name");
    }
  }
  if (recipe.preload.size() > 64) {
    return bad("preload", "too many");
  }
  for (const std::string* command : {&recipe.start, &recipe.ready}) {
    if (command->size() > 64 * 1024 || command->find('\0') != std::string::npos) {
      return bad("start", "too long, or contains a NUL byte");
    }
  }
  return {};
}

bool takes_admin(const Recipe& recipe) { return recipe.image || !recipe.package_sources.empty(); }

}  // namespace glovebox
