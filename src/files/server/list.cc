// SPDX-License-Identifier: Apache-2.0
#include "files/server/list.h"

#include <fcntl.h>

#include <string>
#include <utility>

#include "files/server/entry.h"
#include "files/server/place.h"
#include "files/server/tree.h"

namespace glovebox::files {
namespace {

class Listing {
 public:
  Listing(std::uint32_t depth, Channel& channel) : depth_(depth), channel_(channel) {}

  Result<bool> add(const Visited& visited) {
    auto entry = describe(visited.directory_fd, visited.name, owners_);
    if (!entry) {
      return false;  // Gone meanwhile.
    }
    entry->path = visited.path;
    const std::size_t weight = weight_of(*entry);
    bytes_ += weight;
    if (++count_ > FileClient::kMaxEntries || bytes_ > kMaxListBytes) {
      return Error(ErrorCode::kExhausted, "too many files to list");
    }
    put_listed(batch_, *entry);
    batch_bytes_ += weight;
    if (++batch_count_ == kMaxBatch || batch_bytes_ > kBatchBytes) {
      GB_TRY(flush());
    }
    return entry->type == FileEntry::Type::kDirectory && visited.depth < depth_;
  }

  Result<void> flush() {
    batch_count_ = 0;
    batch_bytes_ = 0;
    return channel_.send(Reply::kEntries, std::exchange(batch_, {}).take());
  }

 private:
  std::uint32_t depth_;
  Channel& channel_;
  Owners owners_;
  WireWriter batch_;
  std::size_t batch_count_ = 0;
  std::size_t batch_bytes_ = 0;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<void> list(std::string_view path, std::uint32_t depth, Channel& channel) {
  const UniqueFd directory(::open(inner_path(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    return file_error(path);
  }
  Listing listing(depth, channel);
  GB_TRY(walk(directory.get(), [&](const Visited& visited) { return listing.add(visited); }));
  return listing.flush();
}

}  // namespace glovebox::files
