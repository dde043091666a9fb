// SPDX-License-Identifier: Apache-2.0
#include "language/file_rules.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace glovebox {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool consists_of(std::string_view text, std::initializer_list<std::string_view> sets) {
  return std::all_of(text.begin(), text.end(), [sets](char c) {
    return std::any_of(sets.begin(), sets.end(),
                       [c](std::string_view set) { return set.find(c) != std::string_view::npos; });
  });
}

// A name in a directory: letters, digits and a few signs, so that no command takes it for an option
// and no shell for anything else.
bool is_file_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxFileName &&
         consists_of(text, {kLower, kUpper, kDigits, "._-+"}) && text.front() != '-' &&
         text.front() != '.';
}

// `path` is `root` or lies below it.
bool is_within(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

constexpr std::array<std::string_view, 4> kMountRoots = {"/etc/", "/opt/", "/usr/", "/var/lib/"};

constexpr std::array<std::string_view, 8> kPlaceholders = {
    "file", "stem", "dir", "main", "memory_mib", "heap_mib", "cpus", "agents"};

// Directories where services keep what guests must not read.
constexpr std::array<std::string_view, 24> kSecret = {
    "/etc/shadow",         "/etc/shadow-",     "/etc/gshadow",      "/etc/gshadow-",
    "/etc/sudoers",        "/etc/sudoers.d",   "/etc/ssh",          "/etc/ssl/private",
    "/etc/security",       "/etc/glovebox",    "/etc/krb5.keytab",  "/etc/NetworkManager",
    "/etc/wireguard",      "/etc/docker",      "/etc/kubernetes",   "/var/lib/docker",
    "/var/lib/containers", "/var/lib/kubelet", "/var/lib/glovebox", "/var/lib/private",
    "/var/lib/postgresql", "/var/lib/mysql",   "/var/lib/systemd",  "/etc/machine-id"};

}  // namespace

bool is_printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

const char* id_fault(std::string_view text) {
  return consists_of(text, {kLower, kDigits, "+#-_"}) &&
                 consists_of(text.substr(0, 1), {kLower, kDigits})
             ? nullptr
             : "is not a valid id: use lower-case letters, digits, + # - and _, with a letter or "
               "digit first";
}

const char* name_fault(std::string_view text) {
  return text.size() <= kMaxName && is_printable(text) && text.find(' ') == std::string_view::npos
             ? nullptr
             : "is not a valid name: use at most 32 bytes, without spaces";
}

const char* extension_fault(std::string_view text) {
  const std::string_view name = text.starts_with('.') ? text.substr(1) : text;
  return name.size() <= kMaxName && is_file_name(name)
             ? nullptr
             : "is neither an extension like .py nor a file name";
}

const char* interpreter_fault(std::string_view text) {
  return text.size() <= kMaxName && is_printable(text) &&
                 text.find_first_of("/ ") == std::string_view::npos
             ? nullptr
             : "is not the base name of a program";
}

const char* file_name_fault(std::string_view text) {
  return is_file_name(text) ? nullptr
                            : "is not a valid file name: use letters, digits, - _ + and ., with a "
                              "letter, digit or _ first";
}

const char* package_fault(std::string_view text) {
  return text.size() <= kMaxFileName && consists_of(text, {kLower, kDigits, "+-."}) &&
                 consists_of(text.substr(0, 1), {kLower, kDigits})
             ? nullptr
             : "is not a valid Debian package name";
}

const char* variable_fault(std::string_view text) {
  return !text.empty() && text.size() <= kMaxFileName &&
                 consists_of(text, {kLower, kUpper, kDigits, "_"}) &&
                 !consists_of(text.substr(0, 1), {kDigits})
             ? nullptr
             : "is not a valid variable name: use letters, digits and _";
}

const char* mount_fault(std::string_view path) {
  if (!path.starts_with('/') || path.ends_with('/') || path.find("//") != std::string_view::npos ||
      !is_printable(path)) {
    return "is not an absolute path";
  }
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t end = rest.find('/', 1);
    const std::string_view part = rest.substr(1, end == std::string_view::npos ? end : end - 1);
    if (part == "." || part == "..") {
      return "must not contain . or ..";
    }
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  }
  if (std::none_of(kMountRoots.begin(), kMountRoots.end(),
                   [path](std::string_view root) { return path.starts_with(root); })) {
    return "is not below /etc, /opt, /usr or /var/lib";
  }
  // Neither inside a secret place nor around one.
  if (std::any_of(kSecret.begin(), kSecret.end(), [path](std::string_view secret) {
        return is_within(path, secret) || is_within(secret, path);
      })) {
    return "contains secrets of the host";
  }
  return nullptr;
}

std::string_view unknown_placeholder(std::string_view text) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) {
      break;
    }
    const std::string_view word = text.substr(at + 1, end - at - 1);
    const bool of_the_shell = at > 0 && text[at - 1] == '$';
    if (!word.empty() && consists_of(word, {kLower, "_"}) && !of_the_shell &&
        std::find(kPlaceholders.begin(), kPlaceholders.end(), word) == kPlaceholders.end()) {
      return text.substr(at, end - at + 1);
    }
  }
  return {};
}

}  // namespace glovebox
