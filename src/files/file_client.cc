// SPDX-License-Identifier: Apache-2.0
#include "files/file_client.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "files/connection.h"
#include "files/foreign.h"
#include "files/protocol.h"

namespace glovebox {

using files::Connection;
using files::Order;
using files::Reply;
using files::Request;

namespace {

// Empty: it changes nothing.
std::string_view change_of(Request request) {
  switch (request) {
    case Request::kWrite:
      return "write";
    case Request::kMakeDirectory:
      return "make_directory";
    case Request::kMove:
      return "move";
    case Request::kRemove:
      return "remove";
    case Request::kUnpack:
      return "unpack";
    default:
      return {};
  }
}

}  // namespace

struct FileClient::State {
  explicit State(UniqueFd socket) : connection(std::move(socket)) {}

  Connection connection;
  bool only_reads = false;
  OnChange on_change;
  std::uint32_t opened = 0;

  // Every request goes through here.
  Result<void> ask(Request request, const Order& order) {
    const bool reads = request == Request::kStat || request == Request::kList ||
                       request == Request::kOpen || request == Request::kRead ||
                       request == Request::kPack || request == Request::kWatch;
    if (only_reads && !reads) {
      return Error(ErrorCode::kRefused, "these files are read-only");
    }
    if (const std::string_view change = change_of(request); on_change && !change.empty()) {
      GB_TRY(on_change(change, order.path, order.to));
    }
    return connection.ask(request, order);
  }

  // What the server says of a path, under the name that the caller knows.
  Result<FileEntry> entry_of(std::string_view path) {
    auto entry = files::decode_facts(GB_TRY(connection.expect(Reply::kEntry)));
    if (!entry) {
      return connection.give_up(std::move(entry).error());
    }
    entry->path = path;
    return entry;
  }

  Result<FileEntry> ask_entry(Request request, const Order& order, std::string_view path) {
    GB_TRY(ask(request, order));
    return entry_of(path);
  }

  Result<void> ask_done(Request request, const Order& order) {
    GB_TRY(ask(request, order));
    GB_TRY(connection.expect(Reply::kDone));
    return {};
  }

  // Sends what `source` gives. The server may fail on the way: it has then sent its error, and
  // wants no more. An error of the source itself takes precedence over what the server says of it.
  Result<void> upload(const Source& source) {
    std::string piece(files::kPiece, '\0');
    for (;;) {
      const Result<std::size_t> got = source(piece);
      if (!got) {
        GB_TRY(connection.send(Request::kAbort, {}));
        (void)connection.receive();
        return got.error();
      }
      GB_CHECK(*got <= piece.size());
      if (*got == 0) {
        return connection.send(Request::kEnd, {});
      }
      GB_TRY(connection.send(Request::kData, std::string_view(piece).substr(0, *got)));
      if (auto early = connection.poll(); !early || early.value()) {
        return refuse_early(std::move(early));
      }
    }
  }

  Result<void> refuse_early(Result<std::optional<Frame>> early) {
    if (early) {
      return connection.give_up({ErrorCode::kUnavailable, "the file server replied too early"});
    }
    // The server skips what comes before this. Fails if the connection itself has failed.
    (void)connection.send(Request::kAbort, {});
    return std::move(early).error();
  }

  Result<void> end_watch() {
    GB_TRY(connection.send(Request::kEnd, {}));
    const auto deadline = std::chrono::steady_clock::now() + files::kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      const Frame frame = GB_TRY(connection.receive());
      if (static_cast<Reply>(frame.type) == Reply::kDone) {
        return {};
      }
    }
    return connection.give_up({ErrorCode::kUnavailable, "the file server does not stop"});
  }
};

FileClient::FileClient(UniqueFd socket) : state_(std::make_unique<State>(std::move(socket))) {}
FileClient::~FileClient() = default;

void FileClient::only_read() { state_->only_reads = true; }

void FileClient::tell_changes(OnChange on_change) { state_->on_change = std::move(on_change); }

FileClient::FileClient(FileClient&&) noexcept = default;
FileClient& FileClient::operator=(FileClient&&) noexcept = default;

Result<FileEntry> FileClient::stat(std::string_view path) {
  return state_->ask_entry(Request::kStat, {.path = std::string(path)}, path);
}

