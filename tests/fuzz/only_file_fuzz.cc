// SPDX-License-Identifier: Apache-2.0
// What a compiler left in its sandbox, where the judge reads that outside.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "service/judge/only_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view archive(reinterpret_cast<const char*>(data), size);
  if (const auto found = glovebox::judge::only_file(archive)) {
    require(!found->name.empty() && found->name.find('/') == std::string::npos);
    require(found->name != "." && found->name != "..");
    require(found->mode <= 0777);
    require(found->bytes.empty() ||
            (found->bytes.data() >= archive.data() + 512 &&
             found->bytes.data() + found->bytes.size() <= archive.data() + archive.size()));
  }
  return 0;
}
