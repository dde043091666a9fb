// SPDX-License-Identifier: Apache-2.0
// What a context has executed, as text for a person or as events for a program.
#pragma once

#include <string>

#include "context/notebook/notebook.h"

namespace glovebox::cli {

// Each cell with its prompt, its source and what it showed; for pictures only that there are some.
// Of the guest's control sequences only colours are left, or none without `colour`.
std::string history_text(const notebook::Notebook& history, bool colour);

// One JSON object per line: {"type":"cell","execution_count","code"}, then the cell's outputs as
// the events of an execution (docs/json.md).
std::string history_events(const notebook::Notebook& history);

}  // namespace glovebox::cli
