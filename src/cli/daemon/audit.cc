// SPDX-License-Identifier: Apache-2.0
// glovebox audit: the journal of what callers of a daemon did. Searching asks the daemon; checking
// reads the data directory itself, whether the daemon runs or not.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "audit/head.h"
#include "audit/journal.h"
#include "audit/ocsf.h"
#include "audit/otel_log.h"
#include "audit/query.h"
#include "audit/record_hash.h"
#include "audit/recordings.h"
#include "audit/segments.h"
#include "audit/verify.h"
#include "base/text.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/data_directory.h"

namespace glovebox::cli {
namespace {

constexpr const char* kAuditFooter = R"text(Examples:
  glovebox audit tail -n 20
  glovebox audit search --action key --sandbox ID
  glovebox audit verify --head "$(cat head.txt)"
  glovebox audit export --format ocsf > events.jsonl
  glovebox audit head
  glovebox audit key)text";

// The most bytes of a witness or a public key.
constexpr std::size_t kMostFile = 64UL << 20;
constexpr std::chrono::seconds kFollowEvery{1};
constexpr std::size_t kPageSize = 500;

struct AuditOptionsText {
  DaemonOptionsText daemon;
  std::string directory = default_data_directory();
  std::string action;
  std::string sandbox;
  std::uint64_t after = 0;
  std::uint64_t count = 10;
  std::uint64_t limit = 100;
  bool follow = false;
  bool json = false;
  std::string public_key;
  std::vector<std::string> heads;
  std::string witness;
  std::string format = "jsonl";
};

// One record in a line for people.
std::string record_line(const Json& record) {
  std::string line = printable(text_in(record, "time"));
  for (const char* name : {"tenant", "key", "door", "action"}) {
    const std::string text = text_in(record, name);
    line += "  " + (text.empty() ? std::string("-") : printable(text));
  }
  for (const char* name : {"sandbox", "context", "subject"}) {
    if (const std::string text = text_in(record, name); !text.empty()) {
      line += std::string("  ") + name + "=" + printable(text);
    }
  }
  const std::string decision = text_in(record, "decision");
  return line + "  " + (decision == "refused" ? "refused" : printable(text_in(record, "result")));
}

void print_record(const Json& record, bool json) {
  std::cout << (json ? record.dump()
                     : std::to_string(number_in(record, "seq")) + "  " + record_line(record))
            << "\n";
}

std::string filters_of(const AuditOptionsText& options) {
  std::string text;
  if (!options.action.empty()) {
    text += "&action=" + encode(options.action);
  }
  if (!options.sandbox.empty()) {
    text += "&sandbox=" + encode(options.sandbox);
  }
  return text;
}

Result<int> tail(const AuditOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string filters = filters_of(options);
  Json page =
      GB_TRY(daemon.ask("GET", "/v1/audit?newest=" + std::to_string(options.count) + filters));
  std::int64_t last = 0;
  for (;;) {
    for (const Json& record : list_in(page, "records")) {
      print_record(record, options.daemon.json);
      last = std::max(last, number_in(record, "seq"));
    }
    std::cout << std::flush;
    if (!options.follow) {
      return 0;
    }
    if (text_in(page, "next").empty()) {
      std::this_thread::sleep_for(kFollowEvery);
    }
    page = GB_TRY(daemon.ask("GET", "/v1/audit?after=" + std::to_string(last) + filters));
  }
}

Result<int> search(const AuditOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  std::string after = std::to_string(options.after);
  for (std::uint64_t left = options.limit; left > 0 && !after.empty();) {
    const Json page = GB_TRY(daemon.ask(
        "GET", "/v1/audit?after=" + after + "&limit=" +
                   std::to_string(std::min<std::uint64_t>(left, kPageSize)) + filters_of(options)));
    for (const Json& record : list_in(page, "records")) {
      print_record(record, options.daemon.json);
      --left;
    }
    after = text_in(page, "next");
  }
  return 0;
}

Result<std::string> read_whole(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return Error::from_errno("open " + path);
  }
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + 65'536);
    const ssize_t got = ::read(file.get(), text.data() + before, 65'536);
    if (got < 0) {
      return Error::from_errno("read " + path);
    }
    text.resize(before + static_cast<std::size_t>(got));
    if (got == 0) {
      return text;
    }
    if (text.size() > kMostFile) {
      return Error(ErrorCode::kInvalid, path + " is too large");
    }
  }
}

struct Opened {
  UniqueFd directory;
  audit::PublicKey key;
};

// The key of the journal itself, unless another one is named.
Result<Opened> open_journal(const AuditOptionsText& options) {
  const std::string path = audit::journal_directory(options.directory);
  UniqueFd directory = GB_TRY(audit::open_directory(path));
  const std::string pem = GB_TRY(read_whole(
      options.public_key.empty() ? path + "/" + audit::kPublicKeyFile : options.public_key));
  audit::PublicKey key = GB_TRY(audit::PublicKey::parse(pem));
  return Opened{.directory = std::move(directory), .key = std::move(key)};
}

