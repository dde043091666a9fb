// SPDX-License-Identifier: Apache-2.0
#include "service/templates/registry_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "service/network/edge_credentials.h"
#include "service/templates/build_sandbox.h"
#include "service/templates/image_reader.h"
#include "service/templates/workspace_step.h"

namespace glovebox {
namespace {

constexpr const char* kSkopeo = "/usr/bin/skopeo";
constexpr std::string_view kDockerHub = "docker.io";
constexpr std::size_t kMaxName = 512;
constexpr std::size_t kMaxTag = 128;
constexpr std::size_t kMostFiles = 1'000;  // Of a layout: one for each layer, and a few more.

Error bad_name(std::string_view name) {
  return {ErrorCode::kInvalid,
          "'" + printable(name.substr(0, 200)) + "' is not the name of an image",
          "write it as [REGISTRY/]NAME[:TAG][@sha256:DIGEST], for example: python:3.12-slim"};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alphanumeric(char c) { return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z'); }

// A part between two slashes: letters and digits, with single separators between them.
bool is_component(std::string_view text) {
  return !text.empty() && (is_digit(text.front()) || is_lower(text.front())) &&
         (is_digit(text.back()) || is_lower(text.back())) && std::ranges::all_of(text, [](char c) {
           return is_digit(c) || is_lower(c) || c == '.' || c == '_' || c == '-';
         });
}

bool is_path(std::string_view path) {
  for (;;) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (!is_component(path.substr(0, slash))) {
      return false;
    }
    if (slash == path.size()) {
      return true;
    }
    path.remove_prefix(slash + 1);
  }
}

bool is_registry(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(std::min(colon + 1, text.size()));
  return !host.empty() && is_alphanumeric(host.front()) &&
         std::ranges::all_of(host,
                             [](char c) { return is_alphanumeric(c) || c == '.' || c == '-'; }) &&
         (colon == text.size() || (!port.empty() && port.size() <= 5)) &&
         std::ranges::all_of(port, is_digit);
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTag &&
         (is_alphanumeric(text.front()) || text.front() == '_') &&
         std::ranges::all_of(
             text, [](char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == '-'; });
}

bool is_digest(std::string_view text) {
  constexpr std::string_view kSha256 = "sha256:";
  return text.starts_with(kSha256) && text.size() == kSha256.size() + 64 &&
         std::ranges::all_of(text.substr(kSha256.size()),
                             [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// Go's programs use no proxy for these, and inside they are the sandbox itself.
bool is_loopback(std::string_view registry) {
  const std::string_view host = registry.substr(0, registry.find(':'));
  return host == "localhost" || host.starts_with("127.");
}

Result<void> check_reachable(const RegistryImage& image, const BuildNetwork& network) {
  if (is_loopback(image.registry)) {
    return Error(ErrorCode::kUnsupported,
                 "the registry '" + image.registry + "' is a loopback address",
                 "inside a build that is the build itself: give the registry's host a name, or "
                 "use FROM docker-archive:");
  }
  if (!lets_out(network.rules)) {
    const std::string hosts =
        image.registry == kDockerHub
            ? "registry-1.docker.io, auth.docker.io and production.cloudflare.docker.com"
            : image.registry;
    return Error(ErrorCode::kInvalid, "a build has no network to pull '" + image.reference + "'",
                 "allow its registry with --allow-net, or 'network' over HTTP: " + hosts);
  }
  if (::access(kSkopeo, X_OK) != 0) {
    return Error(ErrorCode::kUnsupported, "pulling images needs skopeo on the daemon's host",
                 "run 'apt install skopeo' there");
  }
  return {};
}

Result<void> write_text(BuildSandbox& sandbox, const std::string& path, const std::string& text) {
  const UniqueFd file(::memfd_create("text", MFD_CLOEXEC));
  if (!file) {
    return Error::from_errno("pass a file to a build");
  }
  GB_TRY(write_content(file.get(), text));
  return sandbox.write(path, 0600, file.get());
}

// As containers-auth.json(5), in the memory of the sandbox in which nothing but skopeo runs.
Result<void> write_login(BuildSandbox& sandbox,
                         const RegistryLogin& login,
                         const std::string& path) {
  const nlohmann::json logins = {
      {"auths", {{login.registry, {{"auth", to_base64(login.username + ":" + login.password)}}}}}};
  return write_text(sandbox, path,
                    logins.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// If the operator has authorities of their own, those. Otherwise skopeo finds the machine's.
Result<Environment> own_authorities(BuildSandbox& sandbox) {
  constexpr const char* kVariable = "SSL_CERT_FILE";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  if (const char* const own = std::getenv(kVariable); own == nullptr || *own == '\0') {
    return Environment();
  }
  const std::string path = TemplateParts().home + "/authorities";
  GB_TRY(write_text(sandbox, path, GB_TRY(machine_authorities())));
  return Environment{{kVariable, path}};
}

// The layout in the workspace of the sandbox, as a directory of the host.
Result<void> take_layout(BuildSandbox& sandbox, const std::string& to, BuildMonitor& monitor) {
  FileClient client = GB_TRY(sandbox.files());
  const SpooledFile packed =
      GB_TRY(sandbox.spool_directory(client, TemplateParts().home + "/image"));
  if (::mkdir(to.c_str(), 0700) != 0 || ::lseek(packed.fd.get(), 0, SEEK_SET) != 0) {
    return Error::from_errno("unpack an image");
  }
  const UniqueFd directory(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  GB_TRY(monitor.spend(packed.size));
  return unpack_archive_of_image(packed.fd.get(), directory.get(),
                                 {.bytes = packed.size, .entries = kMostFiles},
                                 [&monitor] { return monitor.wanted(); });
}

}  // namespace

Result<RegistryImage> parse_registry_image(std::string_view name) {
  constexpr std::string_view kPlain = "http://";
  std::string_view rest = name;
  RegistryImage image{.registry = std::string(kDockerHub), .reference = {}};
  if (rest.starts_with(kPlain)) {
    image.plain_http = true;
    rest.remove_prefix(kPlain.size());
  }
  const std::size_t slash = rest.find('/');
  const std::string_view first = rest.substr(0, std::min(slash, rest.size()));
  const bool named = slash != std::string_view::npos &&
                     (first == "localhost" || first.find_first_of(".:") != std::string_view::npos);
  if (named) {
    image.registry = first;
    rest.remove_prefix(slash + 1);
  }
  const std::size_t at = std::min(rest.find('@'), rest.size());
  const std::string_view digest = rest.substr(std::min(at + 1, rest.size()));
  rest = rest.substr(0, at);
  const std::size_t colon = std::min(rest.find(':'), rest.size());
  const std::string_view tag = rest.substr(std::min(colon + 1, rest.size()));
  const std::string path(rest.substr(0, colon));
  const bool has_tag = colon < rest.size();
  const bool has_digest = name.find('@') != std::string_view::npos;
  if (name.size() > kMaxName || !is_registry(image.registry) || !is_path(path) ||
      (has_tag && !is_tag(tag)) || (has_digest && !is_digest(digest))) {
    return bad_name(name);
  }
  const bool official = image.registry == kDockerHub && path.find('/') == std::string::npos;
  image.reference = image.registry + "/" + (official ? "library/" : "") + path;
  // A digest says more than a tag, and skopeo takes only one of the two.
  if (has_digest) {
    image.reference.append("@").append(digest);
  } else {
    image.reference.append(":").append(has_tag ? tag : "latest");
  }
  return image;
}

std::string template_name_of(const RegistryImage& image) {
  constexpr std::size_t kMostShown = 100;
  constexpr std::size_t kDigits = 16;
  std::string name = image.reference.substr(0, kMostShown);
  std::ranges::replace_if(
      name, [](char c) { return !is_alphanumeric(c) && c != '.' && c != '_'; }, '-');
  const std::string whole = (image.plain_http ? "http://" : "") + image.reference;
  return name + "-" + sha256_hex(whole).substr(0, kDigits);
}

Result<RootContent> root_from_registry(const RegistryImage& image,
                                       const BuildNetwork& network,
                                       const ContentStore& store,
                                       const std::string& scratch,
                                       BuildMonitor& monitor) {
  GB_TRY(check_reachable(image, network));
  const std::string layout = scratch + "/registry-image";
  {
    BuildSandbox sandbox =
        GB_TRY(BuildSandbox::open({}, BuildGuest::kUser, network, store, scratch, monitor));
    std::string login = "--src-no-creds";
    if (image.login && image.login->registry == image.registry) {
      const std::string path = TemplateParts().home + "/login";
      GB_TRY(write_login(sandbox, *image.login, path));
      login = "--src-authfile=" + path;
    }
    const Environment env = GB_TRY(own_authorities(sandbox));
    const std::string verify = image.plain_http ? "false" : "true";
    const RunOutcome outcome = GB_TRY(sandbox.run(
        {.argv = {kSkopeo, "--insecure-policy", "--tmpdir", TemplateParts().home, "copy", login,
                  "--src-tls-verify=" + verify, "docker://" + image.reference, "oci:image:image"},
         .env = env,
         .cwd = {}}));
    if (outcome.status != Status::kOk) {
      std::string hint = sandbox.end_network();
      if (hint.empty()) {
        hint = "check the name and the tag, and whether the registry wants a login";
      }
      return command_failed("skopeo copy docker://" + image.reference, outcome, std::move(hint));
    }
    GB_TRY(take_layout(sandbox, layout, monitor));
  }
  auto root = root_from_image({.format = ImageFormat::kOci, .path = layout, .image = "image"},
                              store, monitor);
  GB_TRY(sys::remove_tree(layout));
  return root;
}

}  // namespace glovebox
