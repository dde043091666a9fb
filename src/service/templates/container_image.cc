// SPDX-License-Identifier: Apache-2.0
#include "service/templates/container_image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/digest/digest.h"
#include "base/hex.h"
#include "base/json/json.h"
#include "base/sys/beneath.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "spec/json/bounded_json.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDocument = 4UL << 20;
constexpr std::size_t kMostValues = 100'000;
constexpr std::size_t kMaxLayers = 256;
constexpr std::size_t kMaxManifests = 256;
constexpr std::size_t kMaxVariables = 256;
constexpr int kMaxIndexes = 3;  // An index may lead to an index.
constexpr std::string_view kSha256 = "sha256:";

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "amd64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "arm64";
#else
#error "the name that images have for this processor is missing"
#endif

Error bad_image(const std::string& why) { return {ErrorCode::kInvalid, "invalid image: " + why}; }

Result<UniqueFd> open_file(int directory, const std::string& path) {
  auto file = sys::open_beneath(directory, path, O_RDONLY);
  struct stat status {};
  if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return bad_image("missing file '" + printable(path) + "'");
  }
  return file;
}

bool is_hash(std::string_view text) { return text.size() == 64 && is_hex(text); }

Result<json> read_document(int directory, const std::string& path) {
  const UniqueFd file = GB_TRY(open_file(directory, path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return Error::from_errno("read the image");
  }
  const auto expected = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  std::string text(std::min(expected, kMaxDocument) + 1, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size();) {
    got = ::read(file.get(), text.data() + size, text.size() - size);
    size += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  text.resize(size);
  if (size > kMaxDocument) {
    return bad_image("'" + printable(path) + "' is too large");
  }
  auto document = parse_json(text, {.values = kMostValues});
  if (!document || !document->is_structured()) {
    return bad_image(
        "'" + printable(path) + "': " +
        (document ? "neither an object nor a list" : std::string(document.error().message())));
  }
  return document;
}

std::string text_in(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : std::string();
}

const json& member(const json& object, const char* name) {
  static const json kNone;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : kNone;
}

// The environment in a configuration: "NAME=VALUE", each.
Environment environment_of(const json& config) {
  Environment env;
  const json& lines = member(member(config, "config"), "Env");
  if (!lines.is_array()) {
    return env;
  }
  for (const json& line : lines) {
    const std::string text = line.is_string() ? line.get<std::string>() : std::string();
    const std::size_t equals = text.find('=');
    const bool usable = equals != std::string::npos && equals > 0 && text.size() <= 32 * 1024 &&
                        text.find('\0') == std::string::npos && env.size() < kMaxVariables;
    // It is ours to say who the guest is, and where.
    const std::string name = text.substr(0, equals);
    if (usable && name != "HOME" && name != "USER" && name != "LOGNAME" && name != "PWD") {
      env.emplace_back(name, text.substr(equals + 1));
    }
  }
  return env;
}

class Reader {
 public:
  Reader(int directory, const std::function<bool()>& wanted)
      : directory_(directory), wanted_(wanted) {}

  Result<ContainerImage> read_oci(const std::string& name) const {
    json index = GB_TRY(read_document(directory_, "index.json"));
    if (!name.empty()) {
      json manifests = GB_TRY(named(member(index, "manifests"), name));
      index = json::object({{"manifests", std::move(manifests)}});
    }
    for (int i = 0; i < kMaxIndexes; ++i) {
      const json chosen = GB_TRY(choose(member(index, "manifests")));
      const std::string path = GB_TRY(checked_blob(chosen));
      json document = GB_TRY(read_document(directory_, path));
      if (member(document, "layers").is_array()) {
        return from_manifest(document);
      }
      index = std::move(document);
    }
    return bad_image("the index does not lead to a manifest");
  }

  Result<ContainerImage> read_docker(const std::string& name) const {
    const json manifests = GB_TRY(read_document(directory_, "manifest.json"));
    if (!manifests.is_array() || (name.empty() && manifests.size() != 1)) {
      return Error(ErrorCode::kInvalid, "the archive must contain exactly one image",
                   "run 'docker save' with the tag of one image; in a Dockerfile, name one: "
                   "FROM docker-archive:FILE:NAME:TAG");
    }
    const json manifest = name.empty() ? manifests[0] : GB_TRY(tagged(manifests, name));
    const std::string config_path = text_in(manifest, "Config");
    const json config = GB_TRY(read_document(directory_, config_path));
    const std::string stem = stem_of(config_path);
    if (is_hash(stem)) {
      GB_TRY(compare(config_path, stem));
    }
    const json& layers = member(manifest, "Layers");
    const json& hashes = member(member(config, "rootfs"), "diff_ids");
    if (!layers.is_array() || !hashes.is_array() || layers.size() != hashes.size() ||
        layers.size() > kMaxLayers) {
      return bad_image("the layers do not match the configuration");
    }
    ContainerImage image;
    image.env = environment_of(config);
    image.config = GB_TRY(parse_image_config(member(config, "config")));
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (!layers[i].is_string() || !hashes[i].is_string()) {
        return bad_image("a layer has no name");
      }
      // docker save writes layers as plain tar, and these are the hashes of that.
      const std::string hash = GB_TRY(hash_in(hashes[i].get<std::string>()));
      GB_TRY(compare(layers[i].get<std::string>(), hash));
      image.layers.push_back(layers[i].get<std::string>());
    }
    return image;
  }

 private:
  static std::string stem_of(const std::string& path) {
    std::string name = path.substr(path.rfind('/') + 1);
    return name.substr(0, name.find('.'));
  }

  static Result<std::string> hash_in(const std::string& digest) {
    if (!digest.starts_with(kSha256) || !is_hash(std::string_view(digest).substr(kSha256.size()))) {
      return bad_image("'" + printable(digest.substr(0, 80)) + "' is not a SHA-256 digest");
    }
    return digest.substr(kSha256.size());
  }

  // The size is compared first: a digest takes as long as the file is large.
  Result<void> compare(const std::string& path,
                       const std::string& hash,
                       std::optional<std::uint64_t> size = {}) const {
    if (wanted_ && !wanted_()) {
      return Error(ErrorCode::kUnavailable, "canceled");
    }
    const UniqueFd file = GB_TRY(open_file(directory_, path));
    struct stat status {};
    if (size && (::fstat(file.get(), &status) != 0 ||
                 static_cast<std::uint64_t>(status.st_size) != *size)) {
      return bad_image("'" + printable(path) + "' does not have the size given in its descriptor");
    }
    if (GB_TRY(hash_of_file(file.get())) != hash) {
      return bad_image("'" + printable(path) + "' does not match its digest");
    }
    return {};
  }

  // The file that a descriptor names, with the size and digest that it says.
  Result<std::string> checked_blob(const json& descriptor) const {
    const std::string hash = GB_TRY(hash_in(text_in(descriptor, "digest")));
    const std::string path = "blobs/sha256/" + hash;
    const json& size = member(descriptor, "size");
    if (!size.is_number_unsigned()) {
      return bad_image("the descriptor of '" + printable(path) + "' has no size");
    }
    GB_TRY(compare(path, hash, size.get<std::uint64_t>()));
    return path;
  }

  // Those entries of an index that have the name.
  static Result<json> named(const json& manifests, const std::string& name) {
    json found = json::array();
    for (const json& each : manifests.is_array() ? manifests : json::array()) {
      const json& notes = member(each, "annotations");
      if (text_in(notes, "org.opencontainers.image.ref.name") == name ||
          text_in(notes, "io.containerd.image.name") == name) {
        found.push_back(each);
      }
    }
    return found.empty() ? Result<json>(no_image(name)) : std::move(found);
  }

  // The image of docker save's that has the name; else the only one with that tag.
  static Result<json> tagged(const json& manifests, const std::string& name) {
    json by_tag = json::array();
    for (const json& each : manifests) {
      for (const json& item : member(each, "RepoTags")) {
        const std::string tag = item.is_string() ? item.get<std::string>() : std::string();
        if (tag == name || tag == name + ":latest") {
          return each;
        }
        if (tag.substr(tag.rfind(':') + 1) == name) {
          by_tag.push_back(each);
        }
      }
    }
    if (by_tag.size() > 1) {
      return Error(ErrorCode::kInvalid,
                   "several images of the archive have the tag '" + printable(name) + "'",
                   "write NAME:TAG");
    }
    return by_tag.empty() ? Result<json>(no_image(name)) : Result<json>(by_tag[0]);
  }

  static Error no_image(const std::string& name) {
    return {ErrorCode::kInvalid,
            "no image of the archive is called '" + printable(name.substr(0, 200)) + "'",
            "leave out the name where the archive has one image"};
  }

  // The version for this processor, or the only one.
  static Result<json> choose(const json& manifests) {
    if (manifests.is_array() && manifests.size() <= kMaxManifests) {
      for (const json& each : manifests) {
        const json& platform = member(each, "platform");
        if (text_in(platform, "os") == "linux" &&
            text_in(platform, "architecture") == kArchitecture) {
          return each;
        }
      }
      if (manifests.size() == 1) {
        return manifests[0];
      }
    }
    return bad_image("no manifest for linux on " + std::string(kArchitecture));
  }

  Result<ContainerImage> from_manifest(const json& manifest) const {
    const std::string config_path = GB_TRY(checked_blob(member(manifest, "config")));
    const json config = GB_TRY(read_document(directory_, config_path));
    const json& layers = member(manifest, "layers");
    if (layers.size() > kMaxLayers) {
      return bad_image("too many layers");
    }
    ContainerImage image;
    image.env = environment_of(config);
    image.config = GB_TRY(parse_image_config(member(config, "config")));
    for (const json& layer : layers) {
      const std::string type = text_in(layer, "mediaType");
      if (type.find("tar") == std::string::npos || type.find("encrypted") != std::string::npos) {
        return bad_image("a layer is '" + printable(type.substr(0, 80)) + "', not a tar archive");
      }
      image.layers.push_back(GB_TRY(checked_blob(layer)));
    }
    return image;
  }

  const int directory_;
  const std::function<bool()>& wanted_;
};

}  // namespace

