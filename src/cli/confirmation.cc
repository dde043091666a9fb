// SPDX-License-Identifier: Apache-2.0
#include "cli/confirmation.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/text.h"
#include "cli/output_writer.h"

namespace glovebox::cli {

bool has_person() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

bool person_agrees(std::string_view question, int cancel_fd) {
  constexpr std::size_t kMostReply = 16;
  write_fully(STDERR_FILENO, std::string(question) + " [y/N] ");
  std::string reply;
  for (;;) {
    std::array<pollfd, 2> watched{{{STDIN_FILENO, POLLIN, 0}, {cancel_fd, POLLIN, 0}}};
    (void)::poll(watched.data(), watched.size(), -1);
    char c = 0;
    if (watched[1].revents != 0 || (watched[0].revents != 0 && ::read(STDIN_FILENO, &c, 1) != 1)) {
      write_fully(STDERR_FILENO, "\n");
      return false;
    }
    if (c == '\n') {
      return lower_case(reply) == "y" || lower_case(reply) == "yes";
    }
    if (watched[0].revents != 0 && reply.size() < kMostReply) {
      reply.push_back(c);
    }
  }
}

}  // namespace glovebox::cli
