// SPDX-License-Identifier: Apache-2.0
#include "service/templates/dockerfile_stage.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/shell_words.h"
#include "base/text.h"
#include "files/open.h"
#include "service/dockerfile/expand.h"
#include "service/templates/build_sandbox.h"

namespace glovebox {
namespace {

using dockerfile::at_line;
using dockerfile::expand;
using dockerfile::Instruction;
using dockerfile::Quotes;
using Kind = Instruction::Kind;

constexpr std::size_t kMaxTitle = 200;
constexpr std::size_t kMaxStart = 64UL * 1024;
constexpr std::size_t kMostVariables = 256;

bool is_variable_name(std::string_view name) {
  return !name.empty() && name.size() <= 256 && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

std::optional<std::string> value_of(const Environment& env, std::string_view name) {
  const auto found = std::ranges::find(env, name, &Environment::value_type::first);
  return found == env.end() ? std::nullopt : std::optional(found->second);
}

std::string command_line(const std::vector<std::string>& words) {
  std::string line = "exec";
  for (const std::string& word : words) {
    line += " " + shell_quoted(word);
  }
  return line;
}

Error of_line(std::size_t line, const Error& error) {
  return at_line(line, error.code(), error.message(), error.hint());
}

// ARG instructions: those that the client has set override.
class Arguments {
 public:
  explicit Arguments(const Environment& given) : given_(given) {}

  using Expand = std::function<Result<std::string>(std::string_view)>;
  // `inherited`: what an ARG without a value stands for.
  Result<void> declare(const Instruction& step, const Environment& inherited, const Expand& of) {
    for (const std::string& word : step.words) {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (!is_variable_name(name)) {
        return at_line(step.line, ErrorCode::kInvalid,
                       "'" + printable(name.substr(0, 200)) + "' is not a valid variable name");
      }
      std::optional<std::string> value = value_of(given_, name);
      if (!value && equals != std::string::npos) {
        value = GB_TRY(of(word.substr(equals + 1)));
      }
      if (!value) {
        value = value_of(inherited, name);
      }
      if (value) {
        merge(values_, {{name, *std::move(value)}});
      }
    }
    return values_.size() > kMostVariables
               ? at_line(step.line, ErrorCode::kInvalid, "more than 256 variables")
               : Result<void>();
  }

  [[nodiscard]] const Environment& values() const { return values_; }

 private:
  const Environment& given_;
  Environment values_;
};

// Of the ARG instructions before the first FROM.
Result<Environment> global_arguments(const dockerfile::Dockerfile& file, const Environment& given) {
  Arguments arguments(given);
  for (const Instruction& step : file.args) {
    GB_TRY(arguments.declare(step, {}, [&](std::string_view word) -> Result<std::string> {
      auto text = expand(
          word, [&](std::string_view name) { return value_of(arguments.values(), name); },
          Quotes::kRemoved);
      return text ? std::move(text) : Result<std::string>(of_line(step.line, text.error()));
    }));
  }
  return arguments.values();
}

class Planner {
 public:
  Planner(const TemplateParts& base, Environment globals, const Environment& given)
      : base_(base), globals_(std::move(globals)), arguments_(given), directory_(base.home) {
    plan_.own_root = !base.root.empty();
    plan_.env = base.env;
    plan_.start = base.start;
    plan_.user = base.user;
    plan_.image = base.image;
    user_ = base.image.user;
    if (!base.image.directory.empty()) {
      directory_ = base.image.directory;
    }
  }

  Result<StagePlan> run(const std::vector<Instruction>& steps) {
    for (const Instruction& step : steps) {
      StageStep made{.line = step.line, .title = step.title.substr(0, kMaxTitle)};
      GB_TRY(take(step, made));
      plan_.steps.push_back(std::move(made));
    }
    GB_TRY(set_start());
    GB_TRY(check_size(plan_.image));
    return std::move(plan_);
  }

 private:
  Result<void> take(const Instruction& step, StageStep& made) {
    switch (step.kind) {
      case Kind::kFrom:
        break;  // Begins a stage, and is part of none.
      case Kind::kArg:
        return arguments_.declare(step, globals_,
                                  [&](std::string_view word) { return text(word, step); });
      case Kind::kEnv:
        return set_variables(step);
      case Kind::kRun:
        return run_command(step, made);
      case Kind::kCopy:
      case Kind::kAdd:
        return copy(step, made);
      case Kind::kWorkdir:
        return enter(step, made);
      case Kind::kUser:
        return become(step, made);
      case Kind::kShell:
        shell_ = step.words;
        return {};
      case Kind::kCmd:
        cmd_ = step;
        plan_.image.cmd = words_of(step);
        return {};
      case Kind::kEntrypoint:
        entrypoint_ = step;
        plan_.image.entrypoint = words_of(step);
        cmd_.reset();
        plan_.image.cmd.clear();
        return {};
      case Kind::kLabel:
        merge(plan_.image.labels, GB_TRY(pairs(step, "LABEL")));
        return {};
      case Kind::kExpose:
        made.note = "every port of a sandbox can be reached over the API, exposed or not";
        return expose(step);
      case Kind::kVolume:
        made.note = "VOLUME makes no volume; attach one when you create a sandbox";
        return add_volumes(step);
      case Kind::kStopSignal:
        made.note = "sandboxes are always killed; STOPSIGNAL is kept for an exported image";
        plan_.image.stop_signal = GB_TRY(text(step.words.front(), step));
        return {};
    }
    return {};
  }

  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const {
    auto value = value_of(plan_.env, name);
    return value ? std::move(value) : value_of(arguments_.values(), name);
  }

  Result<std::string> text(std::string_view word,
                           const Instruction& step,
                           Quotes quotes = Quotes::kRemoved) const {
    auto made = expand(
        word, [this](std::string_view name) { return variable(name); }, quotes);
    return made ? std::move(made) : Result<std::string>(of_line(step.line, made.error()));
  }

  [[nodiscard]] std::vector<std::string> words_of(const Instruction& step) const {
    std::vector<std::string> words = step.exec ? step.words : shell_;
    if (!step.exec) {
      words.push_back(step.text);
    }
    return words;
  }

  // Adds a value unless it is there already.
  static void add_once(std::vector<std::string>& list, std::string value) {
    if (std::ranges::find(list, value) == list.end()) {
      list.push_back(std::move(value));
    }
  }

  Result<void> expose(const Instruction& step) {
    for (const std::string& word : step.words) {
      std::string port = GB_TRY(text(word, step));
      const std::size_t digits = port.find_first_not_of("0123456789-");
      const std::string protocol = port.substr(std::min(digits, port.size()));
      if (digits == 0 || port.empty() || port.size() > 32 ||
          (!protocol.empty() && protocol != "/tcp" && protocol != "/udp")) {
        return at_line(step.line, ErrorCode::kInvalid,
                       "'" + printable(port.substr(0, 200)) + "' is not a port",
                       "for example: EXPOSE 8080");
      }
      add_once(plan_.image.ports, port + (protocol.empty() ? "/tcp" : ""));
    }
    return {};
  }

  Result<void> add_volumes(const Instruction& step) {
    for (const std::string& word : step.words) {
      add_once(plan_.image.volumes, step.exec ? word : GB_TRY(text(word, step)));
    }
    return {};
  }

  Result<void> set_variables(const Instruction& step) {
    const Environment set = GB_TRY(pairs(step, "ENV"));
    for (const auto& [name, value] : set) {
      if (!is_variable_name(name)) {
        return at_line(step.line, ErrorCode::kInvalid,
                       "'" + printable(name.substr(0, 200)) + "' is not a valid variable name");
      }
    }
    merge(plan_.env, set);
    return plan_.env.size() > kMostVariables
               ? at_line(step.line, ErrorCode::kInvalid, "more than 256 variables")
               : Result<void>();
  }

  // NAME=VALUE each, or one NAME VALUE.
  Result<Environment> pairs(const Instruction& step, const std::string& instruction) const {
    Environment set;
    if (step.words.empty()) {
      return at_line(step.line, ErrorCode::kInvalid, "expected " + instruction + " NAME=VALUE");
    }
    if (step.words.front().find('=') == std::string::npos) {
      std::string value;
      for (std::size_t i = 1; i < step.words.size(); ++i) {
        value += (i > 1 ? " " : "") + step.words[i];
      }
      if (step.words.size() < 2) {
        return at_line(step.line, ErrorCode::kInvalid, "expected " + instruction + " NAME=VALUE");
      }
      set.emplace_back(step.words.front(), GB_TRY(text(value, step)));
    } else {
      for (const std::string& word : step.words) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) {
          return at_line(step.line, ErrorCode::kInvalid,
                         "'" + printable(word.substr(0, 200)) + "' is not NAME=VALUE");
        }
        set.emplace_back(GB_TRY(text(word.substr(0, equals), step)),
                         GB_TRY(text(word.substr(equals + 1), step)));
      }
    }
    for (const auto& [name, value] : set) {
      if (name.empty() || (name + value).find('\0') != std::string::npos) {
        return at_line(step.line, ErrorCode::kInvalid,
                       name.empty() ? "a name is empty" : "the value contains a NUL byte");
      }
    }
    return set;
  }

