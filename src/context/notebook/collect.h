// SPDX-License-Identifier: Apache-2.0
// OutputCollector: turns the events of executions into the outputs of a notebook's cells, as
// Jupyter's front ends do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "context/notebook/notebook.h"
#include "context/notebook/stream_text.h"
#include "spec/event.h"

namespace glovebox::notebook {

// What is kept of one cell. The rest is counted, and a line on stderr says so.
struct OutputLimits {
  Bytes size = 16_MiB;
  std::size_t outputs = 1'000;
};

// The notebook must outlive the collector, and no cell may move meanwhile.
class OutputCollector {
 public:
  explicit OutputCollector(Notebook& notebook, OutputLimits limits = {})
      : notebook_(notebook), limits_(limits) {}

  // The events that follow belong to this cell, whose old outputs go. Ends the cell before.
  void begin(std::size_t cell);

  // Prompts and notes are for the caller and leave no output.
  void add(const Event& event);

  // Completes the outputs of the current cell; events that come later are ignored until begin().
  void finish();

 private:
  using Place = std::pair<std::size_t, std::size_t>;  // Cell and output.

  [[nodiscard]] Cell& cell() { return notebook_.cells[*current_]; }
  void add_stream(const char* name, const std::string& text);
  void add_output(Output output);
  void update(const Event& event);
  void end_stream();
  void clear();
  [[nodiscard]] bool has_room(std::size_t bytes);

  Notebook& notebook_;
  OutputLimits limits_;
  std::optional<std::size_t> current_;
  std::optional<StreamText> stream_;  // Of the last output, while it is a stream.
  bool clear_before_next_ = false;
  std::uint64_t kept_ = 0;  // Bytes of the outputs before the stream.
  std::uint64_t cut_ = 0;
  std::map<std::string, std::vector<Place>> displays_;  // By display id.
};

}  // namespace glovebox::notebook
