// SPDX-License-Identifier: Apache-2.0
#include "service/packages/package_request.h"

#include <algorithm>

#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::size_t kMaxRequests = 256;
constexpr std::size_t kMaxName = 214;  // npm's own bound; pip has none.
constexpr std::size_t kMaxVersion = 64;

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool is_one_of(char c, std::string_view marks) {
  return kLower.find(c) != std::string_view::npos || kUpper.find(c) != std::string_view::npos ||
         kDigits.find(c) != std::string_view::npos || marks.find(c) != std::string_view::npos;
}

// Begins and ends with a letter or digit, so that it is neither an option nor "..".
bool is_word(std::string_view text, std::string_view marks) {
  return !text.empty() && is_one_of(text.front(), {}) && is_one_of(text.back(), {}) &&
         std::ranges::all_of(text, [&](char c) { return is_one_of(c, marks); });
}

bool is_version(std::string_view text) {
  return text.size() <= kMaxVersion && is_word(text, ".+-!_") &&
         kDigits.find(text.front()) != std::string_view::npos;
}

bool is_npm_name(std::string_view name) {
  if (name.starts_with('@')) {
    const std::size_t slash = name.find('/');
    return slash != std::string_view::npos && is_word(name.substr(1, slash - 1), "-_.") &&
           is_word(name.substr(slash + 1), "-_.");
  }
  return is_word(name, "-_.");
}

// PEP 503: case does not matter, nor which of "-", "_" and "." separate words, nor how many.
std::string normalised(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.') {
      if (!plain.ends_with('-')) {
        plain += '-';
      }
    } else {
      const std::size_t upper = kUpper.find(c);
      plain += upper == std::string_view::npos ? c : kLower[upper];
    }
  }
  return plain;
}

Error wrong(std::string_view text, std::string_view why) {
  return {ErrorCode::kInvalid, "package '" + printable(text) + "': " + std::string(why),
          "use pip:NAME, pip:NAME==VERSION, npm:NAME or npm:NAME@VERSION, separated by commas"};
}

Result<PackageRequest> parse_one(std::string_view text) {
  PackageRequest request;
  if (text.starts_with("npm:")) {
    request.manager = PackageManager::kNpm;
  } else if (!text.starts_with("pip:")) {
    return wrong(text, "missing 'pip:' or 'npm:' prefix");
  }
  const bool pip = request.manager == PackageManager::kPip;
  const std::string_view rest = text.substr(4);
  // The name of a scope begins with "@", too.
  const std::size_t mark = pip ? rest.find("==") : rest.find('@', 1);
  const std::string_view name = rest.substr(0, mark);
  if (name.size() > kMaxName || !(pip ? is_word(name, "-_.") : is_npm_name(name))) {
    return wrong(text, "invalid package name '" + printable(name) + "'");
  }
  request.name = pip ? normalised(name) : std::string(name);
  if (mark != std::string_view::npos) {
    request.version = rest.substr(mark + (pip ? 2 : 1));
    if (!is_version(request.version)) {
      return wrong(text, "invalid version '" + printable(request.version) + "'");
    }
  }
  return request;
}

}  // namespace

std::string_view to_string(PackageManager manager) {
  return manager == PackageManager::kPip ? "pip" : "npm";
}

std::string PackageRequest::specifier() const {
  if (version.empty()) {
    return name;
  }
  return name + (manager == PackageManager::kPip ? "==" : "@") + version;
}

Result<std::vector<PackageRequest>> parse_packages(const std::vector<std::string>& texts) {
  std::vector<PackageRequest> requests;
  for (const std::string& text : texts) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      requests.push_back(GB_TRY(parse_one(std::string_view(text).substr(at, comma - at))));
      at = comma + 1;
      if (requests.size() > kMaxRequests) {
        return Error(ErrorCode::kInvalid, "more than " + std::to_string(kMaxRequests) + " packages",
                     "create one package that depends on them");
      }
    }
  }
  std::ranges::sort(requests);
  const auto repeated = std::ranges::unique(requests);
  requests.erase(repeated.begin(), repeated.end());
  const auto twice = std::ranges::adjacent_find(requests, [](const auto& a, const auto& b) {
    return a.manager == b.manager && a.name == b.name;
  });
  if (twice != requests.end()) {
    return wrong(twice->name, "two different versions requested");
  }
  return requests;
}

}  // namespace glovebox
