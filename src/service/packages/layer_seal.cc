// SPDX-License-Identifier: Apache-2.0
#include "service/packages/layer_seal.h"

#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/digest/digest.h"
#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::string_view kFormat = "glovebox-layer-1";

int by_name(const FTSENT** a, const FTSENT** b) {
  return std::strcmp((*a)->fts_name, (*b)->fts_name);
}

// Calls `visit` for each directory, before what is in it, and each file, ordered by name.
Result<void> walk(const std::string& directory,
                  const std::function<Result<void>(const FTSENT&)>& visit) {
  std::string root = directory;
  char* const roots[] = {root.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> tree(
      ::fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name), ::fts_close);
  if (!tree) {
    return Error::from_errno("read " + directory);
  }
  for (errno = 0; const FTSENT* entry = ::fts_read(tree.get()); errno = 0) {
    switch (entry->fts_info) {
      case FTS_D:
      case FTS_F:
        GB_TRY(visit(*entry));
        break;
      case FTS_DP:
        break;
      case FTS_DNR:
      case FTS_ERR:
      case FTS_NS:
        return Error::from_errno("read " + printable(entry->fts_path), entry->fts_errno);
      default:
        return Error(ErrorCode::kInvalid,
                     "'" + printable(entry->fts_path) + "' is neither a file nor a directory");
    }
  }
  if (errno != 0) {
    return Error::from_errno("read " + directory);
  }
  return {};
}

}  // namespace

std::string LayerSeal::encode() const {
  return std::string(kFormat) + " " + hash + " " + std::to_string(bytes) + "\n";
}

Result<LayerSeal> LayerSeal::decode(const std::string& text) {
  std::istringstream words(text);
  std::string format;
  LayerSeal seal;
  if (!(words >> format >> seal.hash >> seal.bytes) || format != kFormat) {
    return Error(ErrorCode::kInvalid, "invalid layer seal");
  }
  return seal;
}

Result<LayerSeal> seal_of(const std::string& directory) {
  ContentHash hash;
  LayerSeal seal;
  const uid_t us = ::geteuid();
  GB_TRY(walk(directory, [&](const FTSENT& entry) -> Result<void> {
    const struct stat& status = *entry.fts_statp;
    if (status.st_uid != us) {
      return Error(ErrorCode::kInvalid,
                   "'" + printable(entry.fts_path) + "' belongs to another user");
    }
    hash.add(std::string_view(entry.fts_path).substr(directory.size())).add(status.st_mode);
    if (S_ISREG(status.st_mode)) {
      hash.add(static_cast<std::uint64_t>(status.st_size))
          .add(static_cast<std::uint64_t>(status.st_mtim.tv_sec))
          .add(static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
      // What it takes of the disk: a small file takes a block.
      seal.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return {};
  }));
  seal.hash = hash.hex();
  return seal;
}

Result<void> make_read_only(const std::string& directory) {
  return walk(directory, [](const FTSENT& entry) -> Result<void> {
    const mode_t mode = entry.fts_statp->st_mode;
    const mode_t wanted = S_ISDIR(mode) ? 0555 : 0444 | (mode & 0111);
    if (::fchmodat(AT_FDCWD, entry.fts_path, wanted, 0) != 0) {
      return Error::from_errno("protect " + printable(entry.fts_path));
    }
    return {};
  });
}

}  // namespace glovebox
