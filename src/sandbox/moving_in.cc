// SPDX-License-Identifier: Apache-2.0
#include "sandbox/moving_in.h"

#include "base/frame.h"
#include "sandbox/machine.h"
#include "spec/warden_protocol.h"

namespace glovebox {
namespace {

std::string frame(warden::Request type, const std::string& payload) {
  std::string bytes;
  append_frame(bytes, static_cast<std::uint8_t>(type), 0, payload);
  return bytes;
}

}  // namespace

std::string moving_in_frame(const std::string& home, policy::Filter filter) {
  warden::MoveInRequest request;
  request.filter.assign(reinterpret_cast<const char*>(filter.data()), filter.size_bytes());
  request.directories = {home, "/tmp", "/dev/shm"};
  for (const MachineFile& file : kMachineFiles) {
    request.machine_targets.push_back(std::string("/") + file.shown_as);
  }
  return frame(warden::Request::kMoveIn, request.encode());
}

std::string machine_frame(const Limits& limits) {
  return frame(warden::Request::kMachine, machine_request(limits));
}

}  // namespace glovebox
