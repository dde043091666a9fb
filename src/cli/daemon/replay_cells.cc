// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/replay_cells.h"

#include <charconv>
#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"
#include "cli/daemon/replay_difference.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostRecords = 100'000;
constexpr std::size_t kMostCells = 1'000;
constexpr const char* kDefaultContext = "default";

// "SANDBOX/CONTEXT:N"
struct Wanted {
  std::string sandbox;
  std::string context;
  std::size_t cells = kMostCells;
};

Result<Wanted> parse_wanted(const std::string& id) {
  const std::size_t slash = id.find('/');
  const std::size_t colon = id.find(':', slash);
  Wanted wanted{.sandbox = id.substr(0, slash),
                .context = id.substr(slash + 1, colon == id.npos ? id.npos : colon - slash - 1)};
  const std::string count = colon == id.npos ? "" : id.substr(colon + 1);
  const auto read = std::from_chars(count.data(), count.data() + count.size(), wanted.cells);
  if (wanted.sandbox.empty() || wanted.context.empty() ||
      (colon != id.npos &&
       (read.ec != std::errc() || read.ptr != count.data() + count.size() || wanted.cells == 0))) {
    return Error(ErrorCode::kInvalid, "invalid id '" + printable(id) + "'",
                 "pass the id of a run, SANDBOX/CONTEXT, or SANDBOX/CONTEXT:N");
  }
  return wanted;
}

// One cell, or a restart between cells, which has no end.
struct Step {
  std::int64_t number = 0;
  Json start;
  std::optional<Json> end{};
  bool restarts = false;
};

struct History {
  std::optional<Json> sandbox{};
  std::optional<Json> context{};
  std::vector<Step> steps{};
  std::map<std::string, std::size_t> not_repeated{};  // By action.
};

bool changes_something(const std::string& action) {
  for (const char* const prefix : {"execute.start", "process.start", "process.input", "files.open",
                                   "packages.install.start", "context.rollback", "context.input",
                                   "context.fork", "dry_run.", "tool.call", "sandbox.change"}) {
    if (action.starts_with(prefix)) {
      return true;
    }
  }
  return false;
}

// Takes the records in their order. Returns false once no more are wanted.
bool take(const Json& record, const Wanted& wanted, std::size_t& cells, History& history) {
  const std::string action = text_in(record, "action");
  if (text_in(record, "decision") == "refused") {
    return true;
  }
  if (action == "sandbox.create") {
    history.sandbox = record;
  } else if (text_in(record, "context") != wanted.context) {
    history.not_repeated[action] += changes_something(action) ? 1 : 0;
  } else if (action == "context.create") {
    history.context = record;
  } else if (action == "context.restart") {
    history.steps.push_back({.start = record, .restarts = true});
  } else if (action == "execute.start") {
    if (cells == wanted.cells) {
      return false;
    }
    ++cells;
    history.steps.push_back({.number = number_in(record, "seq"), .start = record});
  } else if (action == "execute.end") {
    const std::int64_t start = number_in(record.value("details", Json::object()), "start");
    for (Step& step : history.steps) {
      if (!step.restarts && step.number == start) {
        step.end = record;
      }
    }
  } else {
    history.not_repeated[action] += changes_something(action) ? 1 : 0;
  }
  return true;
}

Result<History> find_history(DaemonClient& daemon, const Wanted& wanted) {
  History history;
  std::size_t records = 0;
  std::size_t cells = 0;
  std::int64_t after = 0;
  bool more = true;
  while (more && records < kMostRecords) {
    const Json page =
        GB_TRY(daemon.ask("GET", "/v1/audit?limit=1000&sandbox=" + encode(wanted.sandbox) +
                                     "&after=" + std::to_string(after)));
    for (const Json& record : list_in(page, "records")) {
      more = more && take(record, wanted, cells, history);
      ++records;
    }
    const std::int64_t next = number_in(page, "next");
    more = more && next > after;
    after = next;
  }
  std::erase_if(history.not_repeated, [](const auto& each) { return each.second == 0; });
  return history;
}

// The request in the record of a start: only with --audit-inputs, and if it is not too large.
Result<Json> request_in(const std::optional<Json>& record, const std::string& what) {
  if (!record) {
    return Error(ErrorCode::kNotFound, "there is no record of " + what,
                 "sandboxes and cells are recorded for this while the daemon runs with "
                 "--audit-inputs; raise --audit-keep to keep records longer");
  }
  const Json details = record->value("details", Json::object());
  if (details.contains("request_bytes")) {
    return Error(ErrorCode::kConflict, what + " was given too much to be recorded in full",
                 "what is larger than 256 KiB cannot be replayed");
  }
  if (!details.contains("request")) {
    return Error(ErrorCode::kNotFound, what + " was recorded without what it was given",
                 "start the daemon with --audit-inputs before what you want to replay");
  }
  return details.at("request");
}

