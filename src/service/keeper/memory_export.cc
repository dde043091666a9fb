// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/memory_export.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/sys/tree.h"
#include "base/sys/write_all.h"
#include "base/text.h"
#include "sandbox/saved_files.h"
#include "sandbox/tiers/tier.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;

constexpr std::size_t kPiece = 1UL << 20;

Error changed(const std::string& name) {
  return {ErrorCode::kInvalid,
          "the archive is damaged: '" + printable(name) + "' is not what was exported",
          "transfer it again"};
}

Result<std::string> format_of(std::string_view tier) {
  return GB_TRY(tier_named(tier))->memory_format();
}

// Copies `size` bytes from the current position of `content`.
Result<void> take_file(const json& file, int content, const std::string& to) {
  const std::string name = file.at("name");
  // A holder of the key may sign anything, but is not therefore root here.
  if (name.empty() || name == "." || name == ".." || name.contains('/')) {
    return Error(ErrorCode::kInvalid, "'" + printable(name) + "' is not the name of a saved file");
  }
  std::uint64_t left = file.at("size");
  const std::string path = to + "/" + name;
  const UniqueFd out(
      ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) {
    return Error::from_errno("create " + path);
  }
  BytesHash hash;
  std::string piece(kPiece, '\0');
  while (left > 0) {
    const ssize_t got = ::read(content, piece.data(), std::min<std::uint64_t>(piece.size(), left));
    if (got <= 0) {
      return got == 0 ? changed(name) : Error::from_errno("read the archive");
    }
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    hash.add(bytes);
    if (!sys::write_all(out.get(), bytes)) {
      return Error::from_errno("write " + path);
    }
    left -= bytes.size();
  }
  return hash.hex() == file.at("sha256") ? Result<void>() : changed(name);
}

Result<void> take_files(const json& manifest, int content, const std::string& to) {
  if (::lseek(content, 0, SEEK_SET) != 0) {
    return Error::from_errno("read the archive");
  }
  for (const json& file : manifest.at("files")) {
    GB_TRY(take_file(file, content, to));
  }
  return {};
}

}  // namespace

Result<MemoryExport> export_memory(const ExportKey& key,
                                   const std::string& saved,
                                   std::string_view tier,
                                   std::string_view order) {
  GB_TRY(check_saved_files(saved, tier));
  MemoryExport result;
  json files = json::array();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(saved, error)) {
    const std::string name = entry.path().filename();
    if (name == kSealOfSavedFiles) {
      continue;
    }
    UniqueFd file(::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
      return Error::from_errno("open " + entry.path().string());
    }
    const std::string hash = GB_TRY(hash_of_file(file.get()));
    files.push_back({{"name", name}, {"size", status.st_size}, {"sha256", hash}});
    result.files.push_back(std::move(file));
  }
  if (error) {
    return Error::from_errno("read " + saved, error.value());
  }
  const std::string format = GB_TRY(format_of(tier));
  result.manifest = json{{"format", 1},
                         {"memory", true},
                         {"memory_format", format},
                         {"tier", tier},
                         {"sandbox", json::parse(order, nullptr, false)},
                         {"files", std::move(files)}}
                        .dump(-1, ' ', false, json::error_handler_t::replace);
  result.signature = key.sign(result.manifest);
  return result;
}

Result<void> import_memory(const ExportKey& key,
                           std::string_view manifest,
                           std::string_view signature,
                           int content,
                           const std::string& to) {
  if (!key.has_signed(manifest, signature)) {
    return Error(ErrorCode::kRefused,
                 "the memory in the archive was not exported with this daemon's export key",
                 "copy the file keys/export-key from the data directory of the daemon that "
                 "exported it into this daemon's");
  }
  // From here on, the manifest is known to be what a keeper has written.
  const json order = json::parse(manifest);
  const std::string wrote = order.at("memory_format");
  const std::string here = GB_TRY(format_of(order.at("tier").get<std::string>()));
  if (wrote != here) {
    return Error(ErrorCode::kUnsupported,
                 "the memory in the archive was written by '" + printable(wrote) +
                     "', and this machine has '" + printable(here) + "'",
                 "install the same version on both machines");
  }
  if (::mkdir(to.c_str(), 0700) != 0) {
    return Error::from_errno("create a directory for the imported sandbox");
  }
  auto taken = take_files(order, content, to);
  if (!taken) {
    (void)sys::remove_tree(to);
  }
  return taken;
}

}  // namespace glovebox::keeper
