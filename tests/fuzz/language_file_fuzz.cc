// SPDX-License-Identifier: Apache-2.0
// The parser of language files: any text either becomes a language that can be planned, or is
// refused with its place and the mend.
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include "language/language.h"
#include "require.h"

namespace {

using namespace glovebox;

// "any.toml:12:3: ..."
bool names_its_place(std::string_view message) {
  constexpr std::string_view kFile = "any.toml:";
  if (!message.starts_with(kFile)) {
    return false;
  }
  std::string_view rest = message.substr(kFile.size());
  for (int number = 0; number < 2; ++number) {
    std::size_t digits = 0;
    while (digits < rest.size() && std::isdigit(static_cast<unsigned char>(rest[digits])) != 0) {
      ++digits;
    }
    if (digits == 0 || digits == rest.size() || rest[digits] != ':') {
      return false;
    }
    rest.remove_prefix(digits + 1);
  }
  return !rest.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto language = parse_language(text, "any.toml");
  if (!language) {
    require(language.error().code() == ErrorCode::kInvalid);
    require(names_its_place(language.error().message()));
    require(!language.error().hint().empty());
    return 0;
  }
  require(size <= kMaxLanguageFile);
  const Language& found = language.value();
  require(!found.id.empty());
  require(!found.run.empty());
  require(!found.file_name.empty() && found.file_name.find('/') == std::string::npos);
  require(found.file_name != "." && found.file_name != "..");

  const Plan plan =
      make_plan(found, {.code = text, .name = "dir/../x.mjs"}, {"{file}", ""}, Limits{}, Limits{});
  require(!plan.file_name.empty() && plan.file_name.find('/') == std::string::npos);
  require(plan.run.argv.size() >= 3);
  require(plan.run.argv[plan.run.argv.size() - 2] == "{file}");
  require(plan.compile.has_value() == !found.compile.empty());
  return 0;
}
