// SPDX-License-Identifier: Apache-2.0
// Notebooks: what was read is written and read again as the same, and becomes a page without a
// script of its own.
#include <cstdint>
#include <string>
#include <string_view>

#include "context/notebook/html.h"
#include "context/notebook/parameters.h"
#include "context/notebook/read.h"
#include "context/notebook/write.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox::notebook;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto parameter = parse_parameter(input.substr(0, 200))) {
    for (const std::string_view language : {"python", "r", "julia", "javascript", "bash"}) {
      (void)render_parameters(language, {*parameter});
    }
  }
  auto notebook = read_notebook(input);
  if (!notebook) {
    return 0;
  }
  const std::string written = write_notebook(*notebook);
  const auto again = read_notebook(written);
  require(again.has_value());
  require(write_notebook(*again) == written);
  const std::string page = notebook_to_html(*notebook);
  require(page.find("<script") == std::string::npos);
  require(page.find("<iframe") == std::string::npos);
  (void)inject_parameters(*notebook, {{"x", "1"}});
  return 0;
}
