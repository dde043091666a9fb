// SPDX-License-Identifier: Apache-2.0
#include "cli/notebook_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/output_writer.h"
#include "context/notebook/html.h"
#include "context/notebook/read.h"
#include "context/notebook/write.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMaxFile = 64UL << 20;  // What read_notebook() takes.

Error cannot(const char* what, const std::string& path) {
  return Error(ErrorCode::kInvalid,
               Error::from_errno(std::string(what) + " '" + printable(path) + "'").message(),
               "check the name and its permissions");
}

Result<std::string> read_all(const std::string& path) {
  UniqueFd opened;
  int fd = STDIN_FILENO;
  if (path != "-") {
    opened = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened) {
      return cannot("open", path);
    }
    fd = opened.get();
  }
  std::string bytes;
  std::array<char, 64 * 1024> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0) {
      return cannot("read", path);
    }
    if (got == 0) {
      return bytes;
    }
    bytes.append(block.data(), static_cast<std::size_t>(got));
    if (bytes.size() > kMaxFile) {
      return Error(ErrorCode::kInvalid, "'" + printable(path) + "' is over 64 MiB",
                   "clear its outputs in Jupyter first");
    }
  }
}

std::string without_ending(const std::string& path, std::string_view ending) {
  return path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : path;
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    // A device or a pipe is written to, not replaced.
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) {
      return cannot("write", path);
    }
    write_fully(fd.get(), bytes);
    return {};
  }
  std::string temporary = path + ".XXXXXX";
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) {
    return cannot("write", path);
  }
  const mode_t mask = ::umask(0);
  (void)::umask(mask);
  const mode_t mode = exists ? status.st_mode & 0777U : 0666U & ~mask;
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd.get(), bytes.data(), bytes.size());
    if (wrote < 0) {
      Error error =
          Error::from_errno("write '" + printable(path) + "'").with_hint("free some room");
      (void)::unlink(temporary.c_str());
      return error;
    }
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::fchmod(fd.get(), mode) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    Error error = cannot("write", path);
    (void)::unlink(temporary.c_str());
    return error;
  }
  return {};
}

}  // namespace

Result<notebook::Notebook> load_notebook(const std::string& path) {
  auto read = notebook::read_notebook(GB_TRY(read_all(path)));
  if (!read) {
    return std::move(read).error().within("'" + printable(path) + "'");
  }
  return read;
}

Result<std::vector<NotebookTarget>> notebook_targets(const std::string& in,
                                                     const std::string& out,
                                                     const std::string& to,
                                                     std::string_view suffix) {
  const bool names_html = out.ends_with(".html") || out.ends_with(".htm");
  const std::string form = !to.empty() ? to : names_html ? "html" : "ipynb";
  if (form == "both" && (out == "-" || (out.empty() && in == "-"))) {
    return Error(ErrorCode::kInvalid, "standard output takes one format, not both",
                 "name a file with -o, or one format with --to");
  }
  if (names_html && form == "ipynb") {
    return Error(ErrorCode::kInvalid, "-o names a page and --to a notebook", "leave --to out");
  }
  if (out.ends_with(".ipynb") && form == "html") {
    return Error(ErrorCode::kInvalid, "-o names a notebook and --to a page",
                 "leave --to out, or write --to both");
  }
  if (out.empty() && in == "-") {
    return std::vector<NotebookTarget>{
        {"-", form == "html" ? NotebookFormat::kHtml : NotebookFormat::kIpynb}};
  }
  if (!out.empty() && form != "both") {
    return std::vector<NotebookTarget>{
        {out, form == "html" ? NotebookFormat::kHtml : NotebookFormat::kIpynb}};
  }
  const std::string stem =
      out.empty() ? without_ending(in, ".ipynb") + std::string(suffix)
                  : without_ending(without_ending(without_ending(out, ".ipynb"), ".html"), ".htm");
  std::vector<NotebookTarget> targets;
  if (form != "html") {
    targets.push_back({stem + ".ipynb", NotebookFormat::kIpynb});
  }
  if (form != "ipynb") {
    targets.push_back({stem + ".html", NotebookFormat::kHtml});
  }
  return targets;
}

Result<void> write_target(const NotebookTarget& target, const notebook::Notebook& notebook) {
  std::string bytes;
  if (target.format == NotebookFormat::kIpynb) {
    bytes = notebook::write_notebook(notebook);
  } else {
    bytes = notebook::notebook_to_html(notebook);
  }
  if (target.path == "-") {
    write_fully(STDOUT_FILENO, bytes);
    return {};
  }
  return write_file(target.path, bytes);
}

}  // namespace glovebox::cli
