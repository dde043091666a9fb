// SPDX-License-Identifier: Apache-2.0
// Sandboxes with a file server in them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "files/file_client.h"
#include "fixture.h"

namespace glovebox::conformance {

class FileServer : public Conformance {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The test's own sandbox, made when it is first asked for, with a client.
  FileClient& files();
  void make_server(const Limits& limits);

  // Another client of the same sandbox.
  FileClient another();
  Sandbox& server_sandbox() { return *sandbox_; }

  // As Conformance::output_of(), in the sandbox of the server.
  std::string guest(const std::string& script);

  // Writes a file that must be taken, and reads one that must be there.
  FileEntry put(std::string_view path, std::string_view bytes, const WriteOptions& options = {});
  std::string get(std::string_view path);
  void mkdir(std::string_view path);

  // What list() has, without what it was asked for in front.
  std::vector<std::string> names_below(const std::string& path, std::uint32_t depth);

 private:
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<FileClient> client_;
};

// What write() and unpack() read: `bytes`, in pieces of at most `piece`.
FileClient::Source source_of(std::string_view bytes, std::size_t piece = 1U << 20);

// All that can be read from the beginning of a file.
std::string content_of(FileClient& files, const FileClient::OpenFile& file);

// The code of a result that must be an error.
template <typename T>
ErrorCode code_of(const Result<T>& result) {
  if (result) {
    ADD_FAILURE() << "there is no error";
    return ErrorCode::kInternal;
  }
  return result.error().code();
}

}  // namespace glovebox::conformance
