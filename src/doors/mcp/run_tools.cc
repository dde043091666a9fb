// SPDX-License-Identifier: Apache-2.0
// Tools that run code in an interpreter or in a sandbox of its own.
#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "doors/mcp/app.h"
#include "doors/mcp/dry_run.h"
#include "doors/mcp/tools.h"
#include "language/registry.h"

namespace glovebox::mcp {
namespace {

constexpr std::string_view kNew = "new";
constexpr std::string_view kJupyter = "jupyter:";
constexpr std::size_t kMostImages = 16;
constexpr std::size_t kMostImageBytes = 8UL << 20;
constexpr std::array<std::string_view, 4> kImages = {"image/png", "image/jpeg", "image/gif",
                                                     "image/webp"};

constexpr std::size_t kMostDisplayBytes = 1UL << 20;
struct Display {
  std::string_view type;
  std::string_view member;  // Of the structured content.
};
constexpr std::array<Display, 2> kDisplays = {{{"application/vnd.glovebox.table+json", "tables"},
                                               {"application/vnd.glovebox.chart+json", "charts"}}};

std::string without_colours(std::string_view text) { return AnsiStripper().strip(text); }

// The plots among the results; and the text of the last value.
void put_results(ToolCall& call, ToolResult& result, const Json& results) {
  std::string texts;
  std::size_t images = 0;
  std::size_t bytes = 0;
  for (const Json& each : results) {
    const auto data = each.find("data");
    if (data == each.end()) {
      continue;
    }
    bool is_image = false;
    for (const std::string_view type : kImages) {
      const std::string image = text_of(*data, type);
      if (image.empty() || is_image) {
        continue;
      }
      is_image = true;
      if (++images > kMostImages || (bytes += image.size()) > kMostImageBytes) {
        texts += "[an image of " + std::to_string(image.size()) + " bytes is not shown]\n";
      } else {
        result.add_image(image, type);
      }
    }
    const std::string text = text_of(*data, "text/plain");
    const bool is_value = each.value("main", false);
    if (!text.empty() && (is_value || !is_image)) {
      texts += text + "\n";
    }
  }
  if (!texts.empty()) {
    texts.pop_back();
  }
  put_text(call, result, "result", "", texts);
}

// Charts and tables as data, for the page that shows them; as many as there is room for.
void put_displays(ToolResult& result, const Json& results) {
  std::size_t room = kMostDisplayBytes;
  for (const Json& each : results) {
    const Json data = each.value("data", Json::object());
    for (const auto& [type, member] : kDisplays) {
      const auto shown = data.find(std::string(type));
      if (shown == data.end() || !shown->is_object()) {
        continue;
      }
      const std::size_t size = to_text(*shown).size();
      if (size <= room) {
        room -= size;
        result.data()[std::string(member)].push_back(*shown);
      }
    }
  }
}

std::string why(const Json& verdict) {
  const std::string status = text_of(verdict, "status");
  if (status == "timeout") {
    return "The time limit ended it. Pass a larger timeout, or do less at once.";
  }
  if (status == "out_of_memory") {
    return "It used more memory than the sandbox has.";
  }
  if (status == "pids_limit") {
    return "It started more processes than the sandbox may have.";
  }
  if (status == "disk_full") {
    return "The sandbox's disk is full.";
  }
  return {};
}

Result<ToolResult> result_of(ToolCall& call, const Json& verdict) {
  if (verdict.is_null()) {
    return Error(ErrorCode::kUnavailable, "the sandbox ended before there was a result",
                 "run it again");
  }
  ToolResult result;
  const std::string status = text_of(verdict, "status");
  result.data()["status"] = status;
  put_text(call, result, "stdout", "", without_colours(text_of(verdict, "stdout")));
  const Json results = verdict.value("results", Json::array());
  put_results(call, result, results);
  if (shows_apps(call.call)) {
    put_displays(result, results);
  }
  put_text(call, result, "stderr", "[stderr]\n", without_colours(text_of(verdict, "stderr")));
  if (const auto error = verdict.find("error"); error != verdict.end() && error->is_object()) {
    const std::string name = text_of(*error, "name");
    const std::string value = without_colours(text_of(*error, "value"));
    const std::string traceback = excerpt(without_colours(text_of(*error, "traceback"))).text;
    result.data()["error"] = {{"name", name},
                              {"value", excerpt(value).text},
                              {"traceback", traceback}};
    result.add_text(traceback.empty() ? name + ": " + excerpt(value).text : traceback);
  }
  put_dry_run(call, result, verdict);
  if (const auto exit = verdict.find("exit_code");
      exit != verdict.end() && exit->is_number_integer()) {
    result.data()["exit_code"] = *exit;
  }
  if (status != "ok") {
    result.fail();
    if (const std::string reason = why(verdict); !reason.empty()) {
      result.add_text(status + ": " + reason);
    }
  } else if (result.data().size() == 2) {  // The status and the exit code.
    result.add_text("(no output)");
  }
  return result;
}

Result<std::string> context_for(ToolCall& call,
                                const std::string& sandbox,
                                const Language& language,
                                const std::string& wanted) {
  if (wanted.empty() && language.id == "python") {
    return std::string(kDefaultContext);
  }
  if (wanted.empty()) {
    for (const ContextInfo& each : GB_TRY(call.service.contexts(call.call.caller(), sandbox))) {
      if (each.language == language.id && each.alive) {
        return each.id;
      }
    }
  } else if (wanted != kNew) {
    return wanted;
  }
  ContextRequest request;
  request.language = language.id;
  return GB_TRY(call.service.create_context(call.call.caller(), sandbox, request)).id;
}

// A Jupyter kernel is a language by its name alone.
Result<Language> language_of(const std::string& name) {
  if (name.starts_with(kJupyter)) {
    Language kernel;
    kernel.id = name;
    kernel.agent = {name};
    return kernel;
  }
  static const Registry registry = Registry::load(Registry::user_directories());
  // Nearly every call is in Python, and to parse its description takes as long as a short cell.
  constexpr std::string_view kPython = "python";
  static const Result<Language> python = registry.find(kPython);
  return name.empty() || name == kPython ? python : registry.find(name);
}

AskingExecution::Work fresh_run(ToolCall& call,
                                const Language& language,
                                const std::string& code,
                                std::chrono::milliseconds time) {
  RunRequest request;
  request.language = language.id;
  request.code = code;
  request.env = call.options.sandbox.env;
  request.limits = call.options.sandbox.limits;
  request.limits.wall = time;
  request.tier = call.options.sandbox.tier;
  request.network = call.options.sandbox.network;
  return [&service = call.service, caller = call.call.caller(), request = std::move(request)](
             const EventSink& sink) { return service.run(caller, request, sink); };
}

AskingExecution::Work execution(ToolCall& call,
                                const AskingExecution::Place& place,
                                ExecuteRequest request) {
  request.allow_input = call.call.client_has_forms();
  return [&service = call.service, caller = call.call.caller(), place,
          request = std::move(request)](const EventSink& sink) {
    return service.execute(caller, place.sandbox, place.context, request, sink);
  };
}

Result<ToolResult> result_of(ToolCall& call, const AskedVerdict& asked) {
  ToolResult result;
  if (!asked.question.is_null()) {
    result.ask(asked.question);
    return result;
  }
  result = GB_TRY(result_of(call, asked.verdict));
  if (!asked.place.context.empty()) {
    result.data()["context"] = asked.place.context;
  }
  if (!asked.place.sandbox.empty()) {
    call.tell_sandbox(result, asked.place.sandbox);
  }
  return result;
}

}  // namespace

Result<ToolResult> run_code(ToolCall& call) {
  ToolArguments& arguments = call.arguments;
  const std::string code = arguments.required_text("code");
  const std::string name = arguments.text("language");
  const std::string wanted = arguments.text("context");
  const bool fresh = arguments.flag("fresh");
  const bool dry_run = arguments.flag("dry_run");
  const auto time =
      arguments.seconds("timeout", call.options.most_time).value_or(call.options.time);
  const std::string named = arguments.text("sandbox");
  GB_TRY(arguments.done());
  if (is_answer(call.call)) {
    return result_of(call, GB_TRY(resume(call)));
  }
  const Language language = GB_TRY(language_of(name));
  if (fresh || (wanted.empty() && language.agent.empty())) {
    if (dry_run) {
      return Error(ErrorCode::kInvalid, "a dry run needs an interpreter: this would run fresh",
                   "leave out 'dry_run': nothing of a fresh run stays");
    }
    return result_of(call, GB_TRY(perform(call, {}, fresh_run(call, language, code, time))));
  }
  const std::string sandbox = GB_TRY(call.sandbox());
  const std::string context = GB_TRY(context_for(call, sandbox, language, wanted));
  ExecuteRequest request;
  request.code = code;
  request.limits.wall = time;
  request.dry_run.wanted = dry_run;
  const AskingExecution::Place place{.sandbox = sandbox, .context = context};
  auto asked = perform(call, place, execution(call, place, std::move(request)));
  if (!asked) {
    return asked.error().code() == ErrorCode::kConflict
               ? std::move(asked).error().with_hint(
                     "call restart for a new interpreter, or rollback to a checkpoint")
               : std::move(asked).error();
  }
  return result_of(call, *asked);
}

Result<ToolResult> install_packages(ToolCall& call) {
  PackagesRequest request;
  request.packages = call.arguments.texts("packages", 64);
  request.limits.wall = call.arguments.seconds("timeout", call.options.most_time);
  if (is_answer(call.call)) {
    return result_of(call, GB_TRY(resume(call)));
  }
  const std::string sandbox = GB_TRY(call.sandbox());
  const auto work = [&service = call.service, caller = call.call.caller(), sandbox,
                     request = std::move(request)](const EventSink& sink) {
    return service.install_packages(caller, sandbox, request, sink);
  };
  return result_of(call, GB_TRY(perform(call, {.sandbox = sandbox, .context = {}}, work)));
}

}  // namespace glovebox::mcp
