// SPDX-License-Identifier: Apache-2.0
// A file as an answer: whole, a range of it, or the news that it has not changed (RFC 9110, 13-14).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doors/rest/call.h"
#include "files/file_client.h"

namespace glovebox::rest {

Result<void> send_file(Call& call, FileClient& files, const FileClient::OpenFile& file);

// Changes with the size and the time of the last change.
std::string entity_tag(const FileEntry& entry);

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
enum class RangeKind { kWhole, kPart, kUnsatisfiable };
// Reads one range of bytes; a malformed header, or several ranges, count as none.
RangeKind parse_range(std::string_view text, std::uint64_t size, ByteRange& range);

}  // namespace glovebox::rest