Result<std::vector<audit::KnownHead>> known_heads(const AuditOptionsText& options) {
  std::vector<audit::KnownHead> known;
  for (const std::string& head : options.heads) {
    // As 'glovebox audit head' prints it, or the hash alone.
    const std::size_t space = head.find(' ');
    if (space != std::string::npos) {
      for (audit::KnownHead& each : GB_TRY(audit::parse_witness(head))) {
        known.push_back(std::move(each));
      }
    } else if (audit::is_hash(head)) {
      known.push_back({.number = {}, .hash = head});
    } else {
      return Error(ErrorCode::kInvalid, "--head: '" + printable(head) + "' is not a hash",
                   "use the output of 'glovebox audit head'");
    }
  }
  if (!options.witness.empty()) {
    const std::string text = GB_TRY(read_whole(options.witness));
    for (audit::KnownHead& each : GB_TRY(audit::parse_witness(text))) {
      known.push_back(std::move(each));
    }
  }
  return known;
}

Json json_of(const audit::Report& report) {
  Json problems = Json::array();
  for (const audit::Problem& problem : report.problems) {
    problems.push_back({{"file", problem.segment},
                        {"line", problem.line},
                        {"offset", problem.offset},
                        {"seq", problem.record},
                        {"problem", problem.what}});
  }
  return {{"schema", "glovebox.audit_report/1"},
          {"ok", report.problems.empty()},
          {"first", report.first},
          {"last", report.last},
          {"hash", report.hash},
          {"signed_through", report.signed_through},
          {"checkpoints", report.checkpoints},
          {"removed_through", report.removed_through},
          {"clock_changes", report.clock_changes},
          {"unfinished_bytes", report.unfinished},
          {"signer", report.signer},
          {"problems", std::move(problems)}};
}

void print_report(const audit::Report& report) {
  for (const audit::Problem& problem : report.problems) {
    std::cout << "problem";
    if (!problem.segment.empty()) {
      std::cout << " in " << problem.segment;
    }
    if (problem.line > 0) {
      std::cout << ", line " << problem.line << " (byte " << problem.offset << ")";
    }
    std::cout << ": " << printable(problem.what) << "\n";
  }
  if (report.problems.size() == audit::Report::kMostProblems) {
    std::cout << "there may be more problems\n";
  }
  std::cout << "records " << report.first << " to " << report.last << " in " << report.segments
            << " segments; " << report.checkpoints << " checkpoints signed by key " << report.signer
            << "\n";
  if (report.removed_through > 0) {
    std::cout << "records 1 to " << report.removed_through << " were removed by retention\n";
  }
  if (report.last > report.signed_through) {
    std::cout << report.last - report.signed_through << " records are not signed yet\n";
  }
  if (report.clock_changes > 0) {
    std::cout << "the clock was set back " << report.clock_changes << " times\n";
  }
  std::cout << (report.problems.empty() ? "the journal is intact\n"
                                        : "the journal is not intact\n");
}

Result<int> verify(const AuditOptionsText& options) {
  const auto known = GB_TRY(known_heads(options));
  const Opened journal = GB_TRY(open_journal(options));
  audit::Report report = GB_TRY(audit::verify(journal.directory.get(), journal.key, known));
  GB_TRY(audit::verify_recordings(journal.directory.get(), report));
  if (options.json) {
    std::cout << json_of(report).dump(2) << "\n";
  } else {
    print_report(report);
  }
  return report.problems.empty() ? 0 : 1;
}

Result<int> export_records(const AuditOptionsText& options) {
  const UniqueFd directory =
      GB_TRY(audit::open_directory(audit::journal_directory(options.directory)));
  GB_TRY(audit::read_lines(directory.get(), options.after, [&](std::string_view line) {
    if (options.format == "jsonl") {
      std::cout << line << "\n";
    } else if (const auto record = audit::parse_record(line)) {
      std::cout << (options.format == "ocsf" ? audit::to_ocsf(*record, GB_VERSION)
                                             : audit::to_otel_log(*record, line, GB_VERSION))
                << "\n";
    }
    return std::cout.good();
  }));
  return 0;
}

Result<int> head(const AuditOptionsText& options) {
  const Opened journal = GB_TRY(open_journal(options));
  const auto found = GB_TRY(audit::read_head(journal.directory.get(), journal.key));
  if (!found) {
    return Error(ErrorCode::kNotFound, "the audit journal has no head yet");
  }
  if (options.json) {
    std::cout << Json{{"schema", "glovebox.audit_head/1"},
                      {"seq", found->number},
                      {"hash", found->hash},
                      {"time", found->time},
                      {"signer", journal.key.id()}}
                     .dump(2)
              << "\n";
  } else {
    std::cout << found->number << " " << found->hash << "\n";
  }
  return 0;
}

