// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox cp: files and directories, into a sandbox and out of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/archive/tar.h"
#include "base/bytes.h"
#include "base/sys/pipe.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/daemon/transfer_line.h"
#include "cli/daemon/whole_file.h"
#include "cli/output_writer.h"
#include "service/runs/transfer.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxCopyFooter =
    R"(Exactly one of FROM and TO is ID:PATH, relative to the workspace; ID:/PATH is absolute. If TO
is a directory or ends with a slash, files are copied into it. '-' is standard input or output.

Examples:
  glovebox sandbox cp data.csv ID:
  glovebox sandbox cp project ID:work/
  glovebox sandbox cp ID:results .
  glovebox sandbox cp ID:report.pdf - > report.pdf)";

struct CopyOptionsText {
  DaemonOptionsText daemon;
  std::string source;
  std::string target;
  std::string most = "16G";
  bool links = false;
};

struct Place {
  std::string id;  // Empty: here.
  std::string path;
};

Place parse_place(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || text.find('/') < colon) {
    return {.id = {}, .path = text};
  }
  return {.id = text.substr(0, colon), .path = text.substr(colon + 1)};
}

std::string base_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  const std::string last = path.substr(path.rfind('/') + 1);
  return last == "." || last == ".." || last.empty() ? "files" : last;
}

// "a//b/" as "a//b".
std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

std::string joined(const std::string& directory, const std::string& name) {
  return directory.empty() || directory.ends_with('/') ? directory + name : directory + "/" + name;
}

class Copying {
 public:
  Copying(DaemonClient& daemon, const CopyOptionsText& options, const std::string& id, Bytes most)
      : daemon_(daemon),
        options_(options),
        files_("/v1/sandboxes/" + encode(id) + "/files/"),
        most_(most),
        line_(::isatty(STDERR_FILENO) == 1 && !options.daemon.json) {}

  Result<void> put(const std::string& source, const std::string& target) {
    if (source == "-") {
      return put_stream(STDIN_FILENO, target, 0644);
    }
    const UniqueFd fd(::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
      return Error(ErrorCode::kInvalid,
                   Error::from_errno("read '" + printable(source) + "'").message(),
                   "check the path and its permissions");
    }
    const std::string place = GB_TRY(place_of(target, base_name(source)));
    if (S_ISREG(status.st_mode)) {
      line_.begin(static_cast<std::uint64_t>(status.st_size));
      return put_stream(fd.get(), place, status.st_mode & 0777);
    }
    if (!S_ISDIR(status.st_mode)) {
      return Error(ErrorCode::kInvalid,
                   "'" + printable(source) + "' is neither a file nor a directory");
    }
    return put_directory(source, place);
  }

  Result<void> get(const std::string& source, const std::string& target) {
    const Json entry = GB_TRY(daemon_.ask("GET", files_ + encode_path(source) + "?stat=1"));
    const bool directory =
        text_in(entry, text_in(entry, "type") == "symlink" ? "target_type" : "type") == "directory";
    if (!directory) {
      line_.begin(static_cast<std::uint64_t>(number_in(entry, "size")));
      return get_file(source, target);
    }
    if (target == "-") {
      return get_stream(source + "?archive=tar", STDOUT_FILENO);
    }
    return get_directory(source, target);
  }

 private:
  // Where a name goes in the sandbox: into `target` if that is a directory there.
  Result<std::string> place_of(const std::string& target, const std::string& name) {
    if (target.empty() || target.ends_with('/')) {
      return joined(target, name);
    }
    const auto entry = daemon_.ask("GET", files_ + encode_path(target) + "?stat=1");
    if (!entry && entry.error().code() != ErrorCode::kNotFound) {
      return entry.error();
    }
    return entry && text_in(*entry, "type") == "directory" ? joined(target, name) : target;
  }

  Result<void> put_stream(int fd, const std::string& place, unsigned mode) {
    std::array<char, 8> octal{};
    (void)std::snprintf(octal.data(), octal.size(), "%04o", mode);
    return upload(files_ + encode_path(place) + "?mode=" + octal.data(), fd);
  }

  Result<void> upload(const std::string& path, int fd) {
    const auto answer =
        daemon_.upload("PUT", path, [&](std::span<char> into) -> Result<std::size_t> {
          ssize_t got = 0;
          do {
            got = ::read(fd, into.data(), into.size());
          } while (got < 0 && errno == EINTR);
          if (got < 0) {
            return Error::from_errno("read");
          }
          read_to_end_ = got == 0;
          line_.add(static_cast<std::uint64_t>(got));
          return static_cast<std::size_t>(got);
        });
    line_.end();
    return answer ? Result<void>() : Result<void>(answer.error());
  }

