// SPDX-License-Identifier: Apache-2.0
#include "cli/failure_hint.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace glovebox::cli {
namespace {

constexpr std::size_t kLongestName = 64;

// What runtimes say before the quoted name of the package that they did not find.
struct Missing {
  std::string_view words;
  std::string_view manager;
};
constexpr std::array<Missing, 2> kMissing = {
    {{"ModuleNotFoundError: No module named ", "pip"}, {"Error: Cannot find module ", "npm"}}};

// What resolvers and sockets say without a network.
constexpr std::array<std::string_view, 8> kNoNetwork = {
    "Temporary failure in name resolution", "Name or service not known", "Could not resolve host",
    "getaddrinfo EAI_AGAIN", "getaddrinfo ENOTFOUND", "Network is unreachable",
    "UnknownHostException",
    // The host's CA certificates are shown only with a network.
    "Could not find a suitable TLS CA certificate"};

// What TLS libraries say of a certificate whose issuer they do not know.
constexpr std::array<std::string_view, 4> kUntrusted = {
    "CERTIFICATE_VERIFY_FAILED", "SELF_SIGNED_CERT_IN_CHAIN",
    "unable to get local issuer certificate", "self-signed certificate in certificate"};

bool has_any(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [text](std::string_view each) { return text.contains(each); });
}

// The package of "'name'" or "'name.part'" at the beginning. Nothing for a path: then one of the
// program's own files is missing.
std::optional<std::string> quoted_package(std::string_view text) {
  if (!text.starts_with('\'')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const std::string_view name = text.substr(0, text.find_first_of("'."));
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  if (!plain || name.empty() || name.size() > kLongestName) {
    return std::nullopt;
  }
  return std::string(name);
}

}  // namespace

std::string failure_hint(std::string_view errors, std::string_view network) {
  for (const auto& [words, manager] : kMissing) {
    const std::size_t at = errors.rfind(words);
    if (at == std::string_view::npos) {
      continue;
    }
    if (const auto package = quoted_package(errors.substr(at + words.size()))) {
      return "'" + *package +
             "' is not installed in the sandbox; if it is a package, add it with --packages " +
             std::string(manager) + ":" + *package + " --package-source DIR";
    }
  }
  if (network != "none" && has_any(errors, kUntrusted)) {
    return "where a secret is filled in, the proxy ends TLS with a certificate of its own; trust "
           "the bundle that SSL_CERT_FILE names, which also has the host's certificates";
  }
  if (!has_any(errors, kNoNetwork)) {
    return "";
  }
  return network == "none" ? "the sandbox has no network; name hosts with --allow-net, or pass "
                             "data with --file and "
                             "packages with --packages"
                           : "the only way out is the proxy that HTTP_PROXY and HTTPS_PROXY name; "
                             "the program did "
                             "not use it";
}

}  // namespace glovebox::cli
