// SPDX-License-Identifier: Apache-2.0
// Reads, names and writes notebook files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "context/notebook/notebook.h"

namespace glovebox::cli {

// Reads and parses a notebook; "-" is standard input.
Result<notebook::Notebook> load_notebook(const std::string& path);

enum class NotebookFormat { kIpynb, kHtml };

struct NotebookTarget {
  std::string path;  // "-" is standard output.
  NotebookFormat format = NotebookFormat::kIpynb;
};

// Where a notebook goes: `out` and `to` ("ipynb", "html", "both") as typed, either may be empty.
// Without `out` the name is that of the input with `suffix` before the ending. The format is
// `usual` if neither says one. Fails with kInvalid if the two contradict each other, or if the
// ending of `out` is of neither format and `to` is empty.
Result<std::vector<NotebookTarget>> notebook_targets(const std::string& in,
                                                     const std::string& out,
                                                     const std::string& to,
                                                     std::string_view suffix,
                                                     std::string_view usual);

// Removes results of our own MIME types, which are tables and charts as data: other programs have
// no use for them, and the same results are there in types that they know.
void drop_own_types(notebook::Notebook& notebook);

// A file is replaced as a whole or not at all.
Result<void> write_target(const NotebookTarget& target, const notebook::Notebook& notebook);

}  // namespace glovebox::cli
