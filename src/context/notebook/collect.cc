// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/collect.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace glovebox::notebook {
namespace {

std::size_t size_of(const MimeBundle& data) {
  std::size_t size = 0;
  for (const auto& [mime, value] : data) {
    size += mime.size() + value.size();
  }
  return size;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

Output stream_of(const char* name, std::string text) {
  Output output;
  output.name = name;
  output.text = std::move(text);
  return output;
}

Output display_of(const Event& event) {
  Output output;
  output.kind = event.kind == Event::Kind::kResult ? Output::Kind::kResult : Output::Kind::kDisplay;
  output.data = event.data;
  output.metadata = event.metadata;
  output.display_id = event.display_id;
  if (event.kind == Event::Kind::kResult) {
    output.execution_count = event.execution_count;
  }
  return output;
}

Output error_of(const GuestError& error) {
  Output output;
  output.kind = Output::Kind::kError;
  output.name = error.name;
  output.text = error.value;
  output.traceback = split_lines(error.traceback);
  return output;
}

}  // namespace

void OutputCollector::begin(std::size_t cell_index) {
  GB_CHECK(cell_index < notebook_.cells.size());
  finish();
  current_ = cell_index;
  clear();
  cell().execution_count.reset();
}

void OutputCollector::add(const Event& event) {
  if (!current_) {
    return;
  }
  switch (event.kind) {
    case Event::Kind::kStarted:
      cell().execution_count = event.execution_count;
      break;
    case Event::Kind::kStdout:
      add_stream("stdout", event.text);
      break;
    case Event::Kind::kStderr:
      add_stream("stderr", event.text);
      break;
    case Event::Kind::kDisplay:
      if (event.update) {
        update(event);
      } else {
        add_output(display_of(event));
      }
      break;
    case Event::Kind::kResult:
      add_output(display_of(event));
      break;
    case Event::Kind::kError:
      add_output(error_of(event.error));
      break;
    case Event::Kind::kClear:
      clear_before_next_ = event.update;
      if (!event.update) {
        clear();
      }
      break;
    case Event::Kind::kInputRequest:
    case Event::Kind::kToolCall:
    case Event::Kind::kNote:
      break;
  }
}

void OutputCollector::finish() {
  if (!current_) {
    return;
  }
  fetch_values({});
  if (cut_ > 0) {
    cell().outputs.push_back(
        stream_of("stderr", "[output truncated: " + to_string(Bytes{cut_}) + " more not kept]\n"));
  }
  // A clear that waits for an output that never comes is forgotten, as in Jupyter.
  clear_before_next_ = false;
  cut_ = 0;
  earlier_ += kept_ + fetched_;
  kept_ = 0;
  fetched_ = 0;
  losses_.clear();
  lost_ = 0;
  spared_ = 0;
  current_.reset();
}

void OutputCollector::fetch_values(const Fetch& fetch) {
  if (!current_) {
    return;
  }
  end_stream();
  // An update may have named an output twice, which then has no references any more.
  for (const auto& [cell_index, output_index] : std::exchange(referring_, {})) {
    fetch_into(notebook_.cells[cell_index].outputs[output_index], fetch);
  }
}

void OutputCollector::fetch_into(Output& output, const Fetch& fetch) {
  std::vector<Reference> left_out;
  for (Reference& reference : references_in(output.data)) {
    const auto refuse = [&](const std::string& why) {
      lose(reference, why);
      left_out.push_back(std::move(reference));
    };
    if (!fetch) {
      refuse("it was not fetched");
      continue;
    }
    if (reference.size > limits_.fetched.count ||
        fetched_ > limits_.fetched.count - reference.size) {
      refuse("a cell keeps " + to_string(limits_.fetched) + " of large values");
      continue;
    }
    if (reference.size > room_in_notebook()) {
      refuse("a notebook keeps " + to_string(limits_.notebook));
      continue;
    }
    auto fetched = fetch(reference);
    if (!fetched) {
      refuse(fetched.error().message());
      continue;
    }
    // The size that an agent states need not be the size of what it gives.
    auto value = fetched->size() <= reference.size
                     ? value_of_fetched(std::move(*fetched), reference.mime)
                     : std::nullopt;
    // Escapes make a text longer.
    if (!value || value->size() > room_in_notebook()) {
      refuse(value ? "a notebook keeps " + to_string(limits_.notebook)
                   : "it is not valid data of its type");
      continue;
    }
    fetched_ += value->size();
    output.data[reference.mime] = std::move(*value);
  }
  leave_out(output.data, left_out);
}

void OutputCollector::lose(const Reference& reference, const std::string& why) {
  constexpr std::size_t kMost = 5;
  ++lost_;
  if (losses_.size() < kMost) {
    losses_.push_back(reference.mime + " of " + to_string(Bytes{reference.size}) +
                      " left out: " + why);
  }
}

std::vector<std::string> OutputCollector::losses() const {
  std::vector<std::string> texts = losses_;
  if (lost_ > texts.size()) {
    texts.push_back(std::to_string(lost_ - texts.size()) + " more values left out");
  }
  if (cut_ > 0) {
    texts.push_back(to_string(Bytes{cut_}) + " of output not kept: a cell keeps " +
                    to_string(limits_.size) + " in " + std::to_string(limits_.outputs) +
                    " outputs, a notebook " + to_string(limits_.notebook));
  }
  return texts;
}

void OutputCollector::add_stream(const char* name, const std::string& text) {
  if (text.empty()) {
    return;
  }
  if (clear_before_next_) {
    clear();
  }
  const bool continues = stream_ && cell().outputs.back().name == name;
  if (!continues) {
    end_stream();
    if (!has_room(1)) {
      cut_ += text.size() - 1;
      return;
    }
    cell().outputs.push_back(stream_of(name, {}));
    stream_.emplace();
  }
  // The size of the stream itself counts, not what came: a progress bar may go on forever.
  const std::uint64_t used = kept_ + stream_->size();
  const std::uint64_t room =
      std::min(limits_.size.count - std::min(limits_.size.count, used),
               room_in_notebook() - std::min<std::uint64_t>(room_in_notebook(), stream_->size()));
  if (text.size() <= room) {
    stream_->add(text);
    return;
  }
  stream_->add(std::string_view(text).substr(0, room));
  cut_ += text.size() - room;
}

void OutputCollector::add_output(Output output) {
  if (clear_before_next_) {
    clear();
  }
  end_stream();
  std::size_t size = size_of(output.data) + output.metadata.size() + output.text.size();
  for (const std::string& line : output.traceback) {
    size += line.size();
  }
  // Why a cell ended matters more than the flood before it.
  constexpr std::size_t kMaxErrors = 4;
  constexpr std::size_t kMaxError = 256UL << 10;
  const bool is_spared =
      output.kind == Output::Kind::kError && size <= kMaxError && spared_ < kMaxErrors;
  if (is_spared) {
    ++spared_;
  } else if (!has_room(size)) {
    return;
  }
  kept_ += size;
  if (!output.display_id.empty()) {
    displays_[output.display_id].emplace_back(*current_, cell().outputs.size());
  }
  cell().outputs.push_back(std::move(output));
  note_references({*current_, cell().outputs.size() - 1});
}

void OutputCollector::note_references(Place place) {
  if (!references_in(notebook_.cells[place.first].outputs[place.second].data).empty()) {
    referring_.push_back(place);
  }
}

// An update for what is not there shows nothing, as in Jupyter.
void OutputCollector::update(const Event& event) {
  const auto found = displays_.find(event.display_id);
  if (found == displays_.end()) {
    return;
  }
  const std::size_t size = size_of(event.data) + event.metadata.size();
  for (const auto& [cell_index, output_index] : found->second) {
    Output& output = notebook_.cells[cell_index].outputs[output_index];
    const std::size_t old = size_of(output.data) + output.metadata.size();
    // What the current cell has kept is known only for itself; a larger value elsewhere is bounded
    // by the limit of one cell all the same.
    const std::uint64_t others = cell_index == *current_ && kept_ > old ? kept_ - old : 0;
    if (others + size > limits_.size.count || size > room_in_notebook() + old) {
      cut_ += size;
      continue;
    }
    if (cell_index == *current_) {
      kept_ = others + size;
    } else {
      earlier_ = earlier_ - std::min<std::uint64_t>(earlier_, old) + size;
    }
    output.data = event.data;
    output.metadata = event.metadata;
    note_references({cell_index, output_index});
  }
}

void OutputCollector::end_stream() {
  if (!stream_) {
    return;
  }
  Output& output = cell().outputs.back();
  output.text = stream_->text();
  kept_ += output.text.size();
  stream_.reset();
}

void OutputCollector::clear() {
  for (const Output& output : cell().outputs) {
    const auto found = displays_.find(output.display_id);
    if (found != displays_.end()) {
      std::erase_if(found->second, [this](const Place& place) { return place.first == *current_; });
      if (found->second.empty()) {
        displays_.erase(found);
      }
    }
  }
  cell().outputs.clear();
  stream_.reset();
  std::erase_if(referring_, [this](const Place& place) { return place.first == *current_; });
  kept_ = 0;
  fetched_ = 0;
  cut_ = 0;
  clear_before_next_ = false;
}

bool OutputCollector::has_room(std::size_t bytes) {
  if (cell().outputs.size() < limits_.outputs && kept_ + bytes <= limits_.size.count &&
      bytes <= room_in_notebook()) {
    return true;
  }
  cut_ += bytes;
  return false;
}

std::uint64_t OutputCollector::room_in_notebook() const {
  const std::uint64_t used = earlier_ + kept_ + fetched_;
  return limits_.notebook.count - std::min(limits_.notebook.count, used);
}

}  // namespace glovebox::notebook
