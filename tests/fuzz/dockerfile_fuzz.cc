// SPDX-License-Identifier: Apache-2.0
// Dockerfiles: what is taken has a stage and lines in order, and its words expand within bounds.
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "service/dockerfile/expand.h"
#include "service/dockerfile/ignore.h"
#include "service/dockerfile/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox::dockerfile;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Lookup lookup = [](std::string_view name) { return std::string(name) + "$A"; };
  if (const auto rules = IgnoreRules::parse(text)) {
    (void)rules->ignores("a/b.c");
    (void)rules->ignores("");
  }
  const auto file = parse(text);
  if (!file) {
    require(!file.error().message().empty());
    return 0;
  }
  require(!file->stages.empty());
  std::size_t line = 0;
  for (const Stage& stage : file->stages) {
    require(stage.from.line > line);
    line = stage.from.line;
    for (const Instruction& step : stage.steps) {
      require(step.line > line);
      line = step.line;
      for (const std::string& word : step.words) {
        const auto expanded = expand(word, lookup, Quotes::kRemoved);
        require(!expanded || expanded->size() <= 64UL * 1024);
      }
    }
  }
  return 0;
}
