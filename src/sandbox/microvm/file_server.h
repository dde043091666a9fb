// SPDX-License-Identifier: Apache-2.0
// Answers a machine's questions for files, over a stream of FUSE's messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "sandbox/microvm/file_export.h"

namespace glovebox::microvm {

class FileServer {
 public:
  FileServer(UniqueFd socket, UniqueFd root)
      : socket_(std::move(socket)), files_(std::move(root)) {}

  // Waits for a question, and answers it. False if the machine is gone, or sends something that is
  // not a question.
  bool answer_one();

  // Whether the machine has received all answers.
  [[nodiscard]] bool is_heard() const;
  // Takes what the machine has asked, without answering yet: these questions come first later.
  void take_questions();
  // The names that the machine knows, and those questions, for another server to continue with. On
  // that server, go_on() must come first; it returns false if the bytes make no sense.
  [[nodiscard]] std::string known() const;
  bool go_on(std::string_view known);
  // A question was taken, or part of one.
  [[nodiscard]] bool has_questions() const { return !taken_.empty(); }
  // Whether there is a question that nobody has answered, or part of one.
  [[nodiscard]] bool is_asked() const;

  // For poll(2). Ours.
  [[nodiscard]] int socket() const { return socket_.get(); }

 private:
  bool read(char* to, std::size_t size);

  UniqueFd socket_;
  FileExport files_;
  std::string request_;
  std::string taken_;
};

}  // namespace glovebox::microvm
