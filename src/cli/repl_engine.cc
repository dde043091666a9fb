// SPDX-License-Identifier: Apache-2.0
#include "cli/repl_engine.h"

#include <signal.h>

#include <algorithm>

#include "base/json/json.h"
#include "base/text.h"
#include "cli/cell_end.h"
#include "cli/command.h"
#include "cli/repl_commands.h"
#include "context/notebook/values.h"

namespace glovebox::cli {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

// How long a person waits gladly. The interpreter may be busy with threads of its own.
constexpr auto kPatience = 2s;
constexpr std::size_t kMaxMatches = 500;
constexpr std::size_t kMaxMatch = 200;
constexpr std::size_t kMaxIndent = 64;
// A sandbox that uses more is not copied before each cell.
constexpr Bytes kMostRemembered = 256_MiB;

Json parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json::object();
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// For languages that cannot tell: brackets that are still open.
bool has_open_bracket(const std::string& code) {
  long open = 0;
  for (const char c : code) {
    open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
  }
  return open > 0 || code.ends_with('\\');
}

std::string notebook_metadata(const Language& language) {
  Json metadata = {{"language_info", {{"name", language.id}}}};
  const auto kernel = [&](const std::string& name, const std::string& speaks) {
    metadata["kernelspec"] = {{"name", name},
                              {"display_name", language.title},
                              {"language", speaks}};
    metadata["language_info"]["name"] = speaks;
  };
  if (language.id == "python") {
    kernel("python3", "python");
  } else if (language.id == "r") {
    kernel("ir", "R");
  } else if (language.id.starts_with(kJupyterPrefix)) {
    const std::string name = language.id.substr(kJupyterPrefix.size());
    kernel(name, name == "python3" ? "python" : name == "ir" ? "R" : name);
  }
  return dump(metadata);
}

int status_of(const Execution& execution) {
  return execution.status == Status::kTimeout       ? kExitTimeout
         : execution.status == Status::kOutOfMemory ? kExitOutOfMemory
                                                    : 1;
}

}  // namespace

ReplEngine::ReplEngine(LiveSession& session, ReplScreen& screen, Interrupts& interrupts)
    : session_(session), screen_(screen), interrupts_(interrupts) {
  record_.metadata = notebook_metadata(session.spec().language);
}

Result<void> ReplEngine::run_cell(const std::string& code) {
  if (awaits_choice_ && !session_.alive()) {
    GB_TRY(restart());
  }
  remember();
  record_.cells.emplace_back().source = code;
  collector_.begin(record_.cells.size() - 1);
  ExecuteOptions options{.code = code,
                         .limits = session_.spec().limits,
                         .cancel_fd = interrupts_.fd()};
  options.requests = &requests_;
  options.allow_input = static_cast<bool>(input);
  bool has_large = false;
  options.observer = [this, &has_large](const Event& event) {
    if (event.kind == Event::Kind::kInputRequest && input) {
      if (const auto taken = requests_.answer(input(event)); !taken) {
        screen_.say("glovebox: " + taken.error().message());
        (void)requests_.answer({});
      }
      return;
    }
    has_large = large_values_.note(record_.cells.size() - 1, event) || has_large;
    const Event kept = notebook::keep_inline(event);
    collector_.add(kept);
    screen_.show(kept);
  };
  auto execution = session_.execute(options);
  collector_.finish();
  screen_.end_cell();
  if (const int signal = interrupts_.take(); signal != 0 && signal != SIGINT) {
    end();
  }
  if (!execution) {
    if (execution.error().code() == ErrorCode::kConflict && !session_.alive()) {
      screen_.say("glovebox: the interpreter has ended; the cell was not run");
      note_failure(1);
      return replace();
    }
    return std::move(execution).error();
  }
  if (execution->execution_count > 0) {
    count_ = execution->execution_count;
    record_.cells.back().execution_count = count_;
  }
  if (has_large && session_.alive()) {
    screen_.say("glovebox: ':save " + std::to_string(count_) +
                " FILE' saves the value that was too large; the file extension selects the type");
  }
  return conclude(*execution);
}

Result<void> ReplEngine::conclude(const Execution& execution) {
  if (execution.status == Status::kOk && !session_.alive()) {
    end();
    return {};
  }
  if (execution.status == Status::kOk) {
    return {};
  }
  note_failure(status_of(execution));
  // Whether the failure was explained, by an error or on stderr.
  const bool explained = execution.status == Status::kError && session_.alive();
  if (!explained && !(execution.status == Status::kCanceled && session_.alive())) {
    screen_.say("glovebox: " + describe(execution, session_.spec().language.title));
  }
  if (!session_.alive() && !is_over()) {
    return replace();
  }
  return {};
}

Result<void> ReplEngine::replace() {
  if ((checkpoints_.empty() && !before_) || !session_.sandbox().alive()) {
    return restart();
  }
  awaits_choice_ = true;
  if (before_) {
    screen_.say(
        "glovebox: ':undo' takes the cell back; "
        "running another cell starts a new interpreter instead");
    return {};
  }
  screen_.say("glovebox: ':rollback' goes back to checkpoint " +
              std::to_string(checkpoints_.rbegin()->first) +
              "; running another cell starts a new interpreter instead");
  return {};
}

