// SPDX-License-Identifier: Apache-2.0
#include "cli/repl_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <utility>

#include "base/unique_fd.h"
#include "cli/line_painter.h"
#include "cli/output_writer.h"
#include "cli/repl_commands.h"

namespace glovebox::cli {
namespace {

constexpr int kMaxHistory = 2'000;
constexpr std::string_view kPasteBegin = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";

// Marks the prompt's colours, which take no room in the line.
constexpr char kInvisible = '\1';

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::size_t prompt_columns(std::string_view prompt) {
  std::string visible;
  bool hidden = false;
  for (const char c : prompt) {
    if (c == kInvisible) {
      hidden = !hidden;
    } else if (!hidden) {
      visible += c;
    }
  }
  return count_characters(visible);
}

ScreenSize window_size() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0
             ? ScreenSize{.columns = size.ws_col, .rows = size.ws_row}
             : ScreenSize();
}

// What the editor takes for the size of the window.
ScreenSize editor_size(EditLine* editor) {
  int columns = 0;
  int rows = 0;
  std::array<char, 3> co{"co"};
  std::array<char, 3> li{"li"};
  (void)::el_get(editor, EL_GETTC, co.data(), &columns);
  (void)::el_get(editor, EL_GETTC, li.data(), &rows);
  return {.columns = static_cast<std::size_t>(std::max(0, columns)),
          .rows = static_cast<std::size_t>(std::max(0, rows))};
}

bool is_blank_text(std::string_view text) {
  return text.find_first_not_of(" \t\n") == std::string_view::npos;
}

std::string common_prefix(const std::vector<std::string>& words) {
  std::string prefix = words.front();
  for (const std::string& word : words) {
    const auto differ = std::ranges::mismatch(prefix, word);
    prefix.erase(differ.in1, prefix.end());
  }
  // Not in the middle of a character.
  while (!prefix.empty() && prefix.size() < words.front().size() &&
         (static_cast<unsigned char>(words.front()[prefix.size()]) & 0xc0U) == 0x80U) {
    prefix.pop_back();
  }
  return prefix;
}

// The bytes of the character that begins with this one.
std::size_t character_size(unsigned char first) {
  return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

wchar_t decode(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes.front());
  if (bytes.size() == 1) {
    return static_cast<wchar_t>(first);
  }
  std::uint32_t code = first & (0xffU >> (bytes.size() + 1));
  for (const char c : bytes.substr(1)) {
    code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
  }
  return static_cast<wchar_t>(code);
}

ReplEditor* owner_of(EditLine* editor) {
  void* owner = nullptr;
  (void)::el_get(editor, EL_CLIENTDATA, &owner);
  return static_cast<ReplEditor*>(owner);
}

}  // namespace

ReplEditor::ReplEditor(Interrupts& interrupts, std::string history_file)
    : interrupts_(interrupts), history_(::history_init()), history_file_(std::move(history_file)) {
  // Without it the editor would count bytes as columns.
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) {
    (void)std::setlocale(LC_CTYPE, "C.UTF-8");
  }
  HistEvent event{};
  (void)::history(history_, &event, H_SETSIZE, kMaxHistory);
  (void)::history(history_, &event, H_SETUNIQUE, 1);
  if (!history_file_.empty()) {
    // The editor's library would at first make it readable for everybody.
    const UniqueFd made(
        ::open(history_file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!made || ::fchmod(made.get(), 0600) != 0) {
      history_file_.clear();
    } else {
      (void)::history(history_, &event, H_LOAD, history_file_.c_str());
    }
  }
  editor_ = ::el_init("glovebox", stdin, stdout, stderr);
  (void)::el_set(editor_, EL_CLIENTDATA, this);
  (void)::el_set(editor_, EL_SIGNAL, 0);
  (void)::el_set(editor_, EL_EDITOR, "emacs");
  (void)::el_set(editor_, EL_HIST, ::history, history_);
  (void)::el_set(editor_, EL_PROMPT_ESC, &ReplEditor::prompt_of, kInvisible);
  (void)::el_set(editor_, EL_GETCFN, &ReplEditor::read_character);
  (void)::el_set(editor_, EL_ADDFN, "glovebox-complete", "Complete code", &ReplEditor::on_tab);
  (void)::el_set(editor_, EL_ADDFN, "glovebox-newline", "Insert a new line",
                 &ReplEditor::on_newline);
  (void)::el_set(editor_, EL_BIND, "^I", "glovebox-complete", nullptr);
  (void)::el_set(editor_, EL_BIND, "^J", "glovebox-newline", nullptr);
  (void)::el_set(editor_, EL_BIND, "\\e^M", "glovebox-newline", nullptr);
  (void)::el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  (void)::el_set(editor_, EL_BIND, "\\e[1;5D", "ed-prev-word", nullptr);
  (void)::el_set(editor_, EL_BIND, "\\e[1;5C", "em-next-word", nullptr);
  (void)::el_source(editor_, nullptr);
}

