// SPDX-License-Identifier: Apache-2.0
// Reads .ipynb files: nbformat 4, and 3 by upgrading it.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "context/notebook/notebook.h"

namespace glovebox::notebook {

// What a file may hold at most: it may come from anyone.
struct ReadLimits {
  // A run keeps 256 MiB of outputs. Only control characters could make its file larger than this.
  Bytes size = 320_MiB;
  std::size_t cells = 10'000;
  std::size_t outputs = 100'000;   // Of all cells together.
  std::size_t values = 2'000'000;  // JSON values of any kind, each of which costs memory.
  std::size_t depth = 100;
};

// The notebook in `text`. Fails with kInvalid, naming the place: line and column if the text is not
// JSON, else the field ("cells[3].outputs[0].name: …"). Texts that nbformat keeps as lists of lines
// come back joined.
[[nodiscard]] Result<Notebook> read_notebook(std::string_view text, const ReadLimits& limits = {});

}  // namespace glovebox::notebook
