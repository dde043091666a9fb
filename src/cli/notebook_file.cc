// SPDX-License-Identifier: Apache-2.0
#include "cli/notebook_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/input_file.h"
#include "context/notebook/page.h"
#include "context/notebook/read.h"
#include "context/notebook/write.h"

namespace glovebox::cli {
namespace {

Error cannot(const char* what, const std::string& path) {
  return Error(ErrorCode::kInvalid,
               Error::from_errno(std::string(what) + " '" + printable(path) + "'").message(),
               "check the path and its permissions");
}

std::string without_ending(const std::string& path, std::string_view ending) {
  return path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : path;
}

// Writes pieces until a write fails, and remembers why.
class Writer {
 public:
  explicit Writer(int fd) : fd_(fd) {}

  void write(std::string_view bytes) {
    while (!bytes.empty() && error_ == 0) {
      const ssize_t wrote = ::write(fd_, bytes.data(), bytes.size());
      if (wrote >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(wrote));
      } else if (errno == EAGAIN) {
        pollfd ready{fd_, POLLOUT, 0};
        (void)::poll(&ready, 1, -1);
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
  }

  [[nodiscard]] Result<void> end(const std::string& path) const {
    // A reader that has seen enough is not a failure.
    if (error_ == 0 || error_ == EPIPE) {
      return {};
    }
    errno = error_;
    return Error::from_errno("write '" + printable(path) + "'").with_hint("free some disk space");
  }

 private:
  int fd_;
  int error_ = 0;
};

Result<void> write_through(int fd,
                           const NotebookTarget& target,
                           const notebook::Notebook& notebook) {
  Writer writer(fd);
  if (target.format == NotebookFormat::kIpynb) {
    notebook::write_notebook(notebook, [&](std::string_view piece) { writer.write(piece); });
  } else {
    GB_TRY(notebook::render_page(notebook::write_notebook(notebook),
                                 [&](std::string_view piece) -> Result<void> {
                                   writer.write(piece);
                                   return {};
                                 }));
  }
  return writer.end(target.path);
}

}  // namespace

Result<notebook::Notebook> load_notebook(const std::string& path) {
  auto read = notebook::read_notebook(GB_TRY(read_whole_input(
      path, notebook::ReadLimits().size.count, "clear its outputs in Jupyter first")));
  if (!read) {
    return std::move(read).error().within("'" + printable(path) + "'");
  }
  return read;
}

Result<std::vector<NotebookTarget>> notebook_targets(const std::string& in,
                                                     const std::string& out,
                                                     const std::string& to,
                                                     std::string_view suffix,
                                                     std::string_view usual) {
  const bool names_html = out.ends_with(".html") || out.ends_with(".htm");
  const bool names_ipynb = out.ends_with(".ipynb");
  const std::string ending = std::filesystem::path(out).extension();
  if (to.empty() && !ending.empty() && !names_html && !names_ipynb) {
    return Error(ErrorCode::kInvalid, "cannot write '" + printable(ending) + "' files",
                 "name a .ipynb or .html file with -o, or choose the format with --to");
  }
  const std::string form = !to.empty()   ? to
                           : names_html  ? "html"
                           : names_ipynb ? "ipynb"
                                         : std::string(usual);
  if (form == "both" && (out == "-" || (out.empty() && in == "-"))) {
    return Error(ErrorCode::kInvalid, "cannot write both formats to standard output",
                 "choose a file with -o, or one format with --to");
  }
  if (names_html && form == "ipynb") {
    return Error(ErrorCode::kInvalid, "-o names an HTML file, but --to selects ipynb",
                 "leave out --to");
  }
  if (names_ipynb && form == "html") {
    return Error(ErrorCode::kInvalid, "-o names a notebook file, but --to selects html",
                 "leave out --to, or use --to both");
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
  for (const NotebookTarget& target : targets) {
    std::error_code ignored;
    if (target.path != out && std::filesystem::equivalent(target.path, in, ignored)) {
      return Error(ErrorCode::kInvalid, "'" + printable(target.path) + "' would be overwritten",
                   "choose another file with -o");
    }
  }
  return targets;
}

void drop_own_types(notebook::Notebook& notebook) {
  for (notebook::Cell& cell : notebook.cells) {
    for (notebook::Output& output : cell.outputs) {
      std::erase_if(output.data, [](const auto& value) {
        return value.first.starts_with("application/vnd.glovebox.");
      });
    }
  }
}

Result<void> write_target(const NotebookTarget& target, const notebook::Notebook& notebook) {
  const std::string& path = target.path;
  if (path == "-") {
    return write_through(STDOUT_FILENO, target, notebook);
  }
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    // A device or a pipe is written to, not replaced.
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return fd ? write_through(fd.get(), target, notebook) : cannot("write", path);
  }
  std::string temporary = path + ".XXXXXX";
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) {
    return cannot("write", path);
  }
  const mode_t mask = ::umask(0);
  (void)::umask(mask);
  const mode_t mode = exists ? status.st_mode & 0777U : 0666U & ~mask;
  auto written = write_through(fd.get(), target, notebook);
  if (written &&
      (::fchmod(fd.get(), mode) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)) {
    written = cannot("write", path);
  }
  if (!written) {
    (void)::unlink(temporary.c_str());
  }
  return written;
}

}  // namespace glovebox::cli
