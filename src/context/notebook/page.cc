// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/page.h"

#include <cstdint>

#include "base/confined/program.h"

namespace glovebox::notebook {
namespace {

using namespace std::chrono_literals;

constexpr auto kMostTime = 120s;
// A page is larger than its notebook by its style, and by the marks of highlighted code.
constexpr std::uint64_t kStyle = 16ULL << 20;
constexpr std::uint64_t kGrowth = 16;

}  // namespace

Result<void> render_page(std::string_view ipynb,
                         const std::function<Result<void>(std::string_view piece)>& write) {
  return confined::run_confined({.program = "glovebox-render",
                                 .attempt = "render the notebook",
                                 .breach = "the page cannot be rendered",
                                 .text = ipynb,
                                 .time = kMostTime,
                                 .most_written = kStyle + kGrowth * ipynb.size(),
                                 .output = write});
}

}  // namespace glovebox::notebook