  Result<void> run_command(const Instruction& step, StageStep& made) const {
    made.kind = StageStep::Kind::kRun;
    made.argv = words_of(step);
    if (plan_.own_root && !user_.empty()) {
      made.argv = as_user(user_, made.argv);
    }
    made.directory = directory_;
    made.env = arguments_.values();
    merge(made.env, plan_.env);
    return {};
  }

  // Absolute, without "." and ".."; a slash at the end stays.
  Result<std::string> path(const std::string& word, const Instruction& step) const {
    const std::string whole = word.starts_with('/') ? word : directory_ + "/" + word;
    std::vector<std::string_view> names;
    for (std::string_view rest = whole; !rest.empty();) {
      const std::string_view name = rest.substr(0, rest.find('/'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (name == ".." && !names.empty()) {
        names.pop_back();
      } else if (!name.empty() && name != "." && name != "..") {
        names.push_back(name);
      }
    }
    std::string clean;
    for (const std::string_view name : names) {
      (clean += '/') += name;
    }
    clean = clean.empty() ? "/" : clean;
    if (clean.size() > 4096 || clean.find('\0') != std::string::npos) {
      return at_line(step.line, ErrorCode::kInvalid, "the path is not valid");
    }
    const bool in_home = clean == base_.home || clean.starts_with(base_.home + "/");
    if (!plan_.own_root && !in_home) {
      return at_line(
          step.line, ErrorCode::kUnsupported,
          "'" + printable(clean.substr(0, 200)) + "' is outside the workspace, " + base_.home,
          "to write elsewhere, begin with a template that has a root of its own");
    }
    if (const std::string_view why = not_kept(clean, base_.home); !why.empty()) {
      return at_line(step.line, ErrorCode::kUnsupported,
                     "'" + printable(clean.substr(0, 200)) + "' is " + std::string(why),
                     "use " + base_.home + ", or another directory of the root");
    }
    const bool slash = word.ends_with('/') || word == "." || word.ends_with("/.");
    return clean + (slash ? "/" : "");
  }

  Result<void> enter(const Instruction& step, StageStep& made) {
    made.target = GB_TRY(path(GB_TRY(text(step.words.front(), step)), step));
    made.target = made.target.substr(0, made.target.find_last_not_of('/') + 1);
    directory_ = made.target;
    plan_.image.directory = made.target == base_.home ? "" : made.target;
    made.kind = made.target == base_.home ? StageStep::Kind::kSetting : StageStep::Kind::kDirectory;
    return {};
  }

  Result<void> become(const Instruction& step, StageStep& made) {
    const std::string word = GB_TRY(text(step.words.front(), step));
    const std::string name = word.substr(0, word.find(':'));
    const bool is_root = name == "root" || name == "0";
    if (!plan_.own_root && name != base_.user) {
      return at_line(step.line, ErrorCode::kUnsupported,
                     "the user of this base is '" + base_.user + "'",
                     "remove USER, or begin with a template that has a root of its own");
    }
    user_ = is_root ? "" : word;
    plan_.image.user = user_;
    if (is_root) {
      plan_.user = base_.user;
      return {};
    }
    Recipe named;
    named.name = "template";
    named.user = name;
    const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
    if (name.empty() || word.size() > 128 || (!is_number && !validate(named))) {
      return at_line(step.line, ErrorCode::kInvalid,
                     "'" + printable(name.substr(0, 200)) + "' is not a valid user name");
    }
    plan_.user = is_number ? plan_.user : name;
    if (plan_.own_root) {
      made.note = "RUN is " + printable(word) +
                  " from here on, and so are the processes of its sandboxes; where those have only "
                  "one user id, they are a guest with the name " +
                  plan_.user;
    }
    return {};
  }

  Result<void> copy(const Instruction& step, StageStep& made) const {
    std::vector<std::string> words;
    for (const std::string& word : step.words) {
      words.push_back(GB_TRY(text(word, step, step.exec ? Quotes::kKept : Quotes::kRemoved)));
      if (words.back().empty() || words.back().find('\0') != std::string::npos) {
        return at_line(step.line, ErrorCode::kInvalid, "a path is empty or contains a NUL byte");
      }
    }
    made.kind = StageStep::Kind::kCopy;
    made.target = GB_TRY(path(words.back(), step));
    words.pop_back();
    made.sources = std::move(words);
    made.unpacks = step.kind == Kind::kAdd;
    for (const std::string& source : made.sources) {
      if (made.unpacks && (source.find("://") != std::string::npos || source.starts_with("git@"))) {
        return at_line(step.line, ErrorCode::kUnsupported, "ADD cannot download",
                       "use RUN with a program that downloads, and --allow-net; or download the "
                       "file into the build context");
      }
    }
    for (const auto& [flag, value] : step.flags) {
      made.from = GB_TRY(text(value, step));
      if (made.from.empty()) {
        return at_line(step.line, ErrorCode::kInvalid, "--from names nothing");
      }
    }
    if (step.inline_file) {
      const std::string& content = step.inline_file->content;
      made.content =
          step.inline_file->expanded ? GB_TRY(text(content, step, Quotes::kKept)) : content;
      made.content_name = step.inline_file->name;
    }
    return {};
  }

  // ENTRYPOINT with CMD as its arguments, or CMD alone, if the Dockerfile has one.
  Result<void> set_start() {
    if (!entrypoint_ && !cmd_) {
      return {};
    }
    std::vector<std::string> words;
    for (const auto* const each : {&entrypoint_, &cmd_}) {
      if (!*each) {
        continue;
      }
      const std::vector<std::string> more = words_of(**each);
      words.insert(words.end(), more.begin(), more.end());
      if (each == &entrypoint_ && !(*each)->exec) {
        break;  // A shell takes no arguments of CMD.
      }
    }
    const std::size_t line = (entrypoint_ ? entrypoint_ : cmd_)->line;
    plan_.start =
        words.empty()
            ? ""
            : (directory_ == base_.home ? "" : "cd " + shell_quoted(directory_) + " && ") +
                  command_line(words);
    return plan_.start.size() > kMaxStart
               ? at_line(line, ErrorCode::kInvalid, "the command is longer than 64 KiB")
               : Result<void>();
  }

  const TemplateParts& base_;
  const Environment globals_;
  Arguments arguments_;
  StagePlan plan_;
  std::string directory_;
  std::string user_;  // As USER gives it; empty: root.
  std::vector<std::string> shell_ = {"/bin/sh", "-c"};
  std::optional<Instruction> entrypoint_;
  std::optional<Instruction> cmd_;
};

}  // namespace

Result<std::string> image_of(const dockerfile::Dockerfile& file,
                             const dockerfile::Stage& stage,
                             const Environment& args) {
  const Environment globals = GB_TRY(global_arguments(file, args));
  auto image = expand(
      stage.image, [&globals](std::string_view name) { return value_of(globals, name); },
      Quotes::kRemoved);
  if (!image) {
    return of_line(stage.from.line, image.error());
  }
  if (image->empty()) {
    return at_line(stage.from.line, ErrorCode::kInvalid, "FROM names nothing",
                   "set its variable with ARG in front of FROM, or with --build-arg");
  }
  return image;
}

Result<StagePlan> plan_stage(const dockerfile::Dockerfile& file,
                             const dockerfile::Stage& stage,
                             const TemplateParts& base,
                             const Environment& args) {
  return Planner(base, GB_TRY(global_arguments(file, args)), args).run(stage.steps);
}

}  // namespace glovebox
