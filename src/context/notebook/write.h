// SPDX-License-Identifier: Apache-2.0
// Writes .ipynb files as Jupyter does, so that version control shows small differences only.
#pragma once

#include <string>

#include "context/notebook/notebook.h"

namespace glovebox::notebook {

// nbformat 4.5: keys in order, one space of indent, texts as lists of lines. A cell whose id is
// absent, no valid one or there already gets an id that depends on the notebook only: the same
// notebook gives the same file. Texts that are no UTF-8 are mended.
[[nodiscard]] std::string write_notebook(const Notebook& notebook);

}  // namespace glovebox::notebook