// A sandbox that ends when this does.
class Replica {
 public:
  static Result<Replica> make(DaemonClient& daemon, Json request) {
    request.erase("volumes");
    const Json made = GB_TRY(daemon.ask("POST", "/v1/sandboxes", request));
    return Replica(daemon, "/v1/sandboxes/" + encode(text_in(made, "id")));
  }
  Replica(Replica&& other) noexcept
      : daemon_(other.daemon_), path_(std::exchange(other.path_, "")) {}
  Replica& operator=(Replica&&) = delete;
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  ~Replica() {
    if (!path_.empty()) {
      (void)daemon_.ask("DELETE", path_);
    }
  }

  // Its path.
  Result<std::string> context(const std::string& name, const std::optional<Json>& created) {
    if (name == kDefaultContext && !created) {
      return path_ + "/contexts/" + name;
    }
    const Json request = GB_TRY(request_in(created, "the context '" + printable(name) + "'"));
    const Json made = GB_TRY(daemon_.ask("POST", path_ + "/contexts", request));
    return path_ + "/contexts/" + encode(text_in(made, "id"));
  }

 private:
  Replica(DaemonClient& daemon, std::string path) : daemon_(daemon), path_(std::move(path)) {}

  DaemonClient& daemon_;
  std::string path_;
};

struct RepeatedCell {
  std::string left_out{};  // Why it was not executed or not compared; empty: it was.
  std::vector<Difference> differences{};
  Json verdict{};
};

Result<RepeatedCell> repeat(DaemonClient& daemon, const std::string& context, const Step& step) {
  Json request = GB_TRY(request_in(step.start, "a cell"));
  if (request.value("dry_run", false)) {
    return RepeatedCell{.left_out = "a dry run is not repeated"};
  }
  // Nobody can answer now.
  RepeatedCell cell{.left_out = request.contains("tools") || request.contains("allow_input")
                                    ? "it had tools or input, which nobody answers now"
                                    : ""};
  request.erase("tools");
  request.erase("allow_input");
  cell.verdict = GB_TRY(daemon.ask("POST", context + "/execute", request));
  if (!step.end) {
    cell.left_out = "its end is not recorded";
  }
  if (step.end) {
    cell.differences = compare(*step.end, cell.verdict);
  }
  return cell;
}

Json json_of(const RepeatedCell& cell, std::size_t number) {
  return {{"cell", number},
          {"same", cell.differences.empty()},
          {"left_out", cell.left_out.empty() ? Json() : Json(cell.left_out)},
          {"differences", names_of(cell.differences)},
          {"verdict", cell.verdict}};
}

void print(const Wanted& wanted,
           const History& history,
           const std::vector<RepeatedCell>& cells,
           bool same) {
  std::cout << "recorded " << printable(text_in(history.steps.front().start, "time")) << ", "
            << cells.size() << (cells.size() == 1 ? " cell of " : " cells of ")
            << printable(wanted.sandbox + "/" + wanted.context) << ": "
            << (same ? "the same again" : "something is different") << "\n";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string name = "cell " + std::to_string(i + 1) + ": ";
    if (!cells[i].left_out.empty()) {
      std::cout << name << cells[i].left_out << "\n";
    }
    for (const Difference& each : cells[i].differences) {
      std::cout << name << each.shown << "\n";
    }
  }
  for (const auto& [action, count] : history.not_repeated) {
    std::cout << "not repeated: " << printable(action) << ", " << count << " times\n";
  }
}

}  // namespace

Result<int> replay_cells(DaemonClient& daemon, const std::string& id, bool as_json) {
  const Wanted wanted = GB_TRY(parse_wanted(id));
  History history = GB_TRY(find_history(daemon, wanted));
  const Json request =
      GB_TRY(request_in(history.sandbox, "the sandbox '" + printable(wanted.sandbox) + "'"));
  if (history.steps.empty()) {
    return Error(ErrorCode::kNotFound, "no cell of '" + printable(id) + "' is recorded",
                 "list what is: glovebox audit search --action execute --sandbox " +
                     printable(wanted.sandbox));
  }
  if (request.contains("volumes")) {
    history.not_repeated["volumes"] = request.at("volumes").size();
  }
  Replica replica = GB_TRY(Replica::make(daemon, request));
  const std::string context = GB_TRY(replica.context(wanted.context, history.context));
  std::vector<RepeatedCell> cells;
  bool same = true;
  for (const Step& step : history.steps) {
    if (step.restarts) {
      (void)GB_TRY(daemon.ask("POST", context + "/restart"));
      continue;
    }
    cells.push_back(GB_TRY(repeat(daemon, context, step)));
    same = same && cells.back().differences.empty();
  }
  if (as_json) {
    Json list = Json::array();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      list.push_back(json_of(cells[i], i + 1));
    }
    std::cout << Json{{"schema", schema_of("replay-cells")},
                      {"id", id},
                      {"recorded", text_in(history.steps.front().start, "time")},
                      {"same", same},
                      {"cells", std::move(list)},
                      {"not_repeated", history.not_repeated}}
                     .dump(2)
              << "\n";
  } else {
    print(wanted, history, cells, same);
  }
  return same ? 0 : kExitDifferent;
}

}  // namespace glovebox::cli
