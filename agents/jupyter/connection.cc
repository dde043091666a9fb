// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "base/random.h"
#include "base/unique_fd.h"
#include "json_guard.h"

namespace glovebox::jupyter {
namespace {

// With the ipc transport a "port" is the end of a socket's name: <ip>-<port>.
constexpr int kHeartbeatPort = 5;

constexpr int port_of(Channel channel) { return static_cast<int>(channel) + 1; }

}  // namespace

Connection::Connection(std::filesystem::path folder, std::string key)
    : folder_(std::move(folder)), key_(std::move(key)) {}

Connection::Connection(Connection&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), key_(std::move(other.key_)) {}

Connection::~Connection() {
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
}

Result<Connection> Connection::create(const std::filesystem::path& parent) {
  std::string key = random_hex(32);
  std::string folder = (parent / "glovebox-jupyter-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return Error::from_errno("mkdtemp " + folder);
  }
  Connection connection(folder, std::move(key));
  GB_TRY(connection.write_file());
  return connection;
}

std::string Connection::endpoint(Channel channel) const {
  return "ipc://" + (folder_ / "kernel").string() + "-" + std::to_string(port_of(channel));
}

Result<void> Connection::write_file() const {
  const std::string text = to_text({{"transport", "ipc"},
                                    {"ip", (folder_ / "kernel").string()},
                                    {"shell_port", port_of(Channel::kShell)},
                                    {"control_port", port_of(Channel::kControl)},
                                    {"stdin_port", port_of(Channel::kStdin)},
                                    {"iopub_port", port_of(Channel::kIopub)},
                                    {"hb_port", kHeartbeatPort},
                                    {"signature_scheme", "hmac-sha256"},
                                    {"key", key_}});
  const UniqueFd fd(open(file().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) {
    return Error::from_errno("open " + file());
  }
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Error::from_errno("write " + file());
  }
  return {};
}

}  // namespace glovebox::jupyter
