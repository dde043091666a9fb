// SPDX-License-Identifier: Apache-2.0
// Writes .ipynb files as Jupyter does, so that version control shows small differences only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "context/notebook/notebook.h"

namespace glovebox::notebook {

// nbformat 4.5: keys in order, one space of indent, texts as lists of lines (a text of very many
// lines as one string, which nbformat allows too, so that the result can be read again). A cell
// whose id is absent, invalid or used already gets an id that depends on the notebook only: the
// same notebook gives the same file. Invalid UTF-8 in texts is replaced.
[[nodiscard]] std::string write_notebook(const Notebook& notebook);

// The same in pieces, so that a large notebook is not in memory twice.
void write_notebook(const Notebook& notebook,
                    const std::function<void(std::string_view piece)>& write);

}  // namespace glovebox::notebook
