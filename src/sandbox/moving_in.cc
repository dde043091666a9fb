// SPDX-License-Identifier: Apache-2.0
#include "sandbox/moving_in.h"

#include <utility>

#include "base/frame.h"
#include "sandbox/machine.h"
#include "spec/warden_protocol.h"

namespace glovebox {

std::string moving_in_frame(const SandboxSpec& spec, policy::Filter filter) {
  warden::MoveInRequest request;
  request.filter.assign(reinterpret_cast<const char*>(filter.data()), filter.size_bytes());
  request.directories = {spec.home, "/tmp", "/dev/shm"};
  for (std::string& text : machine_texts(spec.limits)) {
    request.machine_targets.push_back(std::string("/") +
                                      kMachineFiles[request.machine_texts.size()].shown_as);
    request.machine_texts.push_back(std::move(text));
  }
  std::string bytes;
  append_frame(bytes, static_cast<std::uint8_t>(warden::Request::kMoveIn), 0, request.encode());
  return bytes;
}

}  // namespace glovebox
