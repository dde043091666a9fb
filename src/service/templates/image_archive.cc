// SPDX-License-Identifier: Apache-2.0
#include "service/templates/image_archive.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/archive/tar_stream.h"
#include "base/digest/digest.h"
#include "base/json/json.h"
#include "service/templates/container_image.h"
#include "service/templates/recipe.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr const char* kLayerType = "application/vnd.oci.image.layer.v1.tar";
constexpr const char* kConfigType = "application/vnd.oci.image.config.v1+json";
constexpr const char* kManifestType = "application/vnd.oci.image.manifest.v1+json";

struct Blob {
  std::string hash;
  std::uint64_t size = 0;
};

std::string digest_of(const Blob& blob) { return "sha256:" + blob.hash; }
std::string path_of(const Blob& blob) { return "blobs/sha256/" + blob.hash; }

json descriptor_of(const Blob& blob, const char* type) {
  return {{"mediaType", type}, {"digest", digest_of(blob)}, {"size", blob.size}};
}

struct stat status_of(std::uint32_t mode, std::uint64_t size) {
  struct stat status {};
  status.st_mode = mode;
  status.st_size = static_cast<off_t>(size);
  return status;
}

std::string text_of(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Blob blob_of(const std::string& text) {
  return {.hash = BytesHash().add(text).hex(), .size = text.size()};
}

std::string config_of(const TemplateParts& parts, const ContentStore& store, const Blob& layer) {
  json env = json::array();
  for (const auto& [name, value] : view_packages(parts, store, parts.env).env) {
    env.push_back(name + "=" + value);
  }
  json config = to_json(parts.image);
  config["Env"] = std::move(env);
  if (parts.image.directory.empty()) {
    config["WorkingDir"] = parts.home;
  }
  if (!parts.start.empty() && parts.image.command({}).empty()) {
    config["Cmd"] = {"/bin/bash", "-c", parts.start};
  }
  return text_of({{"architecture", std::string(architecture())},
                  {"os", "linux"},
                  {"created", "1970-01-01T00:00:00Z"},
                  {"config", std::move(config)},
                  {"rootfs", {{"type", "layers"}, {"diff_ids", json::array({digest_of(layer)})}}}});
}

// Docker's names have no capitals, and no separator at an end or beside another one.
bool is_name_for_docker(std::string_view name) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool after_word = false;
  for (const char c : name) {
    if (!is_word(c) && !after_word) {
      return false;
    }
    after_word = is_word(c);
    if (!after_word && c != '.' && c != '_' && c != '-') {
      return false;
    }
  }
  return after_word;
}

// What comes before the layer in the archive.
class Description {
 public:
  Description(const std::string& name,
              const TemplateParts& parts,
              const ContentStore& store,
              const Blob& layer) {
    const std::string config = config_of(parts, store, layer);
    const Blob config_blob = blob_of(config);
    const std::string manifest =
        text_of({{"schemaVersion", 2},
                 {"mediaType", kManifestType},
                 {"config", descriptor_of(config_blob, kConfigType)},
                 {"layers", json::array({descriptor_of(layer, kLayerType)})}});
    json described = descriptor_of(blob_of(manifest), kManifestType);
    described["platform"] = {{"architecture", std::string(architecture())}, {"os", "linux"}};
    const std::string plain(without_tag(name));
    const std::string tag = plain.size() < name.size() ? name.substr(plain.size() + 1) : "latest";
    described["annotations"] = {{"org.opencontainers.image.ref.name", tag}};
    json docker = {{"Config", path_of(config_blob)}, {"Layers", json::array({path_of(layer)})}};
    docker["RepoTags"] = json::array();
    if (is_name_for_docker(plain)) {
      docker["RepoTags"].push_back(plain + ":" + tag);
      described["annotations"]["io.containerd.image.name"] =
          "docker.io/library/" + plain + ":" + tag;
    }
    files_ = {
        {path_of(config_blob), config},
        {path_of(blob_of(manifest)), manifest},
        {"index.json", text_of({{"schemaVersion", 2}, {"manifests", json::array({described})}})},
        {"manifest.json", text_of(json::array({docker}))},
        {"oci-layout", text_of({{"imageLayoutVersion", "1.0.0"}})}};
    std::ranges::sort(files_);
  }

  Result<void> write(TarStream& stream, const PutBytes& put) const {
    for (const char* const directory : {"blobs/", "blobs/sha256/"}) {
      GB_TRY(stream.add_directory(directory, status_of(0755, 0)));
    }
    for (const auto& [path, text] : files_) {
      const struct stat status = status_of(0644, text.size());
      GB_TRY(stream.begin_file(path, status));
      GB_TRY(put(text));
      GB_TRY(stream.end_file(status));
    }
    return {};
  }

 private:
  std::vector<std::pair<std::string, std::string>> files_;  // By path.
};

// Everything but the content of the layer, which `put_layer` writes.
Result<void> write_archive(const Description& description,
                           const Blob& layer,
                           const PutBytes& put,
                           const std::function<Result<void>()>& put_layer) {
  TarStream stream(put);
  GB_TRY(description.write(stream, put));
  const struct stat status = status_of(0644, layer.size);
  GB_TRY(stream.begin_file(path_of(layer), status));
  GB_TRY(put_layer());
  GB_TRY(stream.end_file(status));
  return stream.finish();
}

}  // namespace

Result<void> export_template(const std::string& name,
                             const TemplateParts& parts,
                             const ContentStore& store,
                             BuildMonitor& monitor,
                             const ArchiveTarget& target) {
  if (parts.root.empty()) {
    return Error(ErrorCode::kUnsupported,
                 "the template has no root of its own: its sandboxes show the host's /usr",
                 "export a template that was built on an image or with debootstrap");
  }
  std::vector<Content> held;
  for (const std::string& key : parts.keys()) {
    auto content = store.find(key);
    if (!content) {
      return Error(ErrorCode::kNotFound, "the template's files were removed in the meantime");
    }
    held.push_back(*std::move(content));
  }
  const ContentDraft draft = GB_TRY(store.begin());
  const ImageLayer layer = GB_TRY(ImageLayer::open(parts, store, draft, monitor));
  // The digest comes before the layer, so the layer is written twice, and kept nowhere.
  BytesHash hash;
  Blob blob;
  GB_TRY(layer.write([&](std::string_view bytes) -> Result<void> {
    hash.add(bytes);
    blob.size += bytes.size();
    return {};
  }));
  blob.hash = hash.hex();
  const Description description(name, parts, store, blob);
  std::uint64_t size = blob.size;
  GB_TRY(write_archive(
      description, blob,
      [&size](std::string_view bytes) -> Result<void> {
        size += bytes.size();
        return {};
      },
      [] { return Result<void>(); }));
  GB_TRY(target.begin(size));
  BytesHash again;
  const PutBytes put_layer = [&](std::string_view bytes) {
    again.add(bytes);
    return target.put(bytes);
  };
  GB_TRY(write_archive(description, blob, target.put, [&]() -> Result<void> {
    GB_TRY(layer.write(put_layer));
    return again.hex() == blob.hash
               ? Result<void>()
               : Error(ErrorCode::kInternal, "the template's files changed while they were read");
  }));
  return {};
}

}  // namespace glovebox
