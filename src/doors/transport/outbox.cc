// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/outbox.h"

#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace glovebox::http {
namespace {

using Status = Channel::Status;

constexpr std::size_t kFileBuffer = 256 * 1024;
constexpr std::uint64_t kMostAtOnce = 0x7ffff000;  // sendfile(2).

Channel::Outcome pass_file(Channel& channel, int file, std::uint64_t offset, std::uint64_t length) {
  auto position = static_cast<off_t>(offset);
  if (channel.is_plain()) {
    while (true) {
      const ssize_t count =
          ::sendfile(channel.fd(), file, &position, std::min(length, kMostAtOnce));
      if (count > 0) {
        return {.status = Status::kDone, .bytes = static_cast<std::size_t>(count)};
      }
      if (count == 0 || errno != EINTR) {
        return {.status = count == -1 && errno == EAGAIN ? Status::kWantWrite : Status::kFailed};
      }
    }
  }
  // Not cleared: it is all overwritten.
  const std::unique_ptr<char[]> buffer(new char[kFileBuffer]);
  const ssize_t count =
      ::pread(file, buffer.get(), std::min<std::uint64_t>(length, kFileBuffer), position);
  if (count <= 0) {
    return {.status = Status::kFailed};
  }
  const iovec piece{.iov_base = buffer.get(), .iov_len = static_cast<std::size_t>(count)};
  return channel.write({&piece, 1});
}

}  // namespace

void Outbox::add(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  if (parts_.empty() || parts_.back().file) {
    parts_.emplace_back();
  }
  parts_.back().bytes += bytes;
}

void Outbox::add_file(UniqueFd file, std::uint64_t offset, std::uint64_t length) {
  if (length > 0) {
    parts_.push_back({.file = std::move(file), .offset = offset, .length = length});
  }
}

Channel::Outcome Outbox::flush(Channel& channel, std::uint64_t most_of_files) {
  Channel::Outcome all{.status = Status::kDone};
  while (!parts_.empty() && !(needs_disk() && most_of_files == 0)) {
    Part& part = parts_.front();
    Channel::Outcome step;
    if (part.file) {
      step = pass_file(channel, part.file.get(), part.offset, std::min(part.length, most_of_files));
    } else {
      const iovec piece{.iov_base = part.bytes.data() + part.done,
                        .iov_len = part.bytes.size() - part.done};
      step = channel.write({&piece, 1});
    }
    if (step.status != Status::kDone) {
      all.status = step.status;
      return all;
    }
    all.bytes += step.bytes;
    if (part.file) {
      part.offset += step.bytes;
      part.length -= step.bytes;
      most_of_files -= step.bytes;
    } else {
      part.done += step.bytes;
    }
    if (part.file ? part.length == 0 : part.done == part.bytes.size()) {
      parts_.pop_front();
    }
  }
  return all;
}

}  // namespace glovebox::http