ReplEditor::~ReplEditor() {
  HistEvent event{};
  if (!history_file_.empty()) {
    (void)::history(history_, &event, H_SAVE, history_file_.c_str());
  }
  ::el_end(editor_);
  ::history_end(history_);
}

void ReplEditor::remember(const std::string& cell) {
  HistEvent event{};
  (void)::history(history_, &event, H_ENTER, cell.c_str());
}

char* ReplEditor::prompt_of(EditLine* editor) { return owner_of(editor)->prompt_.data(); }

int ReplEditor::read_character(EditLine* editor, wchar_t* character) {
  return owner_of(editor)->next_character(character);
}

unsigned char ReplEditor::on_tab(EditLine* editor, int /*key*/) {
  return owner_of(editor)->complete_here();
}

unsigned char ReplEditor::on_newline(EditLine* editor, int /*key*/) {
  return ::el_insertstr(editor, "\n") == 0 ? CC_REFRESH : CC_ERROR;
}

ReplEditor::Line ReplEditor::read_code(const std::string& prompt,
                                       const std::string& before,
                                       const std::string& indent) {
  prompt_ = prompt;
  before_ = before;
  // Text that is pasted or typed ahead has its own indent.
  pollfd waiting{STDIN_FILENO, POLLIN, 0};
  if (!indent.empty() && pending_.empty() && ::poll(&waiting, 1, 0) == 0) {
    ::el_push(editor_, indent.c_str());
  }
  return read_line();
}

ReplEditor::Line ReplEditor::read_line() {
  // Before the prompt asks for keys: the terminal would take ^D for its own until then, and give us
  // a NUL (termios(3), VEOF).
  (void)::el_set(editor_, EL_PREP_TERM, 1);
  write_fully(STDOUT_FILENO, "\x1b[?2004h");
  fit_window();
  interrupted_ = false;
  int size = 0;
  const char* const text = ::el_gets(editor_, &size);
  write_fully(STDOUT_FILENO, "\x1b[?2004l");
  if (text == nullptr || size <= 0 || interrupted_) {
    write_fully(STDOUT_FILENO, interrupted_ ? "^C\n" : "\n");
    return {.end = interrupted_ ? Line::End::kInterrupted : Line::End::kEnd, .text = {}};
  }
  Line line{.end = Line::End::kEntered, .text = std::string(text, static_cast<std::size_t>(size))};
  if (line.text.ends_with('\n')) {
    line.text.pop_back();
  }
  return line;
}

std::optional<std::string> ReplEditor::read_answer(const std::string& prompt, bool secret) {
  termios before{};
  const bool hidden = secret && ::tcgetattr(STDIN_FILENO, &before) == 0;
  answering_ = true;
  Line line;
  if (hidden) {
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &silent);
    write_fully(STDOUT_FILENO, prompt);
    wchar_t character = 0;
    while (next_character(&character) == 1 && character != L'\n' && character != L'\r') {
      std::array<char, MB_LEN_MAX> bytes{};
      std::mbstate_t state{};
      const std::size_t got = std::wcrtomb(bytes.data(), character, &state);
      line.text.append(bytes.data(), got <= bytes.size() ? got : 0);
    }
    line.end = character == L'\n' || character == L'\r' ? Line::End::kEntered : Line::End::kEnd;
    (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    write_fully(STDOUT_FILENO, "\n");
  } else {
    prompt_ = prompt;
    line = read_line();
  }
  answering_ = false;
  return line.end == Line::End::kEntered ? std::optional(line.text) : std::nullopt;
}

// The window may have changed its size since the last line.
void ReplEditor::fit_window() {
  const ScreenSize seen = window_size();
  if (seen.columns > 0 && seen.rows > 0 && seen != editor_size(editor_)) {
    ::el_resize(editor_);
  }
}

void ReplEditor::paint() const {
  constexpr std::size_t kMostCode = 65'536;
  const ScreenSize window = window_size();
  const ScreenSize screen = editor_size(editor_);
  const LineInfo* const line = ::el_line(editor_);
  const std::string_view text(line->buffer,
                              static_cast<std::size_t>(line->lastchar - line->buffer));
  // A resized window shows the line elsewhere than the editor thinks.
  const bool has_changed = window.columns > 0 && window != screen;
  if (!colour || answering_ || text.empty() || has_changed ||
      before_.size() + text.size() > kMostCode) {
    return;
  }
  std::vector<ColouredPart> parts;
  if (!before_.empty() || text.front() != ':') {
    for (ColouredPart part : colour(before_ + std::string(text))) {
      if (part.end > before_.size()) {
        part.begin = std::max(part.begin, before_.size()) - before_.size();
        part.end -= before_.size();
        parts.push_back(part);
      }
    }
  }
  if (const auto painted =
          paint_line({.prompt = prompt_columns(prompt_),
                      .text = text,
                      .cursor = static_cast<std::size_t>(line->cursor - line->buffer)},
                     parts, screen)) {
    write_fully(STDOUT_FILENO, *painted);
  }
}

