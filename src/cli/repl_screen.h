// SPDX-License-Identifier: Apache-2.0
// ReplScreen: shows an execution's output on a terminal, or in a pipe; saves pictures as files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/colour_filter.h"
#include "spec/event.h"

namespace glovebox::cli {

class ReplScreen {
 public:
  struct Options {
    bool terminal = false;
    bool colour = false;
    std::string directory = ".";  // Where pictures go.
  };
  explicit ReplScreen(Options options) : options_(std::move(options)) {}

  void show(const Event& event);

  // The cell is over: what follows begins on a new line and without colours.
  void end_cell();

  // A line of our own, on standard error.
  void say(std::string_view text) const;

  [[nodiscard]] bool is_terminal() const { return options_.terminal; }
  [[nodiscard]] bool has_colour() const { return options_.colour; }

 private:
  struct Stream {
    int fd;
    ColourFilter filter;
    AnsiStripper stripper;
    bool in_line = false;
  };
  void print(Stream& stream, std::string_view text);
  void show_value(const Event& event);
  [[nodiscard]] bool save_picture(const Event& event);
  void save(std::string_view stem, std::string_view mime, const std::string& bytes);

  Options options_;
  Stream out_{.fd = 1, .filter = {}, .stripper = {}};
  Stream err_{.fd = 2, .filter = {}, .stripper = {}};
  std::size_t files_ = 0;
  std::uint64_t saved_ = 0;  // Bytes.
  bool full_ = false;
};

}  // namespace glovebox::cli
