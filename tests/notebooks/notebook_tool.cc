// SPDX-License-Identifier: Apache-2.0
// gb_notebook_tool: the notebook library as a filter, for tests/notebooks.
//
//   gb_notebook_tool ipynb|html|parameters [NAME=VALUE...] <in >out
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "context/notebook/html.h"
#include "context/notebook/parameters.h"
#include "context/notebook/read.h"
#include "context/notebook/write.h"

namespace {

using namespace glovebox;

Result<std::string> convert(std::string_view form,
                            const std::vector<std::string>& arguments,
                            const std::string& text) {
  notebook::Notebook document = GB_TRY(notebook::read_notebook(text));
  if (form == "html") {
    return notebook::notebook_to_html(document);
  }
  if (form == "parameters") {
    std::vector<notebook::Parameter> parameters;
    for (const std::string& argument : arguments) {
      parameters.push_back(GB_TRY(notebook::parse_parameter(argument)));
    }
    GB_TRY(notebook::inject_parameters(document, parameters));
  }
  return notebook::write_notebook(document);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: gb_notebook_tool ipynb|html|parameters [NAME=VALUE...] <in >out\n";
    return 2;
  }
  const std::string text((std::istreambuf_iterator<char>(std::cin)),
                         std::istreambuf_iterator<char>());
  const auto converted = convert(argv[1], std::vector<std::string>(argv + 2, argv + argc), text);
  if (!converted) {
    std::cerr << converted.error().message() << "\n" << converted.error().hint() << "\n";
    return 1;
  }
  std::cout << converted.value();
  return std::cout.flush() ? 0 : 1;
}
