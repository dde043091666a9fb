// SPDX-License-Identifier: Apache-2.0
// read_container_image(): whatever the documents of an image say, its layers are files below its
// directory, and its environment cannot say who the guest is.
#include "service/templates/container_image.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest/digest.h"
#include "base/unique_fd.h"
#include "require.h"
#include "scratch.h"

namespace {

namespace fs = std::filesystem;

constexpr char kSeparator = '\x1e';
constexpr std::size_t kMostDocuments = 8;

void write_file(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string hash_of(const fs::path& path) {
  const glovebox::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  auto hash = glovebox::hash_of_file(file.get());
  require(hash.has_value());
  return hash.value();
}

std::vector<std::string> documents_in(std::string_view input) {
  std::vector<std::string> documents(1);
  for (const char c : input) {
    if (c == kSeparator && documents.size() < kMostDocuments) {
      documents.emplace_back();
    } else {
      documents.back() += c;
    }
  }
  return documents;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

// "@2" in a document is the digest of document 2 and "#2" its size, so that what is behind the
// digests is reached.
void lay_out(const fs::path& root, std::vector<std::string> documents) {
  fs::create_directories(root / "blobs/sha256");
  for (std::size_t i = documents.size(); i-- > 0;) {
    const std::string name = std::to_string(i);
    write_file(root / name, documents[i]);
    const std::string hash = hash_of(root / name);
    write_file(root / "blobs/sha256" / hash, documents[i]);
    for (std::size_t before = 0; before < i; ++before) {
      replace_all(documents[before], "@" + name, hash);
      replace_all(documents[before], "#" + name, std::to_string(documents[i].size()));
    }
  }
  write_file(root / "index.json", documents[0]);
  write_file(root / "manifest.json", documents[0]);
}

}  // namespace

// The first byte says which format is read; documents follow, the outermost first.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch place;
  if (size == 0) {
    return 0;
  }
  const fs::path root = place.path / "image";
  lay_out(root, documents_in({reinterpret_cast<const char*>(data + 1), size - 1}));
  const glovebox::UniqueFd directory(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  require(static_cast<bool>(directory));

  const auto format =
      data[0] % 2 == 0 ? glovebox::ImageFormat::kOci : glovebox::ImageFormat::kDocker;
  const std::string name = data[0] % 4 < 2 ? "" : "a";
  const auto image =
      glovebox::read_container_image(directory.get(), format, name, [] { return true; });
  if (image) {
    require(image->layers.size() <= 256 && image->env.size() <= 256);
    for (const std::string& layer : image->layers) {
      const fs::path found = fs::weakly_canonical(root / layer);
      require(fs::is_regular_file(found));
      require(found.string().starts_with(fs::weakly_canonical(root).string() + '/'));
    }
    for (const auto& [name, value] : image->env) {
      require(!name.empty() && name != "HOME" && name != "USER" && name.find('=') == name.npos);
      require(name.find('\0') == name.npos && value.find('\0') == value.npos);
    }
  }
  fs::remove_all(root);
  return 0;
}
