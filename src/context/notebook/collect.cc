// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/collect.h"

#include <string_view>

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
    case Event::Kind::kNote:
      break;
  }
}

void OutputCollector::finish() {
  if (!current_) {
    return;
  }
  end_stream();
  if (cut_ > 0) {
    cell().outputs.push_back(
        stream_of("stderr", "[output cut here: " + to_string(Bytes{cut_}) + " more not kept]\n"));
  }
  // A clear that waits for an output that never comes is forgotten, as in Jupyter.
  clear_before_next_ = false;
  cut_ = 0;
  current_.reset();
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
  const std::uint64_t room = limits_.size.count > used ? limits_.size.count - used : 0;
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
  if (!has_room(size)) {
    return;
  }
  kept_ += size;
  if (!output.display_id.empty()) {
    displays_[output.display_id].emplace_back(*current_, cell().outputs.size());
  }
  cell().outputs.push_back(std::move(output));
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
    if (others + size > limits_.size.count) {
      cut_ += size;
      continue;
    }
    if (cell_index == *current_) {
      kept_ = others + size;
    }
    output.data = event.data;
    output.metadata = event.metadata;
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
  kept_ = 0;
  cut_ = 0;
  clear_before_next_ = false;
}

bool OutputCollector::has_room(std::size_t bytes) {
  if (cell().outputs.size() < limits_.outputs && kept_ + bytes <= limits_.size.count) {
    return true;
  }
  cut_ += bytes;
  return false;
}

}  // namespace glovebox::notebook
