// SPDX-License-Identifier: Apache-2.0
#include "file_server_fixture.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "files/open.h"

namespace glovebox::conformance {
namespace {

class FilesOfThisBuild : public testing::Environment {
 public:
  void SetUp() override {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before the first thread.
    ::setenv("GLOVEBOX_FILES", GB_FILES_PATH, 0);
  }
};

const auto* const kFiles = testing::AddGlobalTestEnvironment(new FilesOfThisBuild);

}  // namespace

void FileServer::SetUp() { Conformance::SetUp(); }

void FileServer::TearDown() {
  client_.reset();
  sandbox_.reset();
  Conformance::TearDown();
}

FileClient& FileServer::files() {
  if (!client_) {
    make_server({});
  }
  return *client_;
}

void FileServer::make_server(const Limits& limits) {
  auto mount = file_server_mount();
  ASSERT_TRUE(mount) << mount.error().message();
  auto made = Sandbox::create(
      {.limits = limits, .env = {}, .mounts = {*mount}, .relay = is_relayed(GetParam())}, tier());
  // Nothing can be tried without one.
  if (!made) {
    ADD_FAILURE() << made.error().message();
    std::abort();
  }
  sandbox_ = std::move(made).value();
  client_ = std::make_unique<FileClient>(another());
}

FileClient FileServer::another() {
  auto socket = open_file_server(*sandbox_);
  if (!socket) {
    ADD_FAILURE() << socket.error().message();
    return FileClient(UniqueFd());
  }
  return FileClient(std::move(socket).value());
}

std::string FileServer::guest(const std::string& script) {
  RunOptions options;
  options.kill_rest = false;  // The server is a part of the rest.
  auto outcome = sandbox_->run({.argv = {"/bin/sh", "-c", script}, .env = {}, .cwd = {}}, options);
  if (!outcome || outcome->status != Status::kOk) {
    ADD_FAILURE() << script << "\n" << (outcome ? outcome->err.bytes : outcome.error().message());
    return {};
  }
  return outcome->out.bytes;
}

FileEntry FileServer::put(std::string_view path,
                          std::string_view bytes,
                          const WriteOptions& options) {
  auto entry = files().write(path, options, source_of(bytes));
  if (!entry) {
    ADD_FAILURE() << path << ": " << entry.error().message();
    return {};
  }
  return std::move(entry).value();
}

std::string FileServer::get(std::string_view path) {
  auto file = files().open(path);
  if (!file) {
    ADD_FAILURE() << path << ": " << file.error().message();
    return {};
  }
  EXPECT_EQ(static_cast<bool>(file->fd), server_sandbox().features().returns_descriptors);
  return content_of(files(), *file);
}

void FileServer::mkdir(std::string_view path) {
  const auto entry = files().make_directory(path);
  EXPECT_TRUE(entry) << path;
}

std::vector<std::string> FileServer::names_below(const std::string& path, std::uint32_t depth) {
  auto entries = files().list(path, depth);
  std::vector<std::string> names;
  if (!entries) {
    ADD_FAILURE() << path << ": " << entries.error().message();
    return names;
  }
  for (const FileEntry& entry : *entries) {
    EXPECT_TRUE(entry.path.starts_with(path + "/")) << entry.path;
    names.push_back(entry.path.substr(path.size() + 1));
  }
  return names;
}

FileClient::Source source_of(std::string_view bytes, std::size_t piece) {
  return [bytes, piece](std::span<char> room) mutable -> Result<std::size_t> {
    const std::size_t size = std::min({bytes.size(), room.size(), piece});
    std::memcpy(room.data(), bytes.data(), size);
    bytes.remove_prefix(size);
    return size;
  };
}

std::string content_of(FileClient& files, const FileClient::OpenFile& file) {
  std::string bytes;
  const auto read = files.read(file, 0, ~0ULL >> 1U, [&bytes](std::string_view piece) {
    bytes += piece;
    return Result<void>();
  });
  EXPECT_TRUE(read && *read == bytes.size());
  return bytes;
}

}  // namespace glovebox::conformance
