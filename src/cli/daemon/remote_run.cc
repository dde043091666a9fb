// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/remote_run.h"

#include <unistd.h>

#include "cli/daemon/remote_events.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"
#include "cli/repl_screen.h"

namespace glovebox::cli {

Result<int> follow_run(DaemonClient& daemon,
                       const std::string& path,
                       const Json& request,
                       RunShowing showing) {
  Interrupts interrupts;
  EventLines lines(GB_TRY(daemon.stream("POST", path, request, "application/x-ndjson")));
  ReplScreen screen({.terminal = false, .colour = false, .directory = "."});
  for (;;) {
    const auto ready = lines.await(interrupts.fd());
    if (ready == http::ClientAnswer::Ready::kNothing) {
      continue;
    }
    if (ready == http::ClientAnswer::Ready::kOther) {
      return 128 + interrupts.take();  // The daemon ends runs that nobody listens to.
    }
    const auto line = GB_TRY(lines.next_line());
    if (!line) {
      return Error(ErrorCode::kUnavailable, "the run ended without a verdict");
    }
    Json said = GB_TRY(parse_answer(*line));
    const std::string type = text_in(said, "type");
    if (showing.events) {
      write_fully(STDOUT_FILENO, *line + "\n");
    } else if (const auto event = to_event(said); event && !showing.json) {
      screen.show(*event);
    }
    if (type == "failed") {
      return error_in(said);
    }
    if (type == "verdict") {
      const int status = exit_status_in(said);
      said.erase("type");
      if (showing.json && !showing.events) {
        write_fully(STDOUT_FILENO, said.dump() + "\n");
      } else if (const std::string end = describe_end(said); !end.empty() && !showing.events) {
        screen.say("glovebox: " + end);
      }
      return status;
    }
  }
}

}  // namespace glovebox::cli
