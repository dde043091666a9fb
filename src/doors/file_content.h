// SPDX-License-Identifier: Apache-2.0
// The content of a sandbox's file as an answer, through any door.
#pragma once

#include <cstdint>
#include <string_view>

#include "doors/transport/http.h"
#include "files/file_client.h"

namespace glovebox {

// False when the peer is gone, or the file is shorter than it was. May wait for the peer if the
// tier cannot pass the file out.
inline bool write_content(http::Response& response,
                          FileClient& files,
                          const FileClient::OpenFile& file,
                          std::uint64_t offset,
                          std::uint64_t length) {
  if (file.fd) {
    return response.write_file(file.fd.get(), offset, length).has_value();
  }
  const auto sent = files.read(file, offset, length,
                               [&](std::string_view piece) { return response.write(piece); });
  return sent && *sent == length;
}

}  // namespace glovebox
