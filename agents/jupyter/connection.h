// SPDX-License-Identifier: Apache-2.0
// Connection: the connection file that a kernel is started with, and the sockets that it names.
//
// The transport is ipc, that is Unix sockets in a folder that only this user may enter: it needs no
// network, and nobody can guess a port.
#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace glovebox::jupyter {

enum class Channel { kShell, kControl, kStdin, kIopub };

// In the order of their numbers.
inline constexpr std::array kChannels{Channel::kShell, Channel::kControl, Channel::kStdin,
                                      Channel::kIopub};

class Connection {
 public:
  // Makes a folder below `parent`, mode 0700, with the connection file in it, mode 0600.
  static Result<Connection> create(const std::filesystem::path& parent);

  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) = delete;
  Connection(const Connection&) = delete;
  // Removes the folder with all that is in it.
  ~Connection();

  [[nodiscard]] std::string file() const { return (folder_ / "connection.json").string(); }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] std::string endpoint(Channel channel) const;

 private:
  Connection(std::filesystem::path folder, std::string key);
  [[nodiscard]] Result<void> write_file() const;

  std::filesystem::path folder_;  // Empty after a move.
  std::string key_;
};

}  // namespace glovebox::jupyter
