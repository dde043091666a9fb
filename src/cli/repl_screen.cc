// SPDX-License-Identifier: Apache-2.0
#include "cli/repl_screen.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/bytes.h"
#include "base/json/json.h"
#include "base/unique_fd.h"
#include "cli/output_writer.h"
#include "context/notebook/values.h"

namespace glovebox::cli {
namespace {

// How much a guest may put on the host's disk by showing it.
constexpr std::size_t kMaxFiles = 1'000;
constexpr std::uint64_t kMaxSaved = 1ULL << 30;

struct Picture {
  std::string_view mime;
  std::string_view ending;
};
// The best one first.
constexpr std::array<Picture, 6> kPictures = {{{"image/png", ".png"},
                                               {"image/jpeg", ".jpg"},
                                               {"image/svg+xml", ".svg"},
                                               {"image/gif", ".gif"},
                                               {"image/webp", ".webp"},
                                               {"application/pdf", ".pdf"}}};

std::string_view ending_of(std::string_view mime) {
  for (const Picture& picture : kPictures) {
    if (picture.mime == mime) {
      return picture.ending;
    }
  }
  return ".html";
}

// Whether indenting it makes it easier to read, and not a hundred times as long.
bool is_worth_indenting(std::string_view json) {
  constexpr std::size_t kLongest = 64UL * 1024;
  constexpr int kDeepest = 16;
  int depth = 0;
  int deepest = 0;  // Brackets in texts count as well, which does no harm.
  for (const char c : json) {
    depth += c == '[' || c == '{' ? 1 : 0;
    depth -= c == ']' || c == '}' ? 1 : 0;
    deepest = std::max(deepest, depth);
  }
  return json.size() <= kLongest && deepest <= kDeepest;
}

// What the object says of itself, unless that is only the name of the class that shows it.
std::optional<std::string> plain_text(const MimeBundle& data) {
  std::optional<std::string> text = notebook::text_of(data, "text/plain");
  if (text && !text->starts_with("<IPython.core.display.")) {
    return text;
  }
  for (const char* const mime : {"text/markdown", "text/latex"}) {
    if (auto source = notebook::text_of(data, mime)) {
      return source;
    }
  }
  if (const auto json = data.find("application/json"); json != data.end()) {
    return nlohmann::json::parse(json->second, nullptr, false)
        .dump(is_worth_indenting(json->second) ? 2 : -1, ' ', false,
              nlohmann::json::error_handler_t::replace);
  }
  return data.contains("text/html") ? std::nullopt : text;
}

}  // namespace

void ReplScreen::print(Stream& stream, std::string_view text) {
  std::string shown(text);
  if (options_.terminal && options_.colour) {
    shown = stream.filter.pass(text);
  } else if (options_.terminal) {
    shown = stream.stripper.strip(text);
  }
  if (!shown.empty()) {
    write_fully(stream.fd, shown);
    stream.in_line = shown.back() != '\n';
  }
}

void ReplScreen::say(std::string_view text) const {
  write_fully(STDERR_FILENO, std::string(text) + "\n");
}

void ReplScreen::end_cell() {
  for (Stream* const stream : {&out_, &err_}) {
    if (options_.terminal && options_.colour) {
      write_fully(stream->fd, "\x1b[0m");
    }
    if (options_.terminal && stream->in_line) {
      write_fully(stream->fd, "\n");
    }
    stream->in_line = false;
    stream->filter = {};
    stream->stripper = {};
  }
}

void ReplScreen::show(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kStdout:
      print(out_, event.text);
      return;
    case Event::Kind::kStderr:
      print(err_, event.text);
      return;
    case Event::Kind::kDisplay:
    case Event::Kind::kResult:
      show_value(event);
      return;
    case Event::Kind::kError: {
      std::string text = event.error.traceback.empty() ? event.error.name + ": " + event.error.value
                                                       : event.error.traceback;
      if (!options_.colour) {
        AnsiStripper stripper;
        text = stripper.strip(text);
      }
      print(err_, (err_.in_line ? "\n" : "") + text + (text.ends_with('\n') ? "" : "\n"));
      return;
    }
    default:
      return;
  }
}

void ReplScreen::show_value(const Event& event) {
  if (out_.in_line) {
    print(out_, "\n");
  }
  if (save_picture(event)) {
    return;
  }
  const std::optional<std::string> text = plain_text(event.data);
  if (!text) {
    if (const auto page = notebook::text_of(event.data, "text/html")) {
      save("result", "text/html", *page);
    }
    return;
  }
  std::string head;
  if (options_.terminal && event.kind == Event::Kind::kResult) {
    head = "Out[" + std::to_string(event.execution_count) + "]: ";
    if (options_.colour) {
      head = "\x1b[31m" + head + "\x1b[0m";
    }
    // Begin text with several lines on a new line, so that its columns stay aligned.
    head += text->find('\n') == std::string::npos ? "" : "\n";
  }
  print(out_, head + *text + (text->ends_with('\n') ? "" : "\n"));
}

bool ReplScreen::save_picture(const Event& event) {
  for (const Picture& picture : kPictures) {
    if (const auto bytes = notebook::bytes_of(event.data, picture.mime); bytes && !bytes->empty()) {
      save("plot", picture.mime, *bytes);
      return true;
    }
  }
  return false;
}

void ReplScreen::save(std::string_view stem, std::string_view mime, const std::string& bytes) {
  if (files_ >= kMaxFiles || saved_ + bytes.size() > kMaxSaved) {
    if (!full_) {
      say("glovebox: no more files will be saved: the limit is 1,000 files or 1 GiB per session");
      full_ = true;
    }
    return;
  }
  (void)::mkdir(options_.directory.c_str(), 0777);
  for (int number = 1; number < 1'000'000; ++number) {
    const std::string name =
        std::string(stem) + "-" + std::to_string(number) + std::string(ending_of(mime));
    const std::string path = options_.directory == "." ? name : options_.directory + "/" + name;
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd && errno == EEXIST) {
      continue;
    }
    if (!fd) {
      say("glovebox: " + Error::from_errno("save '" + path + "'").message() +
          "\n  hint: choose a writable directory with --save");
      return;
    }
    write_fully(fd.get(), bytes);
    ++files_;
    saved_ += bytes.size();
    print(out_,
          "[" + path + ": " + std::string(mime) + ", " + to_string(Bytes{bytes.size()}) + "]\n");
    return;
  }
}

}  // namespace glovebox::cli
