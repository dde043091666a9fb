// SPDX-License-Identifier: Apache-2.0
// Calls whose client is asked: by code for what input() reads, by a policy whether code may run,
// and whether the sandbox keeps what a dry run has changed.
#include <functional>
#include <memory>
#include <utility>

#include "doors/mcp/dry_run.h"
#include "doors/mcp/for_person.h"
#include "doors/mcp/progress.h"
#include "doors/mcp/tools.h"

namespace glovebox::mcp {
namespace {

using Question = AskingExecution::Question;

constexpr const char* kInput = "input";
constexpr const char* kApproval = "approval";
constexpr const char* kRun = "run";
constexpr const char* kRemember = "remember";
constexpr const char* kDryRun = "dry_run";
constexpr const char* kKeep = "keep";
// Of a prompt, which the code has written: a person reads it.
constexpr std::size_t kMostPrompt = 1'000;
// Of what a policy found, and of each line of code that is shown with it.
constexpr std::size_t kMostFindings = 10;
constexpr std::size_t kMostShownLine = 160;

Json form(const std::string& message, const Json& properties) {
  return {{"message", message},
          {"requestedSchema", {{"type", "object"}, {"properties", properties}}}};
}

// A form with one field. The text begins by saying that the code asks, because code may ask for
// anything.
Json input_form(const std::string& prompt) {
  const std::string shown = for_person(prompt, kMostPrompt);
  return form(shown.find_first_not_of(' ') == std::string::npos
                  ? "Code in a sandbox asks for a line of input."
                  : "Code in a sandbox asks: " + shown,
              {{kInput, {{"type", "string"}, {"title", "Input"}}}});
}

std::string_view line_at(std::string_view code, std::uint32_t line) {
  for (std::uint32_t at = 1; at < line; ++at) {
    const std::size_t end = code.find('\n');
    if (end == std::string_view::npos) {
      return {};
    }
    code.remove_prefix(end + 1);
  }
  return code.substr(0, code.find('\n'));
}

std::string dry_run_lines(const Approval& approval) {
  if (approval.dry_run.empty()) {
    return approval.no_dry_run.empty() ? "" : "There was no dry run: " + approval.no_dry_run + "\n";
  }
  const std::string text = dry_run_changes(Json::parse(approval.dry_run, nullptr, false));
  return text.empty()
             ? "A dry run of it changed nothing; running it keeps that.\n"
             : "A dry run of it did this; running it keeps that (diffs: glovebox approve " +
                   approval.id + "):\n" + text;
}

Json dry_run_form(const Question& question) {
  const std::string text = dry_run_changes(Json::parse(question.dry_run, nullptr, false));
  return form((text.empty() ? "A dry run of code in a sandbox has changed nothing.\n"
                            : "A dry run of code in a sandbox did this:\n" + text) +
                  "Should the sandbox keep it? Otherwise it is undone.",
              {{kKeep, {{"type", "boolean"}, {"title", "Keep it"}, {"default", false}}}});
}

// What the policy found, with the lines that it is about, and what the program would be granted.
Json approval_form(const Approval& approval) {
  std::string text = "A policy asks whether this " +
                     (approval.language.empty() ? std::string() : approval.language + " ") +
                     (approval.kind == "command" ? "command" : "code") + " may run:\n";
  std::size_t told = 0;
  for (const policy::Finding& each : approval.assessment.findings) {
    if (told++ == kMostFindings) {
      text += "... and " + std::to_string(approval.assessment.findings.size() - kMostFindings) +
              " more findings (glovebox approve " + approval.id + ")\n";
      break;
    }
    text += "line " + std::to_string(each.line) + ": " + each.rule + " '" +
            for_person(each.subject, kMostShownLine) + "': " + each.reason + "\n    " +
            for_person(line_at(approval.code, each.line), kMostShownLine) + "\n";
  }
  for (const std::string& grant : approval.grants) {
    text += "It is granted: " + for_person(grant, kMostShownLine) + "\n";
  }
  text += dry_run_lines(approval);
  return form(text, {{kRun, {{"type", "boolean"}, {"title", "Run it"}, {"default", false}}},
                     {kRemember,
                      {{"type", "boolean"},
                       {"title", "Do not ask again about the same code"},
                       {"default", false}}}});
}

const char* name_of(const Question& question) {
  return question.approval ? kApproval : question.dry_run.empty() ? kInput : kDryRun;
}

Json form_of(const Question& question) {
  return question.approval          ? approval_form(*question.approval)
         : question.dry_run.empty() ? input_form(question.prompt)
                                    : dry_run_form(question);
}

// What was filled in, as an object; nothing unless the form was accepted.
std::optional<Params> filled_in(const Params& response) {
  if (text_member(response, "action") != "accept") {
    return std::nullopt;
  }
  const Params content = response.value("content", Params::object());
  return content.is_object() ? std::optional(content) : std::nullopt;
}

// The line that a response to the form brings; nothing, the end of input, if it brings none.
std::optional<std::string> line_of(const Params& response) {
  const auto content = filled_in(response);
  // A field that was left empty may be absent.
  if (content && !content->contains(kInput)) {
    return std::string();
  }
  auto line = content ? text_member(*content, kInput) : std::nullopt;
  return line && line->size() <= InputReply::kMaxValue ? line : std::nullopt;
}

bool is_ticked(const std::optional<Params>& content, const char* field) {
  const auto found = content ? content->find(field) : Params::const_iterator();
  return content && found != content->end() && found->is_boolean() && found->get<bool>();
}

void answer(AskingExecution& execution, const Question& question, const Params& response) {
  if (question.approval) {
    const auto content = filled_in(response);
    execution.decide(question.number, is_ticked(content, kRun), is_ticked(content, kRemember));
  } else if (!question.dry_run.empty() && text_member(response, "action") == "cancel") {
    execution.pass_over(question.number);
  } else if (!question.dry_run.empty()) {
    execution.conclude(question.number, is_ticked(filled_in(response), kKeep));
  } else {
    execution.answer(question.number, line_of(response));
  }
}

// For a question that the client leaves open. Somebody else can still approve, and a dry run waits.
void leave_open(AskingExecution& execution, const Question& question) {
  if (question.approval || !question.dry_run.empty()) {
    execution.pass_over(question.number);
  } else {
    execution.answer(question.number, {});
  }
}

std::string arguments_of(const ToolCall& call) { return call.call.arguments().dump(); }

// The response that asks the client, which then brings the state back; nothing when too many wait.
std::optional<Json> ask_by_response(ToolCall& call,
                                    const Question& question,
                                    std::unique_ptr<AskingExecution>& execution) {
  const auto state = call.parked.park(call.call.caller(), arguments_of(call), execution);
  if (!state) {
    return std::nullopt;
  }
  return Json{
      {"resultType", "input_required"},
      {"inputRequests",
       {{name_of(question), {{"method", "elicitation/create"}, {"params", form_of(question)}}}}},
      {"requestState", *state}};
}

// Continues until its end, or its next question for a client that is asked by a response.
Result<AskedVerdict> go_on(ToolCall& call, std::unique_ptr<AskingExecution> execution) {
  OutputProgress progress(call.call);
  AskedVerdict asked{.place = execution->place()};
  for (;;) {
    switch (execution->wait(call.call.cancellation(), progress)) {
      case AskingExecution::Stop::kEnded:
        asked.verdict = GB_TRY(execution->verdict());
        return asked;
      case AskingExecution::Stop::kCanceled:
        return Error(ErrorCode::kUnavailable, "the call was canceled");
      case AskingExecution::Stop::kAsks:
        break;
    }
    const auto question = execution->question();
    if (!question) {
      continue;  // It became moot.
    }
    if (call.call.asks_by_response()) {
      if (auto asking = ask_by_response(call, *question, execution)) {
        asked.question = *std::move(asking);
        return asked;
      }
      leave_open(*execution, *question);
      continue;
    }
    const auto response =
        call.call.ask("elicitation/create", form_of(*question), [&execution, &question] {
          return execution->ended() || !execution->asks(question->number);
        });
    if (response) {
      answer(*execution, *question, *response);
    } else {
      leave_open(*execution, *question);
    }
  }
}

// What a call tells while it lasts, and its verdict.
class Events {
 public:
  // If nobody else can approve, it does not wait for an approval.
  Events(const Call& call, bool others_approve)
      : call_(call), progress_(call), others_approve_(others_approve) {}

