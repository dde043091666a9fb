// SPDX-License-Identifier: Apache-2.0
// EventSink: receives what happens while something runs.
#pragma once

#include <functional>
#include <string_view>

namespace glovebox {

// Receives events as they happen, each one JSON object (contracts.md), the last one the verdict;
// "started" carries `execution_count` in a context. The text is empty when the request was passed
// on, which the recorder keeps to itself (service/guarded/recorder.h), and once a second while
// nothing happens, so that a door can check on its listener. Returns false if nobody listens any
// more; what runs is then interrupted.
using EventSink = std::function<bool(std::string_view json)>;

}  // namespace glovebox
