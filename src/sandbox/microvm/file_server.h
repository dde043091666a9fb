// SPDX-License-Identifier: Apache-2.0
// Answers a machine's questions for files, over a stream of FUSE's messages.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "sandbox/microvm/file_export.h"

namespace glovebox::microvm {

class FileServer {
 public:
  FileServer(UniqueFd socket, UniqueFd root)
      : socket_(std::move(socket)), files_(std::move(root)) {}

  // Waits for a question. False where the machine is gone, or asks what is no question.
  bool answer_one();
  // Whether there is a question that nobody has answered, or part of one.
  [[nodiscard]] bool is_asked() const;

  // For poll(2). Ours.
  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] FileExport& files() { return files_; }

 private:
  UniqueFd socket_;
  FileExport files_;
  std::string request_;
};

}  // namespace glovebox::microvm
