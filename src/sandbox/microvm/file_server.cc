// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/file_server.h"

#include <linux/fuse.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/sys/write_all.h"
#include "base/wire.h"
#include "sandbox/microvm/exactly.h"

namespace glovebox::microvm {
namespace {

// More than the socket holds.
constexpr std::size_t kMostTaken = 8UL << 20;

}  // namespace

bool FileServer::answer_one() {
  std::uint32_t size = 0;
  if (!read(reinterpret_cast<char*>(&size), sizeof size) || size < sizeof(fuse_in_header) ||
      size > FileExport::kLongestRequest) {
    return false;
  }
  request_.resize(size);
  std::memcpy(request_.data(), &size, sizeof size);
  return read(request_.data() + sizeof size, size - sizeof size) &&
         sys::write_all(socket_.get(), files_.answer(request_));
}

bool FileServer::read(char* to, std::size_t size) {
  const std::size_t ready = taken_.copy(to, size);
  taken_.erase(0, ready);
  return read_exactly(socket_.get(), to + ready, size - ready);
}

bool FileServer::is_heard() const { return microvm::is_heard(socket_.get()); }

void FileServer::take_questions() {
  std::array<char, FileExport::kLongestRequest> bytes;
  ssize_t got = 0;
  while (taken_.size() < kMostTaken &&
         (got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
    taken_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::string FileServer::known() const {
  WireWriter writer;
  writer.text(taken_);
  writer.text(files_.names());
  return writer.take();
}

bool FileServer::go_on(std::string_view known) {
  WireReader reader(known);
  taken_ = reader.text();
  const std::string_view names = reader.text();
  return reader.complete() && files_.remember(names);
}

bool FileServer::is_asked() const {
  char byte = 0;
  return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace glovebox::microvm
