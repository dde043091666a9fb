// SPDX-License-Identifier: Apache-2.0
#include "cli/repl_commands.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/notebook_file.h"
#include "cli/output_writer.h"
#include "cli/repl_engine.h"
#include "cli/variable_table.h"
#include "context/notebook/values.h"
#include "language/suggest.h"

namespace glovebox::cli {
namespace {

using Words = std::vector<std::string>;

struct ReplCommand {
  std::string_view name;
  std::string_view arguments;
  std::string_view does;
  Result<void> (*run)(ReplEngine& engine, const Words& words);
};

Error wrong_use(std::string_view usage) {
  return {ErrorCode::kInvalid, "invalid arguments", "usage: " + std::string(usage)};
}

std::optional<std::uint32_t> number(const std::string& word) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(value)
                                                                  : std::nullopt;
}

struct FileType {
  std::string_view ending;
  std::string_view mime;
};
constexpr std::array<FileType, 11> kFileTypes = {{{".png", "image/png"},
                                                  {".jpg", "image/jpeg"},
                                                  {".jpeg", "image/jpeg"},
                                                  {".svg", "image/svg+xml"},
                                                  {".gif", "image/gif"},
                                                  {".webp", "image/webp"},
                                                  {".pdf", "application/pdf"},
                                                  {".html", "text/html"},
                                                  {".json", "application/json"},
                                                  {".md", "text/markdown"},
                                                  {".txt", "text/plain"}}};

Result<void> write_new(const std::string& path, std::string_view bytes) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) {
    return Error(ErrorCode::kInvalid,
                 Error::from_errno("write '" + printable(path) + "'").message(),
                 errno == EEXIST ? "choose another file name: existing files are not overwritten"
                                 : "check the path and its permissions");
  }
  write_fully(fd.get(), bytes);
  return {};
}

struct Found {
  std::size_t cell = 0;
  std::string bytes;
};

// The last output of that type, of one cell or of any.
std::optional<Found> find_output(const notebook::Notebook& record,
                                 std::optional<std::uint32_t> count,
                                 std::string_view mime) {
  for (auto cell = record.cells.rbegin(); cell != record.cells.rend(); ++cell) {
    if (count && cell->execution_count != static_cast<int>(*count)) {
      continue;
    }
    for (auto output = cell->outputs.rbegin(); output != cell->outputs.rend(); ++output) {
      if (auto bytes = notebook::bytes_of(output->data, mime)) {
        const auto index = static_cast<std::size_t>(record.cells.rend() - cell) - 1;
        return Found{index, std::move(*bytes)};
      }
    }
  }
  return std::nullopt;
}

Result<void> save(ReplEngine& engine, const Words& words) {
  constexpr std::string_view kUsage = ":save [N] FILE.png";
  if (words.size() < 2 || words.size() > 3) {
    return wrong_use(kUsage);
  }
  const std::optional<std::uint32_t> count = words.size() == 3 ? number(words[1]) : std::nullopt;
  if (words.size() == 3 && !count) {
    return wrong_use(kUsage);
  }
  const std::string& path = words.back();
  const auto type = std::ranges::find_if(
      kFileTypes, [&path](const FileType& known) { return path.ends_with(known.ending); });
  if (type == kFileTypes.end()) {
    return Error(ErrorCode::kInvalid, "unknown file extension in '" + printable(path) + "'",
                 "use .png, .jpg, .svg, .gif, .webp, .pdf, .html, .json, .md or .txt");
  }
  std::optional<Found> found = find_output(engine.record(), count, type->mime);
  std::optional<std::size_t> cell;
  for (std::size_t i = 0; count && i < engine.record().cells.size(); ++i) {
    if (engine.record().cells[i].execution_count == static_cast<int>(*count)) {
      cell = i;
    }
  }
  if (const auto large = engine.large_values().find(type->mime, cell);
      large && (!count || cell) && (!found || found->cell <= large->cell)) {
    auto value = GB_TRY(LargeValues::fetch(engine.session().context(), large->reference));
    found = Found{large->cell, std::move(value)};
  }
  if (!found) {
    return Error(ErrorCode::kNotFound,
                 (count ? "cell " + std::to_string(*count) : std::string("no cell so far")) +
                     (count ? " has not shown " : " has shown ") + std::string(type->mime),
                 "use another file extension to save another type");
  }
  GB_TRY(write_new(path, found->bytes));
  engine.screen().say("saved " + printable(path));
  return {};
}

Result<void> export_record(ReplEngine& engine, const Words& words) {
  if (words.size() != 2 || !(words[1].ends_with(".ipynb") || words[1].ends_with(".html"))) {
    return wrong_use(":export FILE.ipynb or :export FILE.html");
  }
  if (::access(words[1].c_str(), F_OK) == 0) {
    return Error(ErrorCode::kInvalid, "'" + printable(words[1]) + "' already exists",
                 "choose another file name: existing files are not overwritten");
  }
  const NotebookFormat format =
      words[1].ends_with(".html") ? NotebookFormat::kHtml : NotebookFormat::kIpynb;
  notebook::Notebook record = engine.record();
  drop_own_types(record);
  GB_TRY(write_target({words[1], format}, record));
  engine.screen().say("wrote " + printable(words[1]));
  return {};
}

