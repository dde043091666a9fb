// SPDX-License-Identifier: Apache-2.0
// glovebox-files [frames]: serves the files of a sandbox to a FileClient, as one of its guests.
// With "frames", no descriptor leads out of the sandbox: contents and connections go in frames.
//
// glovebox-files for USER [frames]: likewise; what it makes belongs to that user.
//
// glovebox-files as USER COMMAND [ARGUMENT]...: is not a server, but runs a command as another
// user. glovebox-files give USER DIRECTORY: is not a server either, but gives a user a directory.
//
// Descriptor 3 is a stream socket to the client; when that closes, this ends. The current directory
// is the workspace.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string_view>
#include <utility>

#include "files/protocol.h"
#include "files/server/become.h"
#include "files/server/channel.h"
#include "files/server/connect.h"
#include "files/server/entry.h"
#include "files/server/list.h"
#include "files/server/pack.h"
#include "files/server/place.h"
#include "files/server/tree.h"
#include "files/server/tunnel.h"
#include "files/server/upload.h"
#include "files/server/watch.h"
#include "files/server/write.h"

namespace glovebox::files {
namespace {

constexpr int kSocket = 3;

class Server {
 public:
  explicit Server(bool in_frames) : channel_(kSocket), in_frames_(in_frames) {}

  // Serves until the client is gone, or sends what this does not understand.
  Result<void> serve() {
    for (;;) {
      const Frame frame = GB_TRY(channel_.receive());
      const auto request = static_cast<Request>(frame.type);
      if (request == Request::kData || request == Request::kEnd || request == Request::kAbort) {
        return Error(ErrorCode::kInvalid, "unexpected request");
      }
      const Order order = GB_TRY(Order::decode(frame.payload));
      if (auto done = handle(request, order); !done) {
        if (tunneled_) {
          return done;  // Nobody speaks the protocol any more.
        }
        const Failure failure{done.error().code(), done.error().message()};
        GB_TRY(channel_.send(Reply::kFailed, failure.encode()));
      }
      if (request == Request::kWrite || request == Request::kUnpack) {
        GB_TRY(upload_.drain());
      }
    }
  }

 private:
  // Sends the last reply, unless it fails.
  Result<void> handle(Request request, const Order& order) {
    if (order.path.empty() && request != Request::kConnect && request != Request::kRead) {
      return Error(ErrorCode::kInvalid, "empty path");
    }
    switch (request) {
      case Request::kStat:
        return send_entry(GB_TRY(find_place(order.path)));
      case Request::kList:
        GB_TRY(list(order.path, order.number, channel_));
        return channel_.send(Reply::kDone, {});
      case Request::kMakeDirectory:
        return make_directory(order);
      case Request::kMove:
        return move(order);
      case Request::kRemove:
        return remove(order);
      case Request::kOpen:
        return open(order);
      case Request::kRead:
        return read(order);
      case Request::kWrite:
        upload_ = Upload(channel_);
        return write(order);
      case Request::kPack:
        GB_TRY(pack(order.path, static_cast<FileClient::ArchiveFormat>(order.number), channel_));
        return channel_.send(Reply::kDone, {});
      case Request::kUnpack:
        upload_ = Upload(channel_);
        GB_TRY(unpack(order.path, upload_));
        GB_TRY(upload_.drain());
        return channel_.send(Reply::kDone, {});
      case Request::kWatch:
        GB_TRY(watch(order.path, order.number != 0, channel_));
        return channel_.send(Reply::kDone, {});
      case Request::kConnect: {
        const UniqueFd made = GB_TRY(connect_to(static_cast<std::uint16_t>(order.number)));
        return in_frames_ ? tunnel(made) : channel_.send(Reply::kDescriptor, {}, made.get());
      }
      default:
        return Error(ErrorCode::kInvalid, "no such request");
    }
  }

  Result<void> send_entry(const Place& place) {
    const FileEntry entry = GB_TRY(describe(place.parent.get(), place.name, Owners()));
    return channel_.send(Reply::kEntry, encode_facts(entry));
  }

  Result<void> write(const Order& order) {
    const Place place = GB_TRY(write_file(order, upload_));
    return send_entry(place);
  }

  Result<void> make_directory(const Order& order) {
    const Place place = GB_TRY(make_place(order.path));
    if (::mkdirat(place.parent.get(), place.name.c_str(), 0755) != 0) {
      return file_error(order.path);
    }
    return send_entry(place);
  }