  // As an EventSink.
  bool take(std::string_view text) {
    if (!text.empty()) {
      Json event = told_event(text);
      const std::string type = text_of(event, "type");
      if (type == "verdict") {
        verdict_ = std::move(event);
      } else if (type == "stdout" || type == "stderr") {
        progress_.print(text_of(event, "text"));
      } else {
        const std::string note = waiting_note(event);
        unapproved_ = unapproved_ || (!others_approve_ && !note.empty());
        progress_.print(note);
      }
    }
    progress_.tell();
    return !unapproved_ && !call_.cancellation().canceled();
  }

  [[nodiscard]] bool unapproved() const { return unapproved_; }

  // Null when there was none.
  [[nodiscard]] Json verdict() && { return std::move(verdict_); }

 private:
  const Call& call_;
  OutputProgress progress_;
  const bool others_approve_;
  bool unapproved_ = false;
  Json verdict_{};
};

}  // namespace

bool is_answer(const Call& call) {
  return call.stateless() && call.params().contains("requestState");
}

Result<AskedVerdict> perform(ToolCall& call,
                             const AskingExecution::Place& place,
                             const AskingExecution::Work& work) {
  if (!call.call.client_has_forms()) {
    Events events(call.call, call.options.others_approve);
    auto done = work([&events](std::string_view event) { return events.take(event); });
    if (events.unapproved()) {
      return Error(ErrorCode::kRefused,
                   "the policy wants a person to approve this, and this client cannot ask one",
                   "do it in another way, or use a client with the capability 'elicitation'");
    }
    GB_TRY(std::move(done));
    return AskedVerdict{.place = place, .verdict = std::move(events).verdict()};
  }
  Conversation& conversation = call.call.conversation();
  std::function<void()> changed;
  if (!call.call.asks_by_response()) {
    changed = [&conversation] { conversation.wake(); };
  }
  return go_on(call, std::make_unique<AskingExecution>(
                         AskingExecution::Desks{call.service, call.options.approvals},
                         call.call.caller(), place, work, std::move(changed)));
}

Result<AskedVerdict> resume(ToolCall& call) {
  const auto state = text_member(call.call.params(), "requestState").value_or("");
  auto execution = GB_TRY(call.parked.take(call.call.caller(), arguments_of(call), state));
  const Params responses = call.call.params().value("inputResponses", Params::object());
  // A request without a response is asked again.
  if (const auto question = execution->question(); question && responses.is_object()) {
    const auto response = responses.find(name_of(*question));
    if (response != responses.end() && response->is_object()) {
      answer(*execution, *question, *response);
    }
  }
  return go_on(call, std::move(execution));
}

}  // namespace glovebox::mcp
