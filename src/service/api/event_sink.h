// SPDX-License-Identifier: Apache-2.0
// EventSink: who is told what happens while something runs.
#pragma once

#include <functional>
#include <string_view>

namespace glovebox {

// Events as they happen, each one JSON object (contracts.md), the last one the verdict; "started"
// carries `execution_count` in a context. Empty when the request was passed on, which the recorder
// keeps to itself (service/guarded/recorder.h), and once a second while nothing happens, so that a
// door can look after its listener. False: nobody listens any more, and what runs is interrupted.
using EventSink = std::function<bool(std::string_view json)>;

}  // namespace glovebox