  Result<void> put_directory(const std::string& source, const std::string& place) {
    sys::Pipe pipe = GB_TRY(sys::make_pipe());
    const std::string inside = without_slash(place);
    const std::size_t slash = inside.rfind('/');
    const std::string parent = slash == std::string::npos ? "" : inside.substr(0, slash + 1);
    Result<void> packed;
    // main() ignores SIGPIPE: if nobody reads any more, the write fails.
    std::thread packer([&] {
      packed = write_archive(pipe.write.get(), {{.source = source, .target = base_name(inside)}});
      pipe.write.reset();
    });
    Result<void> sent = upload(files_ + encode_path(parent) + "?unpack=1", pipe.read.get());
    pipe.read.reset();
    packer.join();
    // Half an archive fails to unpack: the cause is what kept it from being whole. If the daemon
    // stopped reading before the archive's end, it is the other way round.
    return packed || !read_to_end_ ? sent : packed;
  }

  Result<void> get_stream(const std::string& path, int fd) {
    const auto answer = GB_TRY(daemon_.stream("GET", files_ + path, Json(), ""));
    std::uint64_t had = 0;
    GB_TRY(copy_body(
        *answer, fd,
        [&](std::uint64_t size) -> Result<void> {
          had += size;
          line_.add(size);
          return had > most_.count
                     ? Error(ErrorCode::kExhausted, "the files exceed " + to_string(most_),
                             "raise --max-size")
                     : Result<void>();
        },
        cannot_write_));
    line_.end();
    return {};
  }

  Result<void> get_file(const std::string& source, const std::string& target) {
    const std::string from = encode_path(source);
    if (target == "-") {
      return get_stream(from, STDOUT_FILENO);
    }
    struct stat status {};
    const bool into =
        target.ends_with('/') || (::stat(target.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
    const std::string place = into ? joined(target, base_name(source)) : target;
    return write_whole_file(place, [&](int fd) { return get_stream(from, fd); });
  }

  Result<void> get_directory(const std::string& source, const std::string& target) {
    struct stat status {};
    const bool there = ::stat(target.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    const std::string place =
        there || target.ends_with('/') ? joined(target, base_name(source)) : target;
    const UniqueFd directory = GB_TRY(open_out_directory(place));
    sys::Pipe pipe = GB_TRY(sys::make_pipe());
    Result<void> extracted;
    std::thread reader([&] {
      const TarRules rules{.symlinks = options_.links, .max_bytes = most_.count, .mode_mask = 0755};
      extracted = extract_tar(pipe.read.get(), directory.get(), rules, [](std::string_view) {});
      // After the end of an archive there may be padding.
      std::array<char, 4'096> rest{};
      while (extracted && ::read(pipe.read.get(), rest.data(), rest.size()) > 0) {
      }
      pipe.read.reset();
    });
    Result<void> got = get_stream(encode_path(source) + "?archive=tar", pipe.write.get());
    pipe.write.reset();
    reader.join();
    // As above: an archive that was cut off on its way fails to unpack.
    if (!extracted && (got || cannot_write_)) {
      return std::move(extracted).error().with_hint(
          options_.links ? "copy into a new directory"
                         : "use --links to copy symbolic links, or copy into a new directory");
    }
    return got;
  }

  DaemonClient& daemon_;
  const CopyOptionsText& options_;
  const std::string files_;
  const Bytes most_;
  TransferLine line_;
  bool read_to_end_ = false;
  bool cannot_write_ = false;
};

Result<int> copy(const CopyOptionsText& options) {
  const Place from = parse_place(options.source);
  const Place to = parse_place(options.target);
  if (from.id.empty() == to.id.empty()) {
    return Error(ErrorCode::kInvalid, "exactly one of FROM and TO must be ID:PATH",
                 "for example: glovebox sandbox cp data.csv ID:data/");
  }
  const auto most = parse_bytes(options.most);
  if (!most) {
    return Error(most.error()).within("--max-size");
  }
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  Copying copying(daemon, options, from.id + to.id, *most);
  if (from.id.empty()) {
    GB_TRY(copying.put(from.path, to.path));
  } else {
    GB_TRY(copying.get(from.path, to.path));
  }
  return 0;
}

}  // namespace

void add_sandbox_copy(CLI::App& group, Action* action) {
  auto* const command = group.add_subcommand("cp", "Copy files into or out of a sandbox");
  command->footer(kSandboxCopyFooter);
  auto options = std::make_shared<CopyOptionsText>();
  command->add_option("FROM", options->source, "Source: a file or directory, ID:PATH, or -")
      ->required();
  command->add_option("TO", options->target, "Destination: a file or directory, ID:PATH, or -")
      ->required();
  command->add_option("--max-size", options->most, "Maximum size to copy out of a sandbox")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_flag("--links", options->links,
                    "Copy symbolic links out of a sandbox as links, wherever they point");
  add_daemon_options(*command, options->daemon);
  command->callback([action, options] { *action = [options] { return ended(copy(*options)); }; });
}

}  // namespace glovebox::cli
