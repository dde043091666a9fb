// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/agent_decision.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "cli/agent/apply.h"
#include "cli/agent/caution.h"
#include "cli/agent/change_text.h"
#include "cli/daemon/whole_file.h"
#include "cli/interrupts.h"
#include "cli/output_writer.h"

namespace glovebox::cli {
namespace {

// A person sees no more than this at once; a file for the patch gets everything.
constexpr std::size_t kMostShownLines = 1'000;
constexpr std::size_t kMostShownNames = 200;

void say(const std::string& text) { write_fully(STDERR_FILENO, text + "\n"); }

std::string count_of(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

class Decision {
 public:
  Decision(const DecisionOptions& options,
           const Checkout& checkout,
           const CheckoutFiles& before,
           const Changes& changes)
      : options_(options),
        checkout_(checkout),
        before_(before),
        changes_(changes),
        terminal_(!options.for_program && ::isatty(STDIN_FILENO) == 1 &&
                  ::isatty(STDOUT_FILENO) == 1),
        // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
        colour_(::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr) {}

  Result<Decided> make(int agent_status) {
    decided_.outcome = GB_TRY(choose(agent_status));
    decided_.left_behind = changes_.left_behind;
    return std::move(decided_);
  }

 private:
  Result<Outcome> choose(int agent_status) {
    if (changes_.changes.empty() && changes_.left_behind.empty()) {
      say("glovebox: the agent changed no files");
      GB_TRY(write_patch());
      return Outcome::kUnchanged;
    }
    show_names();
    GB_TRY(write_patch());
    if (options_.diff != "-" && !options_.for_program) {
      show_patch(kMostShownLines);
    }
    if (options_.discard) {
      return Outcome::kDiscarded;
    }
    if (changes_.changes.empty()) {
      return Outcome::kKept;
    }
    if (options_.apply || !options_.branch.empty()) {
      if (agent_status != 0) {
        say("glovebox: the agent ended with status " + std::to_string(agent_status) +
            ", so nothing was applied");
        return Outcome::kKept;
      }
      return take_over();
    }
    if (!terminal_) {
      if (!options_.diff.empty() && !has_binary_) {
        return Outcome::kWritten;
      }
      say("glovebox: nothing was applied: there is no terminal to ask at");
      say("  hint: use --apply, --branch BRANCH, --diff FILE or --discard");
      return Outcome::kKept;
    }
    return ask();
  }

  // The text of the change against what is here; nothing for a file that was changed here.
  [[nodiscard]] std::optional<ChangeText> text_of(const Change& change) const {
    const auto found = before_.find(change.path);
    if (found == before_.end()) {
      return change_text(change, nullptr, "");
    }
    const auto old = content_here(checkout_.fd(), change.path, found->second);
    if (!old) {
      return std::nullopt;
    }
    return change_text(change, &found->second, *old);
  }

  void show_names() {
    std::size_t shown = 0;
    for (const Change& change : changes_.changes) {
      const auto text = text_of(change);
      const bool runs_unasked = caution_about(change.path) == Caution::kPerson;
      has_binary_ = has_binary_ || (text && text->binary);
      if (options_.for_program) {
        decided_.changes.push_back({.path = change.path,
                                    .kind = change.kind,
                                    .added = text ? text->added : 0,
                                    .removed = text ? text->removed : 0,
                                    .binary = text && text->binary,
                                    .executable = change.executable,
                                    .is_link = change.is_link,
                                    .runs_unasked = runs_unasked});
      } else if (++shown <= kMostShownNames) {
        write_fully(STDOUT_FILENO,
                    text ? shown_change(change, *text, colour_) +
                               (runs_unasked ? "  (tools run it unasked)\n" : "\n")
                         : "! " + printable(change.path) + "  was changed here meanwhile\n");
      }
    }
    if (shown > kMostShownNames) {
      write_fully(STDOUT_FILENO, "… " + count_of(shown - kMostShownNames, "more file") + "\n");
    }
    shown = 0;
    for (const LeftBehind& each : changes_.left_behind) {
      if (++shown <= kMostShownNames) {
        say("glovebox: not taken over: " + printable(each.path) + ": " + printable(each.reason));
      }
    }
    if (shown > kMostShownNames) {
      say("glovebox: not taken over: " + count_of(shown - kMostShownNames, "more file"));
    }
  }

  void show_patch(std::size_t most) {
    std::size_t left = most;
    is_cut_ = false;
    for (const Change& change : changes_.changes) {
      const auto text = text_of(change);
      if (!text) {
        continue;
      }
      if (left == 0) {
        is_cut_ = true;
        break;
      }
      std::string_view patch = text->patch;
      std::size_t end = 0;
      std::size_t lines = 0;
      while (end < patch.size() && lines < left) {
        end = std::min(patch.find('\n', end), patch.size() - 1) + 1;
        ++lines;
      }
      left -= lines;
      is_cut_ = is_cut_ || end < patch.size();
      write_fully(STDOUT_FILENO, shown_patch(patch.substr(0, end), colour_));
    }
    if (is_cut_) {
      write_fully(STDOUT_FILENO, "… the diff has more lines; --diff FILE writes all of them\n");
    }
  }

  Result<void> write_patch() const {
    if (options_.diff.empty()) {
      return {};
    }
    const auto write = [this](int fd) -> Result<void> {
      for (const Change& change : changes_.changes) {
        if (const auto text = text_of(change)) {
          write_fully(fd, text->patch);
        }
      }
      return {};
    };
    return options_.diff == "-" ? write(STDOUT_FILENO) : write_whole_file(options_.diff, write);
  }

  Result<Outcome> take_over() {
    if (options_.branch.empty()) {
      GB_TRY(apply_changes(checkout_.fd(), before_, changes_.changes));
      say("glovebox: applied " + count_of(changes_.changes.size(), "change") + " to " +
          printable(checkout_.path()));
      return Outcome::kApplied;
    }
    decided_.commit = GB_TRY(commit_changes(checkout_, changes_.changes, options_.branch,
                                            "Changes by " + options_.agent + " in a sandbox\n"));
    say("glovebox: committed " + count_of(changes_.changes.size(), "change") + " to the branch " +
        printable(options_.branch) + " (" + decided_.commit.substr(0, 12) + ")");
    return Outcome::kCommitted;
  }

  // A line that the person types; nothing at the end of input or on an interrupt.
  static std::optional<std::string> line_of_person(Interrupts& interrupts) {
    std::string line;
    for (;;) {
      std::array<pollfd, 2> watched{{{STDIN_FILENO, POLLIN, 0}, {interrupts.fd(), POLLIN, 0}}};
      (void)::poll(watched.data(), watched.size(), -1);
      if (interrupts.take() != 0) {
        return std::nullopt;
      }
      char c = 0;
      if (watched[0].revents == 0) {
        continue;
      }
      if (::read(STDIN_FILENO, &c, 1) != 1) {
        return std::nullopt;
      }
      if (c == '\n') {
        return line;
      }
      if (line.size() < 16) {
        line.push_back(c);
      }
    }
  }

  Result<Outcome> ask() {
    // Before the question: a person who sees it may interrupt us.
    Interrupts interrupts;
    for (;;) {
      const std::string question = "Apply these changes to " + printable(checkout_.path()) +
                                   "? [y]es, [n]o and discard them, " +
                                   (is_cut_ ? "show [a]ll of the diff, " : "") +
                                   "[k]eep the sandbox: ";
      write_fully(STDERR_FILENO, question);
      const auto line = line_of_person(interrupts);
      if (!line || *line == "k" || *line == "keep") {
        say(line ? "" : "\n");
        return Outcome::kKept;
      }
      if (*line == "y" || *line == "yes") {
        return take_over();
      }
      if (*line == "n" || *line == "no") {
        return Outcome::kDiscarded;
      }
      if (*line == "a" || *line == "all") {
        show_patch(SIZE_MAX);
      }
    }
  }

  const DecisionOptions& options_;
  const Checkout& checkout_;
  const CheckoutFiles& before_;
  const Changes& changes_;
  const bool terminal_;
  const bool colour_;
  bool has_binary_ = false;
  bool is_cut_ = false;
  Decided decided_;
};

// Moves the changes that must not be taken over to those left behind.
void heed_cautions(Changes& changes, bool asks_nobody) {
  std::erase_if(changes.changes, [&](const Change& change) {
    const Caution caution = caution_about(change.path);
    if (caution == Caution::kNone || (caution == Caution::kPerson && !asks_nobody)) {
      return false;
    }
    changes.left_behind.push_back(
        {.path = change.path,
         .reason = caution == Caution::kNever
                       ? "the policy 'coding-agent' refuses to write it"
                       : "tools run it unasked, and --apply asks nobody; use --branch"});
    return true;
  });
}

}  // namespace

Result<Decided> decide(const DecisionOptions& options,
                       const Checkout& checkout,
                       const CheckoutFiles& before,
                       Changes changes,
                       int agent_status) {
  heed_cautions(changes, options.apply);
  return Decision(options, checkout, before, changes).make(agent_status);
}

}  // namespace glovebox::cli
