// SPDX-License-Identifier: Apache-2.0
// OutputCollector: turns the events of executions into the outputs of a notebook's cells, as
// Jupyter's front ends do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "context/notebook/notebook.h"
#include "context/notebook/stream_text.h"
#include "context/notebook/values.h"
#include "spec/event.h"

namespace glovebox::notebook {

// What is kept. The rest is counted, and a line on stderr says so.
struct OutputLimits {
  Bytes size = 16_MiB;  // Of one cell, beside what is fetched.
  std::size_t outputs = 1'000;
  Bytes fetched = 64_MiB;    // Of one cell: as much as an agent keeps for it.
  Bytes notebook = 256_MiB;  // Of all cells together.
};

// The notebook must outlive the collector, and no cell may move meanwhile.
class OutputCollector {
 public:
  explicit OutputCollector(Notebook& notebook, OutputLimits limits = {})
      : notebook_(notebook), limits_(limits) {}

  // The events that follow belong to this cell, whose old outputs are removed. Ends the cell
  // before.
  void begin(std::size_t cell);

  // Values may come by reference. Prompts and notes are for the caller and leave no output.
  void add(const Event& event);

  // Fetches the values that came by reference, one after the other, and puts them in their places
  // in the outputs. What does not fit, or is not given, is left out. Without this call, finish()
  // leaves out all.
  using Fetch = std::function<Result<std::string>(const Reference& reference)>;
  void fetch_values(const Fetch& fetch);

  // What the current cell showed and its outputs lack, in words for people; a few lines at most.
  [[nodiscard]] std::vector<std::string> losses() const;

  // Completes the outputs of the current cell; events that come later are ignored until begin().
  void finish();

 private:
  using Place = std::pair<std::size_t, std::size_t>;  // Cell and output.

  [[nodiscard]] Cell& cell() { return notebook_.cells[*current_]; }
  void add_stream(const char* name, const std::string& text);
  void add_output(Output output);
  void note_references(Place place);
  void fetch_into(Output& output, const Fetch& fetch);
  void lose(const Reference& reference, const std::string& why);
  void update(const Event& event);
  void end_stream();
  void clear();
  [[nodiscard]] bool has_room(std::size_t bytes);
  // What the whole notebook has left for the current cell.
  [[nodiscard]] std::uint64_t room_in_notebook() const;

  Notebook& notebook_;
  OutputLimits limits_;
  std::optional<std::size_t> current_;
  std::optional<StreamText> stream_;  // Of the last output, while it is a stream.
  bool clear_before_next_ = false;
  std::uint64_t kept_ = 0;     // Bytes of the outputs before the stream.
  std::uint64_t fetched_ = 0;  // Bytes of the current cell that were fetched.
  std::uint64_t earlier_ = 0;  // Bytes of the cells before.
  std::uint64_t cut_ = 0;
  std::vector<Place> referring_;     // Outputs with values by reference.
  std::vector<std::string> losses_;  // Values of the current cell that were left out.
  std::size_t lost_ = 0;             // How many these were.
  std::size_t spared_ = 0;           // Errors of the current cell that no limit keeps out.
  std::map<std::string, std::vector<Place>> displays_;  // By display id.
};

}  // namespace glovebox::notebook
