// SPDX-License-Identifier: Apache-2.0
// glovebox-jupyter-agent: lets any Jupyter kernel serve as a context (agents/README.md).
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "agent.h"
#include "base/random.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::jupyter {
namespace {

constexpr int kOutsideFd = 3;
constexpr std::size_t kInlineDefault = 8U << 20;
constexpr std::chrono::seconds kStartTimeout(120);

constexpr std::string_view kUsage =
    "usage: glovebox-jupyter-agent --kernel NAME | --spec FILE\n"
    "Started by glovebox with a socket as file descriptor 3.\n";

std::string_view variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

std::size_t inline_limit() {
  const std::string_view text = variable("GLOVEBOX_INLINE");
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  return error == std::errc() && end == text.data() + text.size() ? limit : kInlineDefault;
}

Result<Kernelspec> requested_kernelspec(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "--kernel") {
    return find_kernelspec(arguments[1],
                           kernel_folders(variable("JUPYTER_PATH"), variable("HOME")));
  }
  if (arguments.size() == 2 && arguments[0] == "--spec") {
    return load_kernelspec(arguments[1]);
  }
  return Error(ErrorCode::kInvalid, "invalid arguments", std::string(kUsage));
}

// From here on these signals only come as bytes.
Result<UniqueFd> take_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGCHLD}) {
    sigaddset(&signals, number);
  }
  if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) {
    return Error::from_errno("sigprocmask");
  }
  UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) {
    return Error::from_errno("signalfd");
  }
  return fd;
}

Result<int> run(const std::vector<std::string>& arguments) {
  Outside outside = GB_TRY(Outside::open(UniqueFd(kOutsideFd)));
  UniqueFd signals = GB_TRY(take_signals());
  AgentOptions options;
  options.spec = GB_TRY(requested_kernelspec(arguments));
  options.inline_limit = inline_limit();
  options.start_timeout = kStartTimeout;
  const Connection connection = GB_TRY(Connection::create("/tmp"));
  const std::string session = random_hex(16);
  // Before ZeroMQ starts its thread.
  KernelProcess kernel = GB_TRY(
      KernelProcess::start(options.spec.command(connection.file()), options.spec.environment));
  Agent agent(std::move(options), std::move(outside), std::move(signals), std::move(kernel),
              connection, session);
  return agent.run();
}

}  // namespace
}  // namespace glovebox::jupyter

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    const auto status = glovebox::jupyter::run(arguments);
    if (status) {
      return *status;
    }
    std::fprintf(stderr, "glovebox-jupyter-agent: %s\n%s", status.error().message().c_str(),
                 status.error().hint().c_str());
  } catch (const zmq::error_t& error) {
    std::fprintf(stderr, "glovebox-jupyter-agent: ZeroMQ: %s\n", error.what());
  }
  return 1;
}