Result<void> restart(ReplEngine& engine, const Words& /*words*/) { return engine.restart(); }

Result<void> checkpoint(ReplEngine& engine, const Words& /*words*/) {
  std::vector<std::string> left_out;
  const std::uint32_t id = GB_TRY(engine.checkpoint(&left_out));
  engine.screen().say("checkpoint " + std::to_string(id) + "; ':rollback " + std::to_string(id) +
                      "' goes back to it");
  for (const std::string& entry : left_out) {
    engine.screen().say("not included: " + printable(entry));
  }
  return {};
}

Result<void> rollback(ReplEngine& engine, const Words& words) {
  const std::optional<std::uint32_t> named = words.size() == 2 ? number(words[1]) : std::nullopt;
  if (words.size() > 2 || (words.size() == 2 && !named)) {
    return wrong_use(":rollback [N]");
  }
  const std::uint32_t to = GB_TRY(engine.rollback(named));
  engine.screen().say("memory and workspace restored to checkpoint " + std::to_string(to));
  return {};
}

Result<void> undo(ReplEngine& engine, const Words& /*words*/) {
  GB_TRY(engine.undo());
  engine.screen().say("the last cell is taken back: memory and files are as before it");
  return {};
}

Result<void> variables(ReplEngine& engine, const Words& /*words*/) {
  Context& context = engine.session().context();
  if (!context.can("variables")) {
    return Error(ErrorCode::kUnsupported,
                 engine.session().spec().language.title + " cannot list its variables here");
  }
  const std::string reply = GB_TRY(context.ask(agent::Request::kVariables, "{}"));
  winsize size{};
  const bool terminal =
      engine.screen().is_terminal() && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  const std::string table = variable_table(reply, terminal ? size.ws_col : 0);
  if (table.empty()) {
    engine.screen().say("there are no variables yet");
  }
  write_fully(STDOUT_FILENO, table);
  return {};
}

Result<void> help(ReplEngine& engine, const Words& words);

Result<void> quit(ReplEngine& engine, const Words& /*words*/) {
  engine.end();
  return {};
}

constexpr std::array<ReplCommand, 9> kCommands = {{
    {":save", "[N] FILE",
     "save the output of cell N, or of the last cell; the extension selects the type", save},
    {":export", "FILE", "save the session as FILE.ipynb or FILE.html", export_record},
    {":vars", "", "show the variables with their types, sizes and values", variables},
    {":checkpoint", "", "save the current memory and files", checkpoint},
    {":rollback", "[N]", "go back to a checkpoint", rollback},
    {":undo", "", "take the last cell back: memory and files", undo},
    {":restart", "", "start a new interpreter in the same sandbox", restart},
    {":help", "", "show this help", help},
    {":quit", "", "exit (or press Ctrl-D)", quit},
}};

Result<void> help(ReplEngine& /*engine*/, const Words& /*words*/) {
  std::string text;
  for (const ReplCommand& command : kCommands) {
    std::string head = "  " + std::string(command.name) + " " + std::string(command.arguments);
    head.resize(std::max<std::size_t>(head.size() + 1, 20), ' ');
    text += head + std::string(command.does) + "\n";
  }
  text +=
      "Tab completes, Ctrl-C interrupts the cell or clears the line, Alt-Enter inserts a new "
      "line.\n"
      "Plots are saved as plot-1.png and so on in the current directory, or in that of --save.\n";
  write_fully(STDOUT_FILENO, text);
  return {};
}

Words split(std::string_view line) {
  Words words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r\n", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t\r\n", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace

bool names_command(std::string_view line) {
  return line.size() > 1 && line.front() == ':' && line[1] >= 'a' && line[1] <= 'z' &&
         line.find('\n') == std::string_view::npos;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const ReplCommand& command : kCommands) {
    names.emplace_back(command.name);
  }
  return names;
}

Result<void> run_command(ReplEngine& engine, std::string_view line) {
  const Words words = split(line);
  for (const ReplCommand& command : kCommands) {
    if (words.front() == command.name) {
      return command.run(engine, words);
    }
  }
  std::vector<std::string_view> names;
  for (const ReplCommand& command : kCommands) {
    names.push_back(command.name);
  }
  const std::string nearest = nearest_word(words.front(), names);
  return Error(ErrorCode::kInvalid, "unknown command '" + printable(words.front()) + "'",
               nearest.empty()
                   ? "':help' lists the commands; to run it as code, put a space before the colon"
                   : "did you mean '" + nearest + "'?");
}

}  // namespace glovebox::cli
