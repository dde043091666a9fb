// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/act_records.h"

#include <mutex>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "sandbox/call_watch.h"

namespace glovebox::keeper {
namespace {

Happening happening_of(const GuestAct& act) {
  nlohmann::json details = nlohmann::json::object();
  if (!act.by.empty()) {
    details["by"] = to_utf8(act.by);
  }
  if (act.more > 0) {
    details["more"] = act.more;
  }
  if (!act.words.empty()) {
    std::string command;
    for (const std::string& word : act.words) {
      command += to_utf8(word) + '\0';
    }
    details["command"] = std::move(command);
  }
  const bool is_program = act.kind == GuestAct::Kind::kProgram;
  return {.action = is_program ? "program.start" : "call.refused",
          .subject = to_utf8(act.name),
          .result = !is_program   ? "refused"
                    : act.missing ? "missing"
                                  : "asked",
          .details = details.dump()};
}

// Guests may end after the keeper that they are noted for.
struct Notes {
  std::mutex mutex;
  bool stopped = false;
};
Notes& notes() {
  static auto* const kNotes = new Notes;
  return *kNotes;
}

}  // namespace

bool note_acts(Happenings& happenings, const std::string& tenant, std::string_view sandbox) {
  return tell_acts(sandbox, [&happenings, tenant, id = std::string(sandbox)](const GuestAct& act) {
    Happening made = happening_of(act);
    made.tenant = tenant;
    made.sandbox = id;
    const std::scoped_lock lock(notes().mutex);
    if (!notes().stopped) {
      happenings.note(std::move(made));
    }
  });
}

void note_unwatched(Happenings& happenings,
                    const std::string& tenant,
                    std::string_view sandbox,
                    std::string_view tier) {
  if (calls_are_watched()) {
    happenings.note({.tenant = tenant,
                     .sandbox = std::string(sandbox),
                     .action = "watch.none",
                     .subject = std::string(tier),
                     .result = "unknown"});
  }
}

void stop_noting_acts() {
  const std::scoped_lock lock(notes().mutex);
  notes().stopped = true;
}

}  // namespace glovebox::keeper
