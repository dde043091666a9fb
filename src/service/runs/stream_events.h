// SPDX-License-Identifier: Apache-2.0
// One of a guest's streams as events.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/text.h"
#include "spec/verdict.h"

namespace glovebox {

// Passes the stream on as it comes, within the output limit: the head at once, the rest, cut in the
// middle, at the end. Characters that are cut in two by the guest's writes stay whole.
class StreamEvents {
 public:
  using Emit = std::function<void(std::string event)>;

  // `stream` is "stdout" or "stderr".
  StreamEvents(std::string stream, Bytes limit, bool strip_ansi, Emit emit);

  void pass(std::string_view bytes);
  // The part of `captured` that was not passed on yet.
  void finish(const Captured& captured);

 private:
  void print(std::string_view bytes, bool last);

  std::string stream_;
  std::size_t head_;
  std::size_t passed_ = 0;
  bool strip_;
  AnsiStripper stripper_;
  std::string held_;
  Emit emit_;
};

}  // namespace glovebox