Result<std::vector<FileEntry>> FileClient::list(std::string_view path, std::uint32_t depth) {
  Connection& connection = state_->connection;
  GB_TRY(state_->ask(Request::kList, {.path = std::string(path), .number = depth}));
  std::string above(path);
  if (!above.ends_with('/')) {
    above += '/';
  }
  std::vector<FileEntry> entries;
  std::size_t bytes = 0;
  for (;;) {
    const Frame frame = GB_TRY(connection.receive());
    if (static_cast<Reply>(frame.type) == Reply::kDone) {
      return entries;
    }
    const std::size_t before = entries.size();
    if (static_cast<Reply>(frame.type) != Reply::kEntries ||
        !files::decode_listed(frame.payload, entries)) {
      return connection.give_up({ErrorCode::kUnavailable, "the file server did not return a list"});
    }
    for (std::size_t i = before; i < entries.size(); ++i) {
      bytes += files::weight_of(entries[i]) + above.size();
      entries[i].path.insert(0, above);
    }
    // An honest server never does this: it counts itself.
    if (entries.size() > kMaxEntries || bytes > 2 * files::kMaxListBytes) {
      return connection.give_up(
          {ErrorCode::kExhausted, "the file server returned too large a list"});
    }
  }
}

Result<FileEntry> FileClient::make_directory(std::string_view path) {
  return state_->ask_entry(Request::kMakeDirectory, {.path = std::string(path)}, path);
}

Result<FileEntry> FileClient::move(std::string_view from, std::string_view to) {
  return state_->ask_entry(Request::kMove, {.path = std::string(from), .to = std::string(to)}, to);
}

Result<void> FileClient::remove(std::string_view path) {
  return state_->ask_done(Request::kRemove, {.path = std::string(path)});
}

Result<FileClient::OpenFile> FileClient::open(std::string_view path) {
  Connection& connection = state_->connection;
  const std::uint32_t number = state_->opened++;
  GB_TRY(state_->ask(Request::kOpen, {.path = std::string(path), .number = number}));
  const Frame frame = GB_TRY(connection.receive());
  const auto reply = static_cast<Reply>(frame.type);
  auto entry = files::decode_facts(frame.payload);
  if (!entry || (reply != Reply::kDescriptor && reply != Reply::kEntry)) {
    return connection.give_up(
        {ErrorCode::kUnavailable, "the file server sent an unexpected reply"});
  }
  if (reply == Reply::kEntry) {
    entry->path = path;
    return OpenFile{.fd = {}, .entry = std::move(entry).value(), .number = number};
  }
  std::vector<UniqueFd> held;
  held.push_back(GB_TRY(connection.take_descriptor()));
  struct stat status {};
  if (auto checked = files::check_file(held[0].get()); !checked) {
    files::close_foreign(held);
    return connection.give_up(std::move(checked).error());
  }
  if (::fstat(held[0].get(), &status) != 0) {
    return connection.give_up(Error::from_errno("stat a file"));
  }
  // What the file itself says counts.
  entry->path = path;
  entry->type = FileEntry::Type::kFile;
  entry->target_type = FileEntry::Type::kFile;
  entry->size = static_cast<std::uint64_t>(status.st_size);
  entry->mode = status.st_mode & 07777U;
  entry->modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  return OpenFile{.fd = std::move(held[0]), .entry = std::move(entry).value()};
}

Result<std::uint64_t> FileClient::read(const OpenFile& file,
                                       std::uint64_t offset,
                                       std::uint64_t length,
                                       const Sink& sink) {
  std::uint64_t done = 0;
  if (file.fd) {
    std::string piece(files::kPiece, '\0');
    while (done < length) {
      const ssize_t got =
          ::pread(file.fd.get(), piece.data(), std::min<std::uint64_t>(piece.size(), length - done),
                  static_cast<off_t>(offset + done));
      if (got < 0) {
        return Error::from_errno("read a file");
      }
      if (got == 0) {
        break;
      }
      GB_TRY(sink(std::string_view(piece).substr(0, static_cast<std::size_t>(got))));
      done += static_cast<std::uint64_t>(got);
    }
    return done;
  }
  Connection& connection = state_->connection;
  GB_TRY(state_->ask(Request::kRead, {.number = file.number, .offset = offset, .length = length}));
  for (;;) {
    const Frame frame = GB_TRY(connection.receive());
    if (static_cast<Reply>(frame.type) == Reply::kDone) {
      return done;
    }
    if (static_cast<Reply>(frame.type) != Reply::kData || frame.payload.size() > length - done) {
      return connection.give_up(
          {ErrorCode::kUnavailable, "the file server did not return what was asked for"});
    }
    done += frame.payload.size();
    if (auto taken = sink(frame.payload); !taken) {
      // The rest may be long, so it is not waited for.
      return connection.give_up(std::move(taken).error());
    }
  }
}