Result<ImageFormat> parse_image_format(const std::string& name) {
  for (const ImageFormat format : {ImageFormat::kOci, ImageFormat::kDocker, ImageFormat::kRootfs}) {
    if (name == to_string(format)) {
      return format;
    }
  }
  return Error(ErrorCode::kInvalid, "unknown image format '" + printable(name) + "'",
               "use oci, docker or rootfs");
}

std::string_view architecture() { return kArchitecture; }

std::string to_string(ImageFormat format) {
  switch (format) {
    case ImageFormat::kOci:
      return "oci";
    case ImageFormat::kDocker:
      return "docker";
    case ImageFormat::kRootfs:
      return "rootfs";
    case ImageFormat::kEither:
      return "image";
  }
  return {};
}

ImageFormat format_of(int directory_fd) {
  return sys::open_beneath(directory_fd, "manifest.json", O_PATH) ? ImageFormat::kDocker
                                                                  : ImageFormat::kOci;
}

Result<ContainerImage> read_container_image(int directory_fd,
                                            ImageFormat format,
                                            const std::string& name,
                                            const std::function<bool()>& wanted) {
  const Reader reader(directory_fd, wanted);
  return format == ImageFormat::kOci ? reader.read_oci(name) : reader.read_docker(name);
}

}  // namespace glovebox
