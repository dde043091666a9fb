// SPDX-License-Identifier: Apache-2.0
// GuardedService's processes.
#include "service/guarded/deeds.h"
#include "service/guarded/guarded_service.h"

namespace glovebox {
namespace {

using enum Need;

}  // namespace

Result<std::unique_ptr<ProcessFeed>> GuardedService::start_process(const Caller& caller,
                                                                   std::string_view sandbox,
                                                                   const ProcessRequest& request) {
  const Deed starting = deed_of(sandbox, request, recorder_.trail());
  auto feed = recorder_.act(caller, starting, guard_.work(caller, sandbox),
                            [&]() -> Result<std::unique_ptr<ProcessFeed>> {
                              GB_TRY(policies_.process(caller, sandbox, request));
                              return inner_.start_process(caller, sandbox, request);
                            });
  return guard_.feed(caller, std::move(feed));
}

Result<std::unique_ptr<ProcessFeed>> GuardedService::attach_process(const Caller& caller,
                                                                    std::string_view sandbox,
                                                                    std::uint32_t pid) {
  GB_TRY(recorder_.allowed(caller, deed("process.attach", sandbox),
                           guard_.sandbox(caller, kRun, sandbox)));
  return guard_.feed(caller, inner_.attach_process(caller, sandbox, pid));
}

Result<std::vector<ProcessInfo>> GuardedService::processes(const Caller& caller,
                                                           std::string_view sandbox) {
  GB_TRY(recorder_.allowed(caller, deed("process.list", sandbox),
                           guard_.sandbox(caller, kLook, sandbox)));
  return inner_.processes(caller, sandbox);
}

Result<void> GuardedService::signal_process(const Caller& caller,
                                            std::string_view sandbox,
                                            std::uint32_t pid,
                                            int signal) {
  Deed signaling = freeing(deed("process.signal", sandbox));
  signaling.details = {{"pid", pid}, {"signal", signal}};
  return recorder_.act(caller, std::move(signaling), guard_.sandbox(caller, kRun, sandbox),
                       [&] { return inner_.signal_process(caller, sandbox, pid, signal); });
}

Result<void> GuardedService::write_process(const Caller& caller,
                                           std::string_view sandbox,
                                           std::uint32_t pid,
                                           std::string_view bytes) {
  // Keystrokes at a terminal, and so commands, come this way: recorded, but they wait for no disk.
  Deed writing = deed("process.input", sandbox);
  writing.details["pid"] = pid;
  if (recorder_.trail() != nullptr) {
    recorder_.trail()->add_text(writing.details, "input", bytes);
  }
  GB_TRY(recorder_.allowed(caller, writing, guard_.work(caller, sandbox)));
  GB_TRY(recorder_.remark(caller, writing));
  return inner_.write_process(caller, sandbox, pid, bytes);
}

Result<void> GuardedService::close_stdin(const Caller& caller,
                                         std::string_view sandbox,
                                         std::uint32_t pid) {
  GB_TRY(recorder_.allowed(caller, deed("process.input", sandbox),
                           guard_.sandbox(caller, kRun, sandbox)));
  return inner_.close_stdin(caller, sandbox, pid);
}

Result<void> GuardedService::resize(const Caller& caller,
                                    std::string_view sandbox,
                                    std::uint32_t pid,
                                    ProcessRequest::Terminal size) {
  GB_TRY(recorder_.allowed(caller, deed("process.resize", sandbox),
                           guard_.sandbox(caller, kRun, sandbox)));
  return inner_.resize(caller, sandbox, pid, size);
}

}  // namespace glovebox
