// SPDX-License-Identifier: Apache-2.0
// Questions: the requests that have one answer and change nothing (complete, inspect, is_complete,
// fetch, …), from frame to Jupyter and back.
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "channels.h"
#include "mime_values.h"
#include "outside.h"
#include "wire.h"

namespace glovebox::jupyter {

class Questions {
 public:
  // How many we keep at most, if the kernel answers none of them.
  static constexpr std::size_t kMaxAsked = 64;

  Questions(Outside& outside, Channels& channels, RequestMaker& maker, MimeValues& values)
      : outside_(outside), channels_(channels), maker_(maker), values_(values) {}

  // Takes one of the frames 3 to 8, and answers it at once or when the kernel does.
  void handle_request(const Request& request);

  // Takes a reply on the shell channel; drops it if it answers none of our requests.
  void handle_reply(const Message& reply);

 private:
  struct Asked {
    std::string id;
    FrameType type = FrameType::kComplete;
    std::uint32_t channel = 0;
    std::int64_t cursor = 0;
  };

  void ask(FrameType type, std::uint32_t channel, const Json& request);
  [[nodiscard]] Json translate(const Asked& asked, const Json& content);
  void answer(std::uint32_t channel, const Json& payload);

  Outside& outside_;
  Channels& channels_;
  RequestMaker& maker_;
  MimeValues& values_;
  std::list<Asked> asked_;  // The oldest first.
};

}  // namespace glovebox::jupyter
