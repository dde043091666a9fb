// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "cli/input_file.h"
#include "cli/output_writer.h"
#include "language/registry.h"
#include "sandbox/tiers/tier.h"
#include "service/runs/run_terms.h"
#include "service/templates/run_image.h"

namespace glovebox::cli {
namespace {

// Whether it is a valid schema only shows when something is checked against it.
Result<std::string> read_schema(const std::string& path) {
  return read_whole_input(path, Checks::kMaxText, "leave out what the schema only describes");
}

// Bounds a program's text; anything larger is data, which --file is for.
constexpr std::size_t kMaxCode = 64U << 20;
constexpr std::size_t kMaxCopiedInput = 1UL << 30;

// Every sandbox shows the files below these as they are, so they need no copy.
constexpr std::array<std::string_view, 2> kShown = {"/usr/bin/", "/usr/sbin/"};

constexpr const char* kTooLarge = "pass large data with --file";

Result<UniqueFd> open_program(const std::string& path) {
  auto file = open_input(path);
  std::error_code ignored;
  if (!file && std::filesystem::is_directory(path, ignored)) {
    return std::move(file).error().with_hint("pass a file; use --file DIR to copy in a directory");
  }
  return file;
}

// The real path of a program that the template shows at the same place, or nothing.
std::string shown_in_place(const std::string& file) {
  std::array<char, PATH_MAX> resolved{};
  if (::realpath(file.c_str(), resolved.data()) == nullptr) {
    return {};
  }
  std::string path = resolved.data();
  for (const std::string_view directory : kShown) {
    if (path.starts_with(directory)) {
      return path;
    }
  }
  return {};
}

// Input that is read to its end for one purpose has nothing left for another.
Result<void> use_standard_input_once(const RunOptionsText& options) {
  std::vector<std::string> uses;
  const auto add = [&uses](const std::string& value, const char* use) {
    if (value == kStandardInput) {
      uses.emplace_back(use);
    }
  };
  add(options.file, "the program");
  add(options.stdin_file, "--stdin");
  for (const std::string& file : options.files) {
    add(file.substr(0, file.rfind(':')), "--file");
  }
  for (const std::string& policy : options.policies) {
    add(policy, "--policy");
  }
  if (uses.size() > 1) {
    return Error(ErrorCode::kInvalid,
                 "standard input cannot be both " + uses[0] + " and " + uses[1],
                 "save one of them in a file, and name it");
  }
  if (options.watch && !uses.empty() && uses[0] != "--stdin") {
    return Error(ErrorCode::kInvalid, "--watch cannot read standard input more than once",
                 "save it in a file, and name it");
  }
  return {};
}

// Refuses a wall that cannot be built: without it the guest would get more than was asked for,
// or less.
Result<void> refuse_what_is_missing(const RunOptionsText& options) {
  if (!options.template_name.empty() && options.template_name != "default") {
    return Error(ErrorCode::kInvalid,
                 "unknown template '" + printable(options.template_name) +
                     "': 'default' is the only one without a daemon",
                 "for a template of the daemon, use 'glovebox sandbox create --template'; for a "
                 "container image, use --image");
  }
  if (options.out == "-") {
    return Error(ErrorCode::kInvalid, "--out: '-' is not a directory",
                 "use ./- for a directory of that name");
  }
  GB_TRY(use_standard_input_once(options));
  const bool known = options.user.empty() || options.user == "user" || options.user == "root";
  if (!known && options.image.empty()) {
    return Error(ErrorCode::kInvalid, "--user: invalid value '" + printable(options.user) + "'",
                 "use one of: root, user; other users need --image");
  }
  return {};
}

// The user who runs the program: the image's own, unless another was asked for.
void choose_user(const std::string& wanted, OneShot& request) {
  request.as_root = wanted != "user";
  request.image->user = wanted == "user" ? "" : ImageConfig{.user = wanted}.other_than_root();
}

// Takes the image's root, and its command if no code was given.
Result<void> load_image(const RunOptionsText& options, RunPlan& plan) {
  const bool quiet = options.quiet || options.json || options.events;
  BuildMonitor monitor(
      [quiet](const BuildEvent& event) {
        if (event.kind == BuildEvent::Kind::kLog && !quiet) {
          AnsiStripper stripper;
          write_fully(STDERR_FILENO, "glovebox: " + stripper.strip(event.text));
        }
        return true;
      },
      {.spend = [](std::uint64_t) { return Result<void>(); }});
  BuildNetwork network{.rules = plan.request.network.value_or(NetworkRules()),
                       .public_only = false};
  network.rules.credentials = {};
  RunImage image = GB_TRY(open_run_image(options.image, network, monitor));
  plan.image = std::move(image.held);
  plan.request.image = std::move(image.shown);
  choose_user(options.user.empty() ? image.config.user : options.user, plan.request);
  if (options.has_code) {
    return {};
  }
  std::vector<std::string> words = options.arguments;
  if (!options.file.empty()) {
    words.insert(words.begin(), options.file);
  }
  words = image.config.command(words);
  if (words.empty()) {
    return Error(ErrorCode::kInvalid, "the image names no command to run",
                 "pass one: glovebox run --image IMAGE -- COMMAND");
  }
  plan.request.in_place = words.front();
  plan.request.arguments.assign(words.begin() + 1, words.end());
  return {};
}

// The program: its text, its name, and the language that was named or found.
Result<void> load_program(const RunOptionsText& options, OneShot& request) {
  const Registry registry = Registry::load(Registry::user_directories());
  if (options.has_code) {
    if (!options.file.empty()) {
      return Error(ErrorCode::kInvalid, "a file and -e cannot be combined",
                   "leave one of them out");
    }
    request.code = options.code;
  } else if (request.image) {
    request.language = GB_TRY(registry.find(std::string(kExecutable)));
    return {};
  } else if (options.file == "-") {
    request.code = GB_TRY(read_whole_input(options.file, kMaxCode, kTooLarge));
  } else if (options.file.empty()) {
    return Error(ErrorCode::kInvalid, "nothing to run",
                 "pass a file, '-' for standard input, or code with -e");
  } else {
    const UniqueFd file = GB_TRY(open_program(options.file));
    request.name = options.file;
    if (options.language.empty()) {
      request.in_place = shown_in_place(options.file);
    }
    if (request.in_place.empty()) {
      request.code = GB_TRY(read_whole_input(file.get(), options.file, kMaxCode, kTooLarge));
    } else {
      std::array<char, 512> head{};
      const ssize_t got = ::read(file.get(), head.data(), head.size());
      request.code.assign(head.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    }
  }
  auto language = options.language.empty()
                      ? registry.detect(request.name, std::string_view(request.code).substr(0, 512))
                      : registry.find(options.language);
  if (!language) {
    return std::move(language).error();
  }
  request.language = std::move(language).value();
  if (!request.in_place.empty() && request.language.id != kExecutable) {
    // A script of the system: its language runs it, from a copy like any other.
    request.code = GB_TRY(read_whole_input(options.file, kMaxCode, kTooLarge));
    request.in_place.clear();
  }
  const TierWish tier = GB_TRY(tier_for(request.language, request.tier, options.deterministic));
  request.language = in_tier(std::move(request.language), tier.exactly);
  // A tier that cannot run this machine's programs brings its own, except for compilers.
  const bool is_of_tier = !traits_of(tier.exactly).runs_elf && request.language.compile.empty();
  if (request.in_place.empty() && !request.image && !is_of_tier) {
    const Readiness ready = readiness(request.language);
    if (!ready.ready) {
      return Error(ErrorCode::kUnsupported,
                   request.language.title + " is not installed: " + ready.missing + " is missing",
                   ready.hint);
    }
  }
  return {};
}

// Standard input that is copied in waits in memory: its size is sent before its bytes.
Result<FileToCopy> file_to_copy(const std::string& text, RunPlan& plan) {
  FileToCopy file = GB_TRY(parse_file_to_copy(text));
  if (file.source != kStandardInput) {
    return file;
  }
  if (file.target == kStandardInput) {
    return Error(ErrorCode::kInvalid, "--file: standard input has no name",
                 "name what it becomes: --file -:data.csv");
  }
  plan.copied_input = UniqueFd(::memfd_create("standard-input", MFD_CLOEXEC));
  if (!plan.copied_input) {
    return Error::from_errno("make room for standard input");
  }
  write_fully(plan.copied_input.get(), GB_TRY(read_whole_input(file.source, kMaxCopiedInput,
                                                               "save it in a file, and name it")));
  file.source = "/proc/self/fd/" + std::to_string(plan.copied_input.get());
  return file;
}

// An empty value, such as that of a script's unset variable, must not pass for an option that was
// left out.
std::string not_empty(const std::string& value) {
  return value.empty() ? "the value is empty" : std::string();
}

}  // namespace

void add_program_options(CLI::App& command, RunOptionsText& options) {
  command.add_option("FILE", options.file, "Program to run; '-' reads it from standard input")
      ->type_name("FILE");
  command
      .add_option("-l,--language", options.language,
                  "Language [default: detected from the file extension or shebang]")
      ->type_name("LANGUAGE");

  add_shared_options(command, options,
                     {{"time", "Wall-clock time limit: 500ms, 2m; a bare number is seconds"},
                      {"cpu_time", "CPU time limit for all processes together"}});
  command
      .add_option("--seccomp", options.seccomp,
                  "System call policy: 'default', or 'strict' (an allowlist for compiled programs)")
      ->type_name("POLICY")
      ->check(CLI::IsMember({"default", "strict"}))
      ->group(kIsolationOptions);
  command
      .add_flag("--no-pool", options.no_pool,
                "Create a new sandbox even if 'glovebox pool' has one ready")
      ->group(kIsolationOptions);
  command
      .add_option("--compile-time", options.compile_time, "Wall-clock time limit for the compiler")
      ->type_name("TIME")
      ->group(kLimitOptions);
  command.add_option("--compile-memory", options.compile_memory, "Memory limit for the compiler")
      ->type_name("SIZE")
      ->group(kLimitOptions);
}

void add_options(CLI::App& command, RunOptionsText& options) {
  add_program_options(command, options);
  auto* const arguments =
      command.add_option("ARGS", options.arguments, "Arguments for the program (after --)")
          ->type_name("ARG");
  auto* const code = command.add_option("-e,--code", options.code, "Code to run instead of a file")
                         ->type_name("CODE");
  code->each([&options](const std::string&) { options.has_code = true; });
  command.add_option("--template", options.template_name, "Template for the sandbox: 'default'")
      ->type_name("NAME")
      ->group(kIsolationOptions);

  command
      .add_option("--user", options.user,
                  "User of the program inside: 'user', or 'root' with a file system that it can "
                  "change (native tier) [default: user]; of an image, also its others "
                  "[default: the image's own]")
      ->type_name("USER")
      ->group(kIsolationOptions);

  command
      .add_flag("--nested", options.nested,
                "Let tools inside build sandboxes of their own, such as bubblewrap's: namespaces "
                "and mounts (native tier)")
      ->excludes(command.get_option("--seccomp"))
      ->group(kIsolationOptions);

  auto* const image =
      command
          .add_option("--image", options.image,
                      "Container image whose root the sandbox shows: an OCI layout, an archive of "
                      "'docker save', or an image of a registry that --allow-net names; runs its "
                      "command, or FILE and ARGS in its place")
          ->type_name("IMAGE")
          ->group(kIsolationOptions);

  command
      .add_flag("--deterministic", options.deterministic,
                "Same program, same input, same output: no clock, no chance, and a time limit that "
                "counts instructions (wasm tier)")
      ->group(kIsolationOptions);

  add_network_options(command, options);

  command
      .add_option("--policy", options.policies,
                  "Policy file, or the name of a shipped policy, to check the program against "
                  "before it runs; the strictest of several decides; repeatable")
      ->type_name("FILE")
      ->group(kIsolationOptions);

  command
      .add_option("--output", options.output,
                  "Bytes to keep of each output stream for --json and --events [default: " +
                      to_string(Limits().output) + "]")
      ->type_name("SIZE")
      ->group(kLimitOptions);
  command.add_option("--out", options.out, "Directory to copy created and changed files to")
      ->type_name("DIR")
      ->group(kFileOptions);
  command
      .add_option("--stdin", options.stdin_file,
                  "File to use as the program's standard input; - is that of glovebox")
      ->type_name("FILE")
      ->group(kFileOptions);
  command
      .add_option("--packages", options.packages,
                  "Packages to install: pip:NAME[==VERSION],npm:NAME[@VERSION]; cached and "
                  "mounted read-only")
      ->type_name("LIST")
      ->group(kFileOptions);
  command
      .add_option("--package-source", options.package_sources,
                  "Directory of wheels or npm tarballs to install from; repeatable")
      ->type_name("DIR")
      ->group(kFileOptions);

  constexpr const char* kAnswer = "Output";
  auto* const compile_only =
      command
          .add_flag(
              "--compile-only", options.compile_only,
              "Compile the program without running it; --out DIR keeps what the compiler made")
          ->group(kAnswer);
  command
      .add_option("--verify", options.verify,
                  "Shell command to run in the same sandbox after the program")
      ->excludes(compile_only)
      ->type_name("COMMAND")
      ->group(kAnswer);
  command
      .add_option("--expect-file", options.expected_files,
                  "File in the workspace that the program must make or change; repeatable")
      ->excludes(compile_only)
      ->type_name("PATH")
      ->group(kAnswer);
  command
      .add_option("--output-schema", options.output_schema,
                  "File with a JSON Schema that the program's output must conform to")
      ->excludes(compile_only)
      ->type_name("FILE")
      ->group(kAnswer);
  auto* const json =
      command.add_flag("--json", options.json, "Print the result as one JSON object")
          ->group(kAnswer);
  command.add_flag("--events", options.events, "Print events as JSON lines as they happen")
      ->group(kAnswer)
      ->excludes(json);
  command.add_flag("--timings", options.timings, "Show a breakdown of the startup time")
      ->group(kAnswer);
  command
      .add_flag("--summary", options.summary,
                "Print a summary of the result, usage and isolation at the end")
      ->group(kAnswer);
  command.add_flag("-q,--quiet", options.quiet, "Print only the program's output")->group(kAnswer);
  command
      .add_flag("--watch", options.watch,
                "Run again whenever the program's file or a --file changes; Ctrl-C ends it")
      ->group(kAnswer);
  auto* const dry_run =
      command
          .add_flag("--dry-run", options.dry_run,
                    "Hold back what --out would write: show it as a diff and ask before writing it")
          ->group(kAnswer);
  command
      .add_option("--dry-run-network", options.dry_run_network,
                  "'open' lets a dry run use the network, which nobody can take back [default: "
                  "closed]")
      ->type_name("STATE")
      ->check(CLI::IsMember({"closed", "open"}))
      ->needs(dry_run)
      ->group(kAnswer);
  command.add_flag("--yes", options.yes, "Write what a dry run has shown without asking")
      ->needs(dry_run)
      ->group(kAnswer);
  auto* const raw =
      command
          .add_flag("--raw", options.raw,
                    "Let the output's control sequences reach the terminal, which obeys them; by "
                    "default only colours do")
          ->group(kAnswer);
  command
      .add_flag("--strip-ansi", options.strip_ansi,
                "Remove terminal control sequences from the output")
      ->group(kAnswer)
      ->excludes(raw);

  dry_run->excludes(command.get_option("--watch"));
  for (const char* const other : {"--template", "--policy", "--packages", "--package-source",
                                  "--deterministic", "--watch", "--compile-only"}) {
    image->excludes(command.get_option(other));
  }
  for (CLI::Option* const option : command.get_options()) {
    if (option != arguments) {
      // One value each: a second value would swallow the program's name.
      option->allow_extra_args(false);
      if (option != code) {
        option->check(not_empty);
      }
    }
  }
}

void add_guest_words(const std::vector<std::string>& words, RunOptionsText& options) {
  auto first = words.begin();
  if (first != words.end() && options.file.empty() && !options.has_code) {
    options.file = *first++;
  }
  options.arguments.insert(options.arguments.end(), first, words.end());
}

Result<RunPlan> make_run_plan(const RunOptionsText& options) {
  RunPlan plan;
  OneShot& request = plan.request;
  GB_TRY(refuse_what_is_missing(options));
  // Before the program: a word that was meant as its name may have become an option's value.
  LimitWishes limits = GB_TRY(parse_limits(options.limits));
  limits.output = GB_TRY(parse_size(options.output, "--output"));
  LimitWishes compile;
  compile.wall = GB_TRY(parse_time(options.compile_time, "--compile-time"));
  compile.memory = GB_TRY(parse_size(options.compile_memory, "--compile-memory"));
  NetworkOptions network = GB_TRY(parse_network(options));
  request.network = std::move(network.rules);
  request.secrets = std::move(network.secrets);
  request.arguments = options.arguments;
  request.as_root = options.user == "root";
  if (!options.image.empty()) {
    GB_TRY(load_image(options, plan));
  }
  request.tier = {.exactly = options.tier, .at_least = options.min_tier};
  GB_TRY(load_program(options, request));
  request.limits = GB_TRY(with_host_limits(options.limits, run_limits(request.language, limits)));
  request.compile_limits = compile_limits(request.language, compile);
  GB_TRY(validate(request.limits));
  GB_TRY(validate(request.compile_limits, "compile-"));
  request.strict = options.seccomp == "strict";
  request.nested = options.nested;
  request.deterministic = options.deterministic;
  request.from_pool = !options.no_pool;
  request.env = GB_TRY(parse_environment(options));
  for (const std::string& text : options.files) {
    request.files.push_back(GB_TRY(file_to_copy(text, plan)));
  }
  request.packages = {.requests = GB_TRY(parse_packages(options.packages)),
                      .sources = options.package_sources};
  if (auto allowed = validate(request.packages); !allowed) {
    return std::move(allowed).error().within("--packages");
  }
  request.out_directory = options.out;
  if (options.dry_run && request.network && options.dry_run_network != "open") {
    request.network = NetworkRules();
    request.secrets = {};
  }
  request.compile_only = options.compile_only;
  request.verify = options.verify;
  request.checks.files = options.expected_files;
  if (!options.output_schema.empty()) {
    request.checks.schemas.push_back(GB_TRY(read_schema(options.output_schema)));
  }
  if (options.has_stdin_file()) {
    plan.stdin_file = GB_TRY(open_input(options.stdin_file));
    request.stdin_fd = plan.stdin_file.get();
  } else if (options.file != kStandardInput && !plan.copied_input &&
             std::ranges::find(options.policies, kStandardInput) == options.policies.end() &&
             ::fcntl(STDIN_FILENO, F_GETFL) >= 0) {
    request.stdin_fd = STDIN_FILENO;
  }
  return plan;
}

}  // namespace glovebox::cli
