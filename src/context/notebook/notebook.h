// SPDX-License-Identifier: Apache-2.0
// Notebook: a document of cells with their outputs, as nbformat 4.5 describes it.
//
// JSON whose fields mean nothing to us is kept as text, so that what another program wrote is still
// there after we have read and written the file.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/event.h"

namespace glovebox::notebook {

struct Output {
  enum class Kind { kStream, kDisplay, kResult, kError };

  Kind kind = Kind::kStream;
  std::string name;                    // Of a stream: "stdout" or "stderr". Of an error: its class.
  std::string text;                    // Of a stream: what was written. Of an error: its message.
  std::vector<std::string> traceback;  // Entries may hold ANSI colours and line ends.
  MimeBundle data;
  std::string metadata = "{}";         // JSON text of an object.
  std::optional<int> execution_count;  // Of a result.
  std::string display_id;              // Lives as long as the kernel does: never written.
  std::string unknown = "{}";          // JSON text of an object: the fields not named here.

  friend bool operator==(const Output&, const Output&) = default;
};

struct Cell {
  enum class Kind { kCode, kMarkdown, kRaw };

  Kind kind = Kind::kCode;
  std::string id;  // Empty when the file has none; write_notebook() then makes one.
  std::string source;
  std::string metadata = "{}";  // JSON text of an object.
  std::optional<int> execution_count;
  std::vector<Output> outputs;
  std::map<std::string, MimeBundle> attachments;  // Of Markdown and raw cells, by file name.
  std::string unknown = "{}";

  friend bool operator==(const Cell&, const Cell&) = default;
};

struct Notebook {
  std::deque<Cell> cells;       // A long session drops its first ones.
  std::string metadata = "{}";  // JSON text of an object.
  std::string unknown = "{}";

  friend bool operator==(const Notebook&, const Notebook&) = default;
};

// What the metadata say about the notebook; empty if they say nothing.
struct About {
  std::string title;
  std::string kernel;    // The name for people: "Python 3".
  std::string language;  // In lower case: "python", "r".
};

[[nodiscard]] About about(const Notebook& notebook);

// Whether the cell's metadata list this tag.
[[nodiscard]] bool has_tag(const Cell& cell, std::string_view tag);

}  // namespace glovebox::notebook
