// SPDX-License-Identifier: Apache-2.0
// What is started with a sandbox of a template.

#include <thread>

#include "base/json/json.h"
#include "service/local/local_service.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr auto kReadyPatience = 60s;
constexpr auto kReadyPause = 200ms;

ProcessRequest bash(const std::string& command, std::string tag) {
  ProcessRequest request;
  request.command.argv = {"/bin/bash", "-c", command};
  request.tag = std::move(tag);
  return request;
}

}  // namespace

Result<void> LocalService::begin_template(const Caller& caller,
                                          const std::string& id,
                                          const TemplateParts& parts) {
  if (!parts.start.empty()) {
    ProcessRequest request = bash(parts.start, "start");
    request.start_only = true;
    (void)GB_TRY(start_process(caller, id, request));
  }
  if (parts.ready.empty()) {
    return {};
  }
  const auto deadline = std::chrono::steady_clock::now() + kReadyPatience;
  bool ready = false;
  while (!ready && std::chrono::steady_clock::now() < deadline) {
    ProcessRequest request = bash(parts.ready, "ready");
    request.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    const auto feed = GB_TRY(start_process(caller, id, request));
    GB_TRY(follow(*feed, [&ready](const ProcessEvent& event) {
      ready = event.kind == ProcessEvent::Kind::kEnded && event.exit_code == 0 && !event.signal;
      return true;
    }));
    if (!ready) {
      std::this_thread::sleep_for(kReadyPause);
    }
  }
  return {};
}

}  // namespace glovebox
