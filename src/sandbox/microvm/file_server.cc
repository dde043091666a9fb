// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/file_server.h"

#include <linux/fuse.h>
#include <sys/socket.h>

#include <cstring>

#include "base/sys/write_all.h"
#include "sandbox/microvm/exactly.h"

namespace glovebox::microvm {

bool FileServer::answer_one() {
  std::uint32_t size = 0;
  if (!read_exactly(socket_.get(), reinterpret_cast<char*>(&size), sizeof size) ||
      size < sizeof(fuse_in_header) || size > FileExport::kLongestRequest) {
    return false;
  }
  request_.resize(size);
  std::memcpy(request_.data(), &size, sizeof size);
  return read_exactly(socket_.get(), request_.data() + sizeof size, size - sizeof size) &&
         sys::write_all(socket_.get(), files_.answer(request_));
}

bool FileServer::is_asked() const {
  char byte = 0;
  return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace glovebox::microvm