Result<FileEntry> FileClient::write(std::string_view path,
                                    const WriteOptions& options,
                                    const Source& source) {
  GB_TRY(state_->ask(Request::kWrite, {.path = std::string(path), .write = options}));
  GB_TRY(state_->upload(source));
  return state_->entry_of(path);
}

Result<void> FileClient::pack(std::string_view path, ArchiveFormat format, const Sink& sink) {
  Connection& connection = state_->connection;
  GB_TRY(state_->ask(Request::kPack,
                     {.path = std::string(path), .number = static_cast<std::uint32_t>(format)}));
  for (;;) {
    const Frame frame = GB_TRY(connection.receive());
    if (static_cast<Reply>(frame.type) == Reply::kDone) {
      return {};
    }
    if (static_cast<Reply>(frame.type) != Reply::kData) {
      return connection.give_up(
          {ErrorCode::kUnavailable, "the file server did not return an archive"});
    }
    if (auto taken = sink(frame.payload); !taken) {
      // The rest of an archive has no bound, so it is not waited for.
      return connection.give_up(std::move(taken).error());
    }
  }
}

Result<void> FileClient::unpack(std::string_view path, const Source& source) {
  GB_TRY(state_->ask(Request::kUnpack, {.path = std::string(path)}));
  GB_TRY(state_->upload(source));
  GB_TRY(state_->connection.expect(Reply::kDone));
  return {};
}

Result<void> FileClient::watch(std::string_view path,
                               bool recursive,
                               int stop_fd,
                               const std::function<void()>& started,
                               const std::function<bool(const FileEvent&)>& changed) {
  Connection& connection = state_->connection;
  GB_TRY(
      connection.ask(Request::kWatch, {.path = std::string(path), .number = recursive ? 1U : 0U}));
  GB_TRY(connection.expect(Reply::kStarted));
  started();
  for (;;) {
    std::array<pollfd, 2> polled = {{{connection.fd(), POLLIN, 0}, {stop_fd, POLLIN, 0}}};
    const std::optional<Frame> frame = GB_TRY(connection.poll());
    // Checked each time, so that changes without end do not keep us from stopping.
    if (::poll(polled.data(), polled.size(), frame ? 0 : -1) < 0 && errno != EINTR) {
      return connection.give_up(Error::from_errno("wait for changes"));
    }
    if (polled[1].revents != 0) {
      return state_->end_watch();
    }
    if (!frame) {
      continue;
    }
    const auto events = files::decode_events(frame->payload);
    if (static_cast<Reply>(frame->type) != Reply::kEvents || !events) {
      return connection.give_up(
          {ErrorCode::kUnavailable, "the file server did not return changes"});
    }
    for (const FileEvent& event : events.value()) {
      if (!changed(event)) {
        return state_->end_watch();
      }
    }
  }
}

Result<UniqueFd> FileClient::connect(std::uint16_t port) {
  Connection& connection = state_->connection;
  GB_TRY(state_->ask(Request::kConnect, {.number = port}));
  const auto reply = static_cast<Reply>(GB_TRY(connection.receive()).type);
  if (reply == Reply::kDone) {
    GB_TRY(connection.send(Request::kEnd, {}));
    return connection.release();
  }
  if (reply != Reply::kDescriptor) {
    return connection.give_up(
        {ErrorCode::kUnavailable, "the file server sent an unexpected reply"});
  }
  std::vector<UniqueFd> held;
  held.push_back(GB_TRY(connection.take_descriptor()));
  if (auto checked = files::check_connection(held[0].get()); !checked) {
    files::close_foreign(held);
    return connection.give_up(std::move(checked).error());
  }
  return std::move(held[0]);
}

}  // namespace glovebox
