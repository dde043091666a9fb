// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/image.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/archive/tar.h"
#include "base/json/json.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "sandbox/system_view.h"
#include "spec/guest.h"

namespace glovebox::docker {
namespace {

constexpr const char* kOwn = "glovebox/host";
constexpr const char* kVariable = "GLOVEBOX_DOCKER_IMAGE";

// What an engine mounts something on is made by it; these are seen empty.
constexpr std::array<const char*, 10> kDirectories = {"dev", "etc", "proc", "run",  "sys",
                                                      "tmp", "usr", "var",  "home", "root"};

// What is in an image of ours: links, and all else are directories.
struct Contents {
  std::vector<std::string> directories;
  std::vector<std::pair<std::string, std::string>> links;
};

Contents contents(std::string_view home) {
  Contents made;
  made.directories.assign(kDirectories.begin(), kDirectories.end());
  for (const char* const name : kUsrLinks) {
    std::array<char, 256> target{};
    const std::string path = std::string("/") + name;
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size() - 1);
    if (size > 0) {
      made.links.emplace_back(name, std::string(target.data(), static_cast<std::size_t>(size)));
    }
  }
  made.links.emplace_back("var/tmp", "../tmp");
  if (home != kWorkspace) {
    made.links.emplace_back(kWorkspace.substr(1), home);
  }
  return made;
}

// Images with different contents have different names (FNV-1a).
std::string tag_of(const Contents& contents) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](std::string_view text) {
    for (const char byte : text) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
    hash = (hash ^ 0xff) * 0x100000001b3;
  };
  for (const std::string& name : contents.directories) {
    add(name);
  }
  for (const auto& [name, target] : contents.links) {
    add(name);
    add(target);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text.push_back(kDigits[hash >> shift & 0xf]);
  }
  return text;
}

Result<std::string> archive_of(const Contents& contents) {
  const UniqueFd file(::memfd_create("glovebox-image", MFD_CLOEXEC));
  if (!file) {
    return Error::from_errno("memfd_create");
  }
  TarWriter writer = GB_TRY(TarWriter::create(file.get()));
  for (const std::string& name : contents.directories) {
    GB_TRY(writer.add_directory(name, 0755));
  }
  for (const auto& [name, target] : contents.links) {
    GB_TRY(writer.add_symlink(name, target));
  }
  GB_TRY(writer.finish());
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return Error::from_errno("stat the image");
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (::pread(file.get(), bytes.data(), bytes.size(), 0) != status.st_size) {
    return Error::from_errno("read the image");
  }
  return bytes;
}

bool is_name(std::string_view name) {
  constexpr std::string_view kMarks = "._-/:@";
  return !name.empty() && name.size() <= 512 && name.front() != '/' &&
         name.find("..") == std::string_view::npos && std::ranges::all_of(name, [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  kMarks.find(c) != std::string_view::npos;
         });
}

}  // namespace

Image wanted_image(std::string_view home) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  if (const char* const named = std::getenv(kVariable); named != nullptr && *named != '\0') {
    return {.name = named, .own_system = true};
  }
  return {.name = std::string(kOwn) + ":" + tag_of(contents(home)), .own_system = false};
}

Result<void> check_image(const Engine& engine, const Image& image) {
  if (!image.own_system) {
    return {};
  }
  const std::string shown = "'" + printable(image.name) + "'";
  if (!is_name(image.name)) {
    return Error(ErrorCode::kUnsupported, shown + " is not the name of an image",
                 std::string("set ") + kVariable + " to the name of a local image, or unset it");
  }
  const Answer answer = GB_TRY(engine.ask("GET", "/images/" + image.name + "/json"));
  if (answer.status == 404) {
    return Error(ErrorCode::kUnsupported, "the container engine does not have the image " + shown,
                 "get it with 'docker pull' or 'docker load', or unset " + std::string(kVariable) +
                     " to show this machine's /usr");
  }
  if (answer.status != 200) {
    return refusal("look at the image " + shown, answer);
  }
  const auto json = GB_TRY(json_of(answer));
  if (!object_of(object_of(json, "Config"), "Volumes").empty()) {
    return Error(ErrorCode::kUnsupported,
                 "the image " + shown + " declares volumes, which no limit of disk bounds",
                 "build an image from it without VOLUME");
  }
  return {};
}

Result<void> make_image(const Engine& engine, const Image& image, std::string_view home) {
  const std::string archive = GB_TRY(archive_of(contents(home)));
  const Answer answer = GB_TRY(engine.ask("POST", "/images/create?fromSrc=-&repo=" + image.name,
                                          archive, "application/x-tar"));
  return answer.status == 200 ? Result<void>() : refusal("make an empty image", answer);
}

}  // namespace glovebox::docker
