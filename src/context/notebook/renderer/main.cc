// SPDX-License-Identifier: Apache-2.0
// glovebox-render: a notebook on standard input, one HTML page on standard output.
//
// The Markdown, HTML, LaTeX and code in a notebook are a guest's, and their parsers are large. So
// they run in a process that has nothing but its memory: it reads, writes, and ends.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/confined/confine.h"
#include "base/sys/read_all.h"
#include "base/sys/write_all.h"
#include "context/notebook/html.h"
#include "context/notebook/read.h"

namespace glovebox::notebook {
namespace {

constexpr auto kFilter = confined::allow_only(
    confined::join(std::array<std::uint32_t, 2>{SYS_read, SYS_write}, confined::kMemoryAndEnd));
// The largest notebook that is read takes 1.3 GiB, with what its values cost.
constexpr confined::Bounds kBounds{.memory = 2ULL << 30, .cpu_seconds = 60, .file_size = 0};

// Gathers pieces; a page has very many small ones.
class Writer {
 public:
  void add(std::string_view piece) {
    held_ += piece;
    if (held_.size() >= kBlock) {
      flush();
    }
  }

  // The errno of the first write that failed, or 0.
  int flush() {
    if (error_ == 0 && !sys::write_all(STDOUT_FILENO, held_)) {
      error_ = errno;
    }
    held_.clear();
    return error_;
  }

 private:
  static constexpr std::size_t kBlock = 64 * 1024;
  std::string held_;
  int error_ = 0;
};

Result<void> render() {
  GB_TRY(confined::confine_self(kBounds, confined::Root::kKeep, kFilter));
  const std::string text = GB_TRY(sys::read_all(STDIN_FILENO, ReadLimits().size, "the notebook"));
  const Notebook notebook = GB_TRY(read_notebook(text));
  Writer writer;
  notebook_to_html(notebook, {}, [&writer](std::string_view piece) { writer.add(piece); });
  const int error = writer.flush();
  return error == 0 ? Result<void>() : Error::from_errno("write the page", error);
}

}  // namespace
}  // namespace glovebox::notebook

int main() {
  // What happens at an ordinary exit needs calls that the filter does not know.
  ::_exit(glovebox::confined::exit_status_of(glovebox::notebook::render()));
}