Result<std::uint32_t> ReplEngine::checkpoint(std::vector<std::string>* not_carried) {
  const std::uint32_t made = GB_TRY(session_.context().checkpoint(not_carried));
  checkpoints_[++last_checkpoint_] = {.id = made, .count = count_};
  return last_checkpoint_;
}

Result<std::uint32_t> ReplEngine::rollback(std::optional<std::uint32_t> checkpoint) {
  if (checkpoints_.empty()) {
    return Error(ErrorCode::kConflict, "there is no checkpoint", "create one with :checkpoint");
  }
  const std::uint32_t to = checkpoint.value_or(checkpoints_.rbegin()->first);
  const auto known = checkpoints_.find(to);
  if (known == checkpoints_.end()) {
    return Error(ErrorCode::kNotFound, "there is no checkpoint " + std::to_string(to),
                 "create one with :checkpoint");
  }
  GB_TRY(go_back(known->second));
  forget_last();
  return to;
}

Result<void> ReplEngine::undo() {
  if (!before_) {
    return Error(ErrorCode::kConflict, "there is no cell that can be taken back",
                 "only the last cell can be, in Python, at a terminal, in a sandbox that uses less "
                 "than a quarter of its memory; :checkpoint works in larger ones");
  }
  GB_TRY(go_back(*before_));
  forget_last();
  return {};
}

Result<void> ReplEngine::go_back(const Point& point) {
  GB_TRY(session_.context().rollback(point.id));
  count_ = point.count;
  awaits_choice_ = false;
  return {};
}

void ReplEngine::remember() {
  const std::optional<Point> previous = before_;
  before_.reset();
  const Bytes most = std::min(kMostRemembered, Bytes{session_.spec().limits.memory.count / 4});
  // A checkpoint keeps a second copy of what changes afterwards, and copies files.
  const bool small = session_.alive() && session_.sandbox().meter().memory_now() <= most;
  if (remembers_ && small && session_.context().can("checkpoint")) {
    if (const auto made = session_.context().checkpoint()) {
      before_ = {.id = *made, .count = count_};
    }
  }
  // After making the new one, which shares with it what has not changed.
  if (previous && session_.sandbox().alive()) {
    (void)session_.context().drop(previous->id);
  }
}

void ReplEngine::forget_last() {
  if (before_ && session_.sandbox().alive()) {
    (void)session_.context().drop(before_->id);
  }
  before_.reset();
}

Result<void> ReplEngine::restart() {
  if (session_.sandbox().alive()) {
    for (const auto& [number, point] : checkpoints_) {
      // What they keep of the workspace would continue to count against its limit.
      (void)session_.context().drop(point.id);
    }
  }
  forget_last();
  checkpoints_.clear();
  awaits_choice_ = false;
  large_values_.forget();
  const LiveSession::Restarted what = GB_TRY(session_.restart());
  count_ = 0;
  screen_.say(what == LiveSession::Restarted::kInterpreter
                  ? "glovebox: started a new interpreter: variables are lost, files are kept"
                  : "glovebox: started a new sandbox: variables and created files are lost");
  return {};
}

bool ReplEngine::is_command(std::string_view line) const { return names_command(line); }

Result<void> ReplEngine::run_command(std::string_view line) {
  return cli::run_command(*this, line);
}

ReplEngine::Completeness ReplEngine::check(const std::string& code) {
  Completeness answer;
  std::string status = "unknown";
  if (session_.alive() && session_.context().can("is_complete")) {
    if (auto reply = session_.context().ask(agent::Request::kIsComplete, dump({{"code", code}}),
                                            kPatience)) {
      const Json json = parse(*reply);
      if (json.contains("status") && json["status"].is_string()) {
        status = json["status"].get<std::string>();
      }
      if (json.contains("indent") && json["indent"].is_string()) {
        const auto& indent = json["indent"].get_ref<const std::string&>();
        if (indent.size() <= kMaxIndent && indent.find_first_not_of(' ') == std::string::npos) {
          answer.indent = indent;
        }
      }
    }
  }
  answer.complete = status == "unknown" ? !has_open_bracket(code) : status != "incomplete";
  return answer;
}

ReplEngine::Completions ReplEngine::complete(const std::string& code, std::size_t cursor) {
  Completions answer{.matches = {}, .start = cursor};
  if (!session_.alive()) {
    return answer;
  }
  auto completion = session_.context().complete({.code = code, .cursor = cursor}, kPatience);
  if (!completion || completion->start > cursor) {
    return answer;
  }
  answer.start = completion->start;
  for (std::string& text : completion->matches) {
    // What the guest makes us type must be plain text.
    if (answer.matches.size() < kMaxMatches && text.size() <= kMaxMatch &&
        printable(text) == text) {
      answer.matches.push_back(std::move(text));
    }
  }
  std::ranges::sort(answer.matches);
  answer.matches.erase(std::ranges::unique(answer.matches).begin(), answer.matches.end());
  return answer;
}

}  // namespace glovebox::cli
