// SPDX-License-Identifier: Apache-2.0
// Parameters: values put into a notebook before it runs, by papermill's convention.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "context/notebook/notebook.h"

namespace glovebox::notebook {

// A name and the JSON text of its value.
using Parameter = std::pair<std::string, std::string>;

// Reads "name=value". A value that is JSON is taken as such, anything else as a text: `n=3` is a
// number, `name=Ada` and `name="Ada"` are texts.
[[nodiscard]] Result<Parameter> parse_parameter(std::string_view argument);

// Inserts a code cell, tagged `injected-parameters`, that assigns the values. It goes after the
// cell tagged `parameters`, or first if there is none, and replaces one injected before. The
// notebook's language must be Python, R, Julia, JavaScript or Bash.
[[nodiscard]] Result<void> inject_parameters(Notebook& notebook,
                                             const std::vector<Parameter>& parameters);

// The assignments in a language, one a line. Exposed for contexts without a notebook.
[[nodiscard]] Result<std::string> render_parameters(std::string_view language,
                                                    const std::vector<Parameter>& parameters);

}  // namespace glovebox::notebook
