// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/history_text.h"

#include <algorithm>

#include "base/json/json.h"
#include "base/text.h"
#include "cli/colour_filter.h"
#include "context/notebook/values.h"
#include "spec/json/verdict_json.h"

namespace glovebox::cli {
namespace {

using notebook::Cell;
using notebook::Output;

// One or more whole lines, with only what a terminal may get.
std::string lines(std::string_view text, bool colour) {
  std::string shown;
  if (colour) {
    ColourFilter filter;
    shown = filter.pass(text) + "\x1b[0m";
  } else {
    AnsiStripper stripper;
    shown = stripper.strip(text);
  }
  return shown.empty() || text.ends_with('\n') ? shown : shown + "\n";
}

std::string joined(const std::vector<std::string>& traceback) {
  std::string text;
  for (const std::string& line : traceback) {
    text += line + (line.ends_with('\n') ? "" : "\n");
  }
  return text;
}

std::string value_text(const notebook::Output& output) {
  if (auto text = notebook::text_of(output.data, "text/plain")) {
    return *std::move(text);
  }
  std::string types;
  for (const auto& [mime, value] : output.data) {
    types += (types.empty() ? "" : ", ") + mime;
  }
  return "[" + types + "]";
}

std::string shown(const notebook::Output& output, bool colour) {
  switch (output.kind) {
    case Output::Kind::kStream:
      return lines(output.text, colour);
    case Output::Kind::kDisplay:
      return lines(value_text(output), colour);
    case Output::Kind::kResult:
      return "Out[" + std::to_string(output.execution_count.value_or(0)) +
             "]: " + lines(value_text(output), colour);
    case Output::Kind::kError:
      return lines(
          output.traceback.empty() ? output.name + ": " + output.text : joined(output.traceback),
          colour);
  }
  return {};
}

// The source after its prompt; its further lines are aligned with the first.
std::string asked(const Cell& cell) {
  std::string prompt = "In [" + std::to_string(cell.execution_count.value_or(0)) + "]: ";
  const std::string next(prompt.size(), ' ');
  std::string text;
  std::string_view rest = cell.source;
  do {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    text += prompt + printable(line) + "\n";
    prompt = next;
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  } while (!rest.empty());
  return text;
}

std::string event_of(const notebook::Output& output) {
  switch (output.kind) {
    case Output::Kind::kStream:
      return output_event(output.name, output.text);
    case Output::Kind::kDisplay:
    case Output::Kind::kResult: {
      Event event;
      event.kind =
          output.kind == Output::Kind::kResult ? Event::Kind::kResult : Event::Kind::kDisplay;
      event.data = output.data;
      event.metadata = output.metadata;
      return result_event(event);
    }
    case Output::Kind::kError:
      return error_event(
          {.name = output.name, .value = output.text, .traceback = joined(output.traceback)});
  }
  return {};
}

}  // namespace

std::string history_text(const notebook::Notebook& history, bool colour) {
  std::string text;
  for (const Cell& cell : history.cells) {
    text += text.empty() ? "" : "\n";
    // A Markdown cell is our own note about cells that are gone.
    text += cell.kind == Cell::Kind::kCode ? asked(cell) : lines(cell.source, false);
    for (const notebook::Output& output : cell.outputs) {
      text += shown(output, colour);
    }
  }
  return text;
}

std::string history_events(const notebook::Notebook& history) {
  using Json = nlohmann::ordered_json;
  std::string text;
  for (const Cell& cell : history.cells) {
    const Json said = cell.kind == Cell::Kind::kCode
                          ? Json{{"type", "cell"},
                                 {"execution_count", cell.execution_count.value_or(0)},
                                 {"code", to_utf8(cell.source)}}
                          : Json{{"type", "note"}, {"text", to_utf8(cell.source)}};
    text += said.dump() + "\n";
    for (const notebook::Output& output : cell.outputs) {
      text += event_of(output) + "\n";
    }
  }
  return text;
}

}  // namespace glovebox::cli
