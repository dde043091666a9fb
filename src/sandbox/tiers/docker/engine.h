// SPDX-License-Identifier: Apache-2.0
// A container engine that speaks the Docker Engine API over a Unix socket: Docker, or Podman.
//
// Anyone who may talk to that socket is root, or can become root. So only our own process does, and
// nothing of it goes inside. What the engine says comes from a program with at least our power; it
// is bounded in size and time all the same.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::docker {

struct Answer {
  int status = 0;  // Of HTTP.
  std::string body;
  std::string server{};  // The header of that name.
};

// Thread-safe: each request has a connection of its own.
class Engine {
 public:
  // The one that DOCKER_HOST names, or else the first that there is: this machine's Docker, then
  // its Podman, then this user's Docker, then this user's Podman. Asked about itself once in a
  // process; after a failure, again. kUnsupported says what is missing.
  static Result<Engine> find();

  // The one at that socket, for a sandbox that an earlier process left behind.
  static Result<Engine> at(std::string socket);

  // Sends a request and waits for the whole answer, whatever its status. `path` starts after the
  // API's version. kUnavailable if the engine does not answer within `patience`.
  [[nodiscard]] Result<Answer> ask(std::string_view method,
                                   std::string_view path,
                                   std::string_view body = {},
                                   std::string_view type = "application/json",
                                   std::chrono::seconds patience = kPatience) const;

  [[nodiscard]] const std::string& socket() const { return socket_; }
  // Whether ids inside its containers are different ones outside: because of user namespaces, or
  // because the engine is an ordinary user's.
  [[nodiscard]] bool maps_ids() const { return maps_ids_; }
  // Podman's service answers most requests as Docker does, and leaves out what it does not know.
  [[nodiscard]] bool is_podman() const { return is_podman_; }
  // Of containers that ask for none. Empty if the engine does not say; Podman is not asked.
  [[nodiscard]] const std::string& default_runtime() const { return default_runtime_; }

  static constexpr std::chrono::seconds kPatience{60};

 private:
  explicit Engine(std::string socket) : socket_(std::move(socket)) {}
  Result<void> get_to_know();

  std::string socket_;
  std::string version_;  // "/v1.41"
  std::string default_runtime_;
  bool maps_ids_ = false;
  bool is_podman_ = false;
};

// What the engine says in an answer that is not a success, after what was being attempted.
Error refusal(std::string_view attempt, const Answer& answer);

// The JSON object of an answer; kUnavailable if the answer is not one.
Result<nlohmann::json> json_of(const Answer& answer);

// A member of an object: empty, or false, if it is missing or has another type.
std::string text_of(const nlohmann::json& object, const char* name);
bool is_true(const nlohmann::json& object, const char* name);
const nlohmann::json& object_of(const nlohmann::json& object, const char* name);

}  // namespace glovebox::docker
