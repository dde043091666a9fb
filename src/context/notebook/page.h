// SPDX-License-Identifier: Apache-2.0
// A notebook as one HTML page, made by the program glovebox-render.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"

namespace glovebox::notebook {

// Renders the text of an .ipynb file, which may be anybody's: in a process without files, network
// or processes, with at most 2 GiB of memory and a minute of processor time. `write` gets the page
// in pieces; an error of it ends the rendering and is returned. Fails with kInvalid if the text is
// not a notebook or breaks the renderer, kExhausted if it takes too much, kUnsupported if the
// program is not installed; the page is then incomplete. Thread-safe; blocks until the page is
// written.
Result<void> render_page(std::string_view ipynb,
                         const std::function<Result<void>(std::string_view piece)>& write);

}  // namespace glovebox::notebook
