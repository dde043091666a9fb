// SPDX-License-Identifier: Apache-2.0
// A notebook as one HTML page, made by the program glovebox-render.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"

namespace glovebox::notebook {

// Renders the text of an .ipynb file, which may be anybody's: in a process without files, network
// or processes, with at most 2 GiB of memory and a minute of processor time. `write` gets the page
// in pieces; an error of it ends the rendering and is returned. Fails with kInvalid for what is no
// notebook or breaks the renderer, kExhausted for what takes too much, kUnsupported where the
// program is not installed; the page is then incomplete. Thread-safe; takes as long as it takes.
Result<void> render_page(std::string_view ipynb,
                         const std::function<Result<void>(std::string_view piece)>& write);

}  // namespace glovebox::notebook
