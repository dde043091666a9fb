// SPDX-License-Identifier: Apache-2.0
// KeeperWire and its codec: a daemon that was taken over may send any bytes to the keeper, which is
// root. Whatever arrives is a value or an error, and a value that was read is written and read
// again as the same.
#include "service/keeper/wire.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/json/json.h"
#include "base/unique_fd.h"
#include "require.h"
#include "service/keeper/codec.h"

namespace {

namespace keeper = glovebox::keeper;

template <typename Read>
void read_write_read(const nlohmann::json& json, Read read) {
  const std::string written = keeper::pack(keeper::to_json(read(json)));
  const nlohmann::json again = keeper::unpack(written);
  require(!again.is_discarded());
  require(keeper::pack(keeper::to_json(read(again))) == written);
}

void read_as_each_value(const nlohmann::json& json) {
  read_write_read(json, keeper::to_environment);
  read_write_read(json, keeper::to_limits);
  read_write_read(json, keeper::to_limit_wishes);
  read_write_read(json, keeper::to_create_order);
  read_write_read(json, keeper::to_usage);
  read_write_read(json, keeper::to_context_request);
  read_write_read(json, keeper::to_context_info);
  read_write_read(json, keeper::to_execute_request);
  read_write_read(json, keeper::to_input_reply);
  read_write_read(json, keeper::to_code_place);
  read_write_read(json, keeper::to_completion);
  read_write_read(json, keeper::to_inspection);
  read_write_read(json, keeper::to_run_request);
  read_write_read(json, keeper::to_judge_request);
  read_write_read(json, keeper::to_process_request);
  read_write_read(json, keeper::to_process_info);
  read_write_read(json, keeper::to_process_event);
}

}  // namespace

// The first byte says whether the rest are frames of a connection, or the text of one message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 0) {
    read_as_each_value(keeper::unpack(input));
    (void)keeper::decode_error(input);
    return 0;
  }
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  keeper::KeeperWire wire{glovebox::UniqueFd(ends[0])};
  glovebox::UniqueFd sender(ends[1]);
  // What does not fit into the socket's buffer is left out.
  require(input.empty() || ::send(sender.get(), input.data(), input.size(), MSG_DONTWAIT) > 0);
  sender.reset();
  std::size_t taken = 0;
  for (;;) {
    const auto message = wire.receive();
    if (!message || !message.value()) {
      break;
    }
    taken += message.value()->text.size();
    read_as_each_value(keeper::unpack(message.value()->text));
  }
  require(taken <= input.size());
  return 0;
}
