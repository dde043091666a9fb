// SPDX-License-Identifier: Apache-2.0
// Questions to a sandbox's name server: an answer repeats the question's id, is none itself, and
// gives an address only that leads back to a host name.
#include "egress/names.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "require.h"
#include "spec/network_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  glovebox::egress::Names names;
  const std::span asked(data, size);
  const auto answer = names.answer(asked);
  if (!answer) {
    require(size < 12 || (data[2] & 0x80U) != 0);
    return 0;
  }
  require(answer->size() >= 12 && answer->size() <= size + 16);
  require(std::equal(answer->begin(), answer->begin() + 2, data));
  require(((*answer)[2] & 0x80U) != 0);
  require(!names.answer(*answer));
  if ((*answer)[7] == 1) {
    glovebox::IpAddress address{.v4 = true};
    std::copy(answer->end() - 4, answer->end(), address.bytes.begin());
    const auto name = names.name_of(address);
    require(name && glovebox::is_host_name(*name));
    require(names.answer(asked) == answer);
  }
  return 0;
}