  Result<void> move(const Order& order) {
    const Place from = GB_TRY(find_place(order.path));
    struct stat status {};
    if (::fstatat(from.parent.get(), from.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return file_error(order.path);
    }
    const Place to = GB_TRY(make_place(order.to));
    if (!from.has_name() || !to.has_name()) {
      return Error(ErrorCode::kInvalid, "cannot move a directory by this name");
    }
    if (::renameat(from.parent.get(), from.name.c_str(), to.parent.get(), to.name.c_str()) != 0) {
      if (errno != EXDEV) {
        return file_error("move " + order.path);
      }
      GB_TRY(move_across(from, to));
    }
    return send_entry(to);
  }

  // To another file system: makes a copy that takes its place once it is whole.
  Result<void> move_across(const Place& from, const Place& to) {
    const auto working = [this] { channel_.tell_progress(); };
    const std::string draft = random_name(kNewPrefix);
    auto moved = copy_tree(from.parent.get(), from.name, to.parent.get(), draft, working);
    if (moved &&
        ::renameat(to.parent.get(), draft.c_str(), to.parent.get(), to.name.c_str()) != 0) {
      moved = file_error("move");
    }
    if (!moved) {
      (void)remove_tree(to.parent.get(), draft, working);
      return moved;
    }
    return remove_tree(from.parent.get(), from.name, working);
  }

  Result<void> remove(const Order& order) {
    const auto place = find_place(order.path);
    if (place) {
      if (!place->has_name()) {
        return Error(ErrorCode::kInvalid, "cannot remove a directory by this name");
      }
      GB_TRY(remove_tree(place->parent.get(), place->name, [this] { channel_.tell_progress(); }));
    } else if (place.error().code() != ErrorCode::kNotFound) {
      return place.error();
    }
    return channel_.send(Reply::kDone, {});
  }

  Result<void> open(const Order& order) {
    Place place = GB_TRY(find_place(order.path));
    place = GB_TRY(follow_links(std::move(place)));
    UniqueFd file(::openat(place.parent.get(), place.name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
      return file_error(order.path);
    }
    if (!S_ISREG(status.st_mode)) {
      return Error(ErrorCode::kInvalid, order.path + " is not a regular file");
    }
    const FileEntry entry = GB_TRY(describe(place.parent.get(), place.name, Owners()));
    if (!in_frames_) {
      return channel_.send(Reply::kDescriptor, encode_facts(entry), file.get());
    }
    if (opened_.size() >= kMostOpen) {
      return Error(ErrorCode::kExhausted, "too many open files");
    }
    opened_[order.number] = std::move(file);
    return channel_.send(Reply::kEntry, encode_facts(entry));
  }

  Result<void> read(const Order& order) {
    const auto found = opened_.find(order.number);
    if (found == opened_.end()) {
      return Error(ErrorCode::kInvalid, "no such open file");
    }
    std::string piece(kPiece, '\0');
    for (std::uint64_t done = 0; done < order.length;) {
      const ssize_t got = ::pread(found->second.get(), piece.data(),
                                  std::min<std::uint64_t>(piece.size(), order.length - done),
                                  static_cast<off_t>(order.offset + done));
      if (got < 0) {
        return file_error("read");
      }
      if (got == 0) {
        break;
      }
      GB_TRY(channel_.send(Reply::kData,
                           std::string_view(piece).substr(0, static_cast<std::size_t>(got))));
      done += static_cast<std::uint64_t>(got);
    }
    return channel_.send(Reply::kDone, {});
  }

  // The client's connection becomes the port's, until both have ended.
  Result<void> tunnel(const UniqueFd& port) {
    GB_TRY(channel_.send(Reply::kDone, {}));
    const Frame frame = GB_TRY(channel_.receive());
    if (static_cast<Request>(frame.type) == Request::kEnd) {
      tunneled_ = true;
      run_tunnel(kSocket, port.get(), channel_.take_rest());
    }
    return gone();
  }

  Channel channel_;
  const bool in_frames_;
  bool tunneled_ = false;
  std::map<std::uint32_t, UniqueFd> opened_;
  Upload upload_ = Upload(channel_);
};

}  // namespace
}  // namespace glovebox::files

int main(int argc, char** argv) {
  if (argc > 3 && std::string_view(argv[1]) == "as") {
    return glovebox::files::run_as(argv[2], argv + 3);
  }
  if (argc == 4 && std::string_view(argv[1]) == "give") {
    return glovebox::files::give_to(argv[2], argv[3]);
  }
  if (argc > 2 && std::string_view(argv[1]) == "for") {
    if (!glovebox::files::make_for(argv[2])) {
      return 1;
    }
    argc -= 2;
    argv += 2;
  }
  // A file over its limit is then an error of the call.
  (void)::signal(SIGXFSZ, SIG_IGN);
  (void)::signal(SIGPIPE, SIG_IGN);
  (void)::umask(022);
  const bool in_frames = argc > 1 && std::string_view(argv[1]) == "frames";
  return glovebox::files::Server(in_frames).serve() ? 1 : 0;
}
