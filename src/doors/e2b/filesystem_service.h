// SPDX-License-Identifier: Apache-2.0
// filesystem.Filesystem: files of a sandbox by name, and watches on directories.
#pragma once

#include <string_view>

#include "doors/e2b/connect_rpc.h"
#include "doors/e2b/gate.h"
#include "doors/e2b/users.h"
#include "doors/e2b/watchers.h"

namespace glovebox::e2b {

class FilesystemService {
 public:
  explicit FilesystemService(SandboxService& service) : service_(service), watchers_(service) {}

  // Answers a call of `method` for a sandbox that the caller may enter.
  void serve(std::string_view method,
             const Visit& visit,
             http::Request& request,
             http::Response& response);

 private:
  Result<Json> call(std::string_view method,
                    const Visit& visit,
                    const User& user,
                    const Json& message);
  Result<Json> stat(FileClient& files, const User& user, const Json& message);
  Result<Json> list(FileClient& files, const User& user, const Json& message);
  Result<Json> make_directory(FileClient& files, const User& user, const Json& message);
  Result<Json> move(FileClient& files, const User& user, const Json& message);
  Result<Json> remove(FileClient& files, const User& user, const Json& message);
  void watch(const Visit& visit,
             const User& user,
             http::Request& request,
             http::Response& response);

  SandboxService& service_;
  Watchers watchers_;
};

// A FilesystemEvent. With `entry`, it includes what is there now, unless the event is a removal or
// a renaming.
Json file_event_json(const FileEvent& event, const std::string& directory, FileClient* entry);

}  // namespace glovebox::e2b
