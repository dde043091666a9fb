// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox export, import.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>

#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/daemon/transfer_line.h"
#include "cli/daemon/whole_file.h"

namespace glovebox::cli {
namespace {

struct ArchiveOptionsText {
  DaemonOptionsText daemon;
  std::string id;
  std::string file;
  bool quiet = false;
};

bool shows_progress(const ArchiveOptionsText& options) {
  return ::isatty(STDERR_FILENO) == 1 && !options.quiet;
}

Result<int> export_sandbox(const ArchiveOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string path = "/v1/sandboxes/" + encode(options.id);
  const Json info = GB_TRY(daemon.ask("GET", path));
  if (!flag_in(info, "saved") && !options.quiet) {
    std::cerr << "glovebox: the archive has the sandbox's files, not its memory\n"
                 "hint: to export the memory, too, run 'glovebox sandbox pause --to-disk "
              << printable(options.id) << "' first (tiers gvisor and microvm)\n";
  }
  const auto answer = GB_TRY(daemon.stream("GET", path + "/export", Json(), ""));
  GB_TRY(save_body(*answer, options.file, shows_progress(options)));
  return 0;
}

Result<int> import_sandbox(const ArchiveOptionsText& options) {
  UniqueFd opened;
  if (options.file != "-") {
    opened = UniqueFd(::open(options.file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened) {
      return Error::from_errno("open '" + printable(options.file) + "'");
    }
  }
  const int file = opened ? opened.get() : STDIN_FILENO;
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  TransferLine line(shows_progress(options));
  const Json made = GB_TRY(daemon.upload("POST", "/v1/sandboxes/import",
                                         [&](std::span<char> into) -> Result<std::size_t> {
                                           ssize_t got = 0;
                                           do {
                                             got = ::read(file, into.data(), into.size());
                                           } while (got < 0 && errno == EINTR);
                                           if (got < 0) {
                                             return Error::from_errno("read the archive");
                                           }
                                           line.add(static_cast<std::uint64_t>(got));
                                           return static_cast<std::size_t>(got);
                                         }));
  line.end();
  std::cout << (options.daemon.json ? made.dump(2) : printable(text_in(made, "id"))) << "\n";
  return 0;
}

}  // namespace

void add_sandbox_archives(CLI::App& group, Action* action) {
  auto out = std::make_shared<ArchiveOptionsText>();
  auto* const exporting = group.add_subcommand("export", "Write a sandbox to an archive");
  exporting->footer(
      "The archive has the files of the workspace. Of a sandbox that was paused to disk, it has\n"
      "all of the memory, too: contexts keep their variables.\n\nExamples:\n"
      "  glovebox sandbox pause --to-disk ID\n  glovebox sandbox export ID sandbox.gbx\n"
      "  glovebox sandbox export ID - | ssh HOST glovebox sandbox import -");
  exporting->add_option("ID", out->id, "The sandbox")->required();
  exporting->add_option("FILE", out->file, "The archive; '-' writes standard output")->required();
  exporting->add_flag("-q,--quiet", out->quiet, "Show no progress and no hint");
  add_daemon_options(*exporting, out->daemon);
  exporting->callback([action, out] { *action = [out] { return ended(export_sandbox(*out)); }; });

  auto in = std::make_shared<ArchiveOptionsText>();
  auto* const importing = group.add_subcommand("import", "Create a sandbox from an archive");
  importing->footer(
      "Prints the new sandbox's id. A memory is continued only if it was exported with this\n"
      "daemon's export key: copy keys/export-key from the other daemon's data directory.\n\n"
      "Examples:\n  glovebox sandbox import sandbox.gbx");
  importing->add_option("FILE", in->file, "The archive; '-' reads standard input")->required();
  importing->add_flag("-q,--quiet", in->quiet, "Show no progress");
  add_daemon_options(*importing, in->daemon);
  importing->callback([action, in] { *action = [in] { return ended(import_sandbox(*in)); }; });
}

}  // namespace glovebox::cli
