// SPDX-License-Identifier: Apache-2.0
// FileClient: the files of one sandbox, by way of a file server inside it.
//
// The file server (files/server) runs in the sandbox as the guest, within the guest's walls: a
// symbolic link or a race can reach what the guest can reach, and nothing else. What it says is
// parsed as hostile, and every size is bounded.
//
// Paths are absolute paths of the sandbox, or relative to its workspace. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

struct FileEntry {
  enum class Type { kFile, kDirectory, kSymlink, kOther };
  std::string path;  // As it was asked for, extended by names below it.
  Type type = Type::kOther;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;  // Permission bits.
  std::string owner;       // Names, or numbers where there is no name.
  std::string group;
  std::int64_t modified_ns = 0;  // Since the epoch.
  std::string target;            // Of a symbolic link: what it resolves to, or empty.
  // The type of what a link resolves to; kSymlink if it leads nowhere.
  Type target_type = Type::kOther;
  std::map<std::string, std::string> metadata;  // Attributes "user.e2b.*", without that prefix.
  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

struct FileEvent {
  enum class Kind { kCreate, kWrite, kRemove, kRename, kChmod };
  Kind kind = Kind::kWrite;
  std::string name;  // Relative to what is watched.
  friend bool operator==(const FileEvent&, const FileEvent&) = default;
};

struct WriteOptions {
  std::uint32_t mode = 0644;  // Of a new file.
  bool append = false;
  bool flush = false;  // Answer only once it is on stable storage, if the workspace has any.
  std::map<std::string, std::string> metadata{};  // Replaces what was there.
};

class FileClient {
 public:
  // `socket` leads to a file server that nobody else speaks to.
  explicit FileClient(UniqueFd socket);
  ~FileClient();
  FileClient(FileClient&&) noexcept;
  FileClient& operator=(FileClient&&) noexcept;

  // Does not follow a final symbolic link.
  Result<FileEntry> stat(std::string_view path);

  // What is below a directory, `depth` levels deep, in lexical order, each directory before what it
  // holds; links are not followed. At most kMaxEntries, then kExhausted.
  static constexpr std::size_t kMaxEntries = 100'000;
  Result<std::vector<FileEntry>> list(std::string_view path, std::uint32_t depth = 1);

  // With its parents. kConflict when it exists.
  Result<FileEntry> make_directory(std::string_view path);

  // Makes parents of `to`; replaces a file there.
  Result<FileEntry> move(std::string_view from, std::string_view to);

  // With all that it holds. Succeeds if it does not exist.
  Result<void> remove(std::string_view path);

  // A regular file, open for reading: outside and inside see the same file. The guest can shorten
  // it meanwhile.
  struct OpenFile {
    // Set if the tier can pass it out. Checked to be in a file system that holds data, so reading
    // it neither blocks nor asks the kernel with our rights. Read it by position (pread(2)) and do
    // not map it: the guest can move its offset.
    UniqueFd fd;
    FileEntry entry;
    std::uint32_t number = 0;  // The server's, if there is no descriptor.
  };
  // kExhausted past the number of files that a client may have open.
  Result<OpenFile> open(std::string_view path);

  // Passes up to `length` bytes of a file to `sink`, from `offset`, whichever of the two forms it
  // has. Returns how many there were: fewer at the end of the file.
  using Sink = std::function<Result<void>(std::string_view)>;
  Result<std::uint64_t> read(const OpenFile& file,
                             std::uint64_t offset,
                             std::uint64_t length,
                             const Sink& sink);

  // Writes a file, with its parents, from what `source` puts into the span; 0 ends it. A write that
  // fails midway leaves what was there before (it goes to a temporary name first), except with
  // `append`. kExhausted when the disk is full.
  using Source = std::function<Result<std::size_t>(std::span<char>)>;
  Result<FileEntry> write(std::string_view path, const WriteOptions& options, const Source& source);

  // Packs a directory as an archive; leaves out what is not a file, directory or link.
  enum class ArchiveFormat { kTar, kTarGzip, kZip };
  Result<void> pack(std::string_view path, ArchiveFormat format, const Sink& sink);
  // Unpacks tar (plain or gzip) or zip below a directory, which is made.
  Result<void> unpack(std::string_view path, const Source& source);

  // Calls `started`, then `changed` for each change below a directory until `changed` returns false
  // or `stop_fd` becomes readable. With `recursive`, this includes directories made later. An
  // overflow of the kernel's queue is the error kExhausted.
  Result<void> watch(std::string_view path,
                     bool recursive,
                     int stop_fd,
                     const std::function<void()>& started,
                     const std::function<bool(const FileEvent&)>& changed);

  // A connection to a TCP port of the sandbox's own 127.0.0.1, made inside. kUnavailable if nobody
  // listens. Close it by ForeignDescriptors' rule: a guest made it. If the tier cannot pass it out,
  // it is this client's own connection, and the client can do nothing more.
  Result<UniqueFd> connect(std::uint16_t port);

  // From now on, every call that changes something or connects fails with kRefused.
  void only_read();

  // From now on, `on_change` hears of each change before it is made ("write", "make_directory",
  // "move", "remove", "unpack"), with its path and, for a move, the new one. If `on_change` fails,
  // the change is not made, and fails with the same error.
  using OnChange = std::function<Result<void>(
      std::string_view what, std::string_view path, std::string_view to)>;
  void tell_changes(OnChange on_change);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace glovebox