Result<int> key(const AuditOptionsText& options) {
  const Opened journal = GB_TRY(open_journal(options));
  std::cout << GB_TRY(journal.key.pem());
  return 0;
}

CLI::App* add_one(CLI::App& group,
                  const char* name,
                  const char* words,
                  const char* footer,
                  const std::shared_ptr<AuditOptionsText>& options,
                  Result<int> (*run)(const AuditOptionsText&),
                  Action* action) {
  auto* const command = group.add_subcommand(name, words);
  command->footer(footer);
  command->callback(
      [action, options, run] { *action = [options, run] { return ended(run(*options)); }; });
  return command;
}

void add_filters(CLI::App& command, AuditOptionsText& options) {
  add_daemon_options(command, options.daemon);
  command
      .add_option("--action", options.action,
                  "Only this action, or all that begin with it: key for key.create")
      ->type_name("ACTION");
  command.add_option("--sandbox", options.sandbox, "Only records about this sandbox")
      ->type_name("ID");
}

void add_directory(CLI::App& command, AuditOptionsText& options) {
  command
      .add_option("--data", options.directory,
                  std::string("Data directory of the daemon") + kDefaultDataDirectory)
      ->type_name("DIR");
}

}  // namespace

void add_audit(CLI::App& app, bool described, Action* action) {
  auto* const group = app.add_subcommand(kAudit.name, kAudit.description);
  group->footer(kAuditFooter);
  group->require_subcommand(1);
  if (!described) {
    return;
  }
  auto options = std::make_shared<AuditOptionsText>();
  auto* command =
      add_one(*group, "tail", "Print the newest records",
              "Examples:\n  glovebox audit tail -n 50\n  glovebox audit tail -f --action execute",
              options, tail, action);
  add_filters(*command, *options);
  command->add_option("-n,--lines", options->count, "Number of records to print")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("-f,--follow", options->follow, "Keep printing new records as they arrive");

  options = std::make_shared<AuditOptionsText>();
  command = add_one(*group, "search", "Print records, oldest first",
                    "Examples:\n  glovebox audit search --action key\n"
                    "  glovebox audit search --sandbox ID --json",
                    options, search, action);
  add_filters(*command, *options);
  command->add_option("--after", options->after, "Only records with greater numbers")
      ->type_name("SEQ");
  command->add_option("--limit", options->limit, "Maximum number of records to print")
      ->type_name("COUNT")
      ->capture_default_str();

  options = std::make_shared<AuditOptionsText>();
  command = add_one(*group, "verify", "Check that nobody has changed the journal",
                    "Exits with 1 if somebody has, and prints where.\n\nExamples:\n"
                    "  glovebox audit verify --data /var/lib/glovebox\n"
                    "  glovebox audit verify --public-key public.pem --witness heads.txt",
                    options, verify, action);
  add_directory(*command, *options);
  command
      ->add_option("--public-key", options->public_key,
                   "File with the key that signs, kept elsewhere [default: DIR/audit/public.pem]")
      ->type_name("FILE");
  command
      ->add_option("--head", options->heads,
                   "A head that was kept elsewhere and must be in the journal; repeatable")
      ->type_name("HASH")
      ->allow_extra_args(false);
  command
      ->add_option("--witness", options->witness,
                   "File of heads, as 'glovebox serve --audit-witness' writes it")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON");

  options = std::make_shared<AuditOptionsText>();
  command = add_one(*group, "export",
                    "Print all records, as JSON Lines, OCSF events or OpenTelemetry logs",
                    "Examples:\n  glovebox audit export > audit.jsonl\n"
                    "  glovebox audit export --format ocsf --after 1000",
                    options, export_records, action);
  add_directory(*command, *options);
  command->add_option("--format", options->format, "jsonl, ocsf or otlp")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"jsonl", "ocsf", "otlp"}))
      ->capture_default_str();
  command->add_option("--after", options->after, "Only records with greater numbers")
      ->type_name("SEQ");

  options = std::make_shared<AuditOptionsText>();
  command = add_one(*group, "head", "Print the number and the hash of the last signed record",
                    "Keep it elsewhere, for 'glovebox audit verify --head'.\n\nExamples:\n"
                    "  glovebox audit head > head.txt",
                    options, head, action);
  add_directory(*command, *options);
  command->add_flag("--json", options->json, "Print JSON");

  options = std::make_shared<AuditOptionsText>();
  command = add_one(*group, "key", "Print the public key that checks the signatures",
                    "Keep it elsewhere, for 'glovebox audit verify --public-key'.\n\nExamples:\n"
                    "  glovebox audit key > public.pem",
                    options, key, action);
  add_directory(*command, *options);
}

}  // namespace glovebox::cli