// True when there is something pending; false at the end and on an interrupt.
bool ReplEditor::fill() {
  if (pending_.empty()) {
    paint();
  }
  while (pending_.empty()) {
    std::array<pollfd, 2> polled = {{{STDIN_FILENO, POLLIN, 0}, {interrupts_.fd(), POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return false;
    }
    if (polled[1].revents != 0) {
      interrupted_ = true;
      if (!answering_) {
        interrupted_ = interrupts_.take() == SIGINT;
      }
      return false;
    }
    std::array<char, 4096> bytes;
    if (polled[0].revents != 0) {
      const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (got <= 0) {
        return false;
      }
      pending_.append(bytes.data(), static_cast<std::size_t>(got));
    }
  }
  return true;
}

// Takes the marks that a terminal puts around what is pasted, even when they come in pieces.
void ReplEditor::take_paste_mark() {
  const std::string_view mark = pasting_ ? kPasteEnd : kPasteBegin;
  while (pending_.size() < mark.size() && pending_.size() > 2 && mark.starts_with(pending_)) {
    pollfd polled{STDIN_FILENO, POLLIN, 0};
    std::array<char, 16> bytes;
    if (::poll(&polled, 1, 50) <= 0) {
      return;
    }
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got <= 0) {
      return;
    }
    pending_.append(bytes.data(), static_cast<std::size_t>(got));
  }
  if (pending_.starts_with(mark)) {
    pending_.erase(0, mark.size());
    pasting_ = !pasting_;
  }
}

int ReplEditor::next_character(wchar_t* character) {
  for (;;) {
    if (!fill()) {
      errno = interrupted_ ? EINTR : 0;
      return interrupted_ ? -1 : 0;
    }
    take_paste_mark();
    if (pending_.empty()) {
      continue;
    }
    const std::size_t size =
        std::min(character_size(static_cast<unsigned char>(pending_.front())), pending_.size());
    *character = decode(std::string_view(pending_).substr(0, size));
    pending_.erase(0, size);
    const bool line_end = *character == L'\n' || *character == L'\r';
    if (!pasting_) {
      // Enter comes as either; here only Alt-Enter and pasting begin a line.
      *character = line_end ? L'\r' : *character;
      return 1;
    }
    if (line_end) {
      *character = L'\n';
    } else if (*character == L'\t') {
      *character = L' ';
      pending_.insert(0, 3, ' ');
    } else if (*character < 0x20 || *character == 0x7f) {
      continue;
    }
    return 1;
  }
}

unsigned char ReplEditor::complete_here() {
  const LineInfo* const line = ::el_line(editor_);
  const std::string head(line->buffer, static_cast<std::size_t>(line->cursor - line->buffer));
  const std::size_t last_line = head.rfind('\n') + 1;
  if (answering_ || is_blank_text(head.substr(last_line))) {
    return ::el_insertstr(editor_, "    ") == 0 ? CC_REFRESH : CC_ERROR;
  }
  const std::string code = before_ + head;
  const std::size_t cursor = count_characters(code);
  ReplEngine::Completions found;
  if (before_.empty() && head.front() == ':' && head.find(' ') == std::string::npos) {
    for (std::string& name : command_names()) {
      if (name.starts_with(head)) {
        found.matches.push_back(std::move(name));
      }
    }
  } else if (complete) {
    found = complete(code, cursor);
  }
  if (found.matches.empty()) {
    return CC_REFRESH_BEEP;
  }
  // Text in an earlier line stays.
  const std::size_t typed = cursor - found.start;
  const std::string prefix = common_prefix(found.matches);
  if (typed <= count_characters(head) && count_characters(prefix) > typed) {
    ::el_deletestr(editor_, static_cast<int>(typed));
    return ::el_insertstr(editor_, prefix.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }
  if (found.matches.size() == 1) {
    return CC_REFRESH;
  }
  list(found.matches);
  return CC_REDISPLAY;
}

void ReplEditor::list(const std::vector<std::string>& matches) const {
  winsize size{};
  const std::size_t width =
      ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  std::size_t longest = 0;
  for (const std::string& match : matches) {
    longest = std::max(longest, count_characters(match));
  }
  const std::size_t columns = std::max<std::size_t>(1, width / (longest + 2));
  std::string text = "\n";
  for (std::size_t at = 0; at < matches.size(); ++at) {
    const bool last = at % columns == columns - 1 || at + 1 == matches.size();
    text += matches[at];
    text += last ? "\n" : std::string(longest + 2 - count_characters(matches[at]), ' ');
  }
  write_fully(STDOUT_FILENO, text);
}

}  // namespace glovebox::cli
