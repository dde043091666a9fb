// SPDX-License-Identifier: Apache-2.0
// DaemonClient: asks a daemon on behalf of the commands, and returns its answers as values.
//
// The daemon may be another machine's, so its answers are checked: their size, how deep they nest,
// and every type before it is used.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/json.h"
#include "base/result.h"
#include "doors/transport/client.h"

namespace CLI {
class App;
}  // namespace CLI

namespace glovebox::cli {

using Json = nlohmann::ordered_json;

// Options that all commands that use a daemon have.
struct DaemonOptionsText {
  std::string url;
  std::string key;
  std::string authorities;
  bool json = false;
};
void add_daemon_options(CLI::App& command, DaemonOptionsText& options);
// Only the options that say which daemon.
void add_daemon_address(CLI::App& command, DaemonOptionsText& options);

class DaemonClient {
 public:
  // Takes the address and key from the options, else from GLOVEBOX_URL and GLOVEBOX_API_KEY, else
  // uses the usual socket.
  static Result<DaemonClient> make(const DaemonOptionsText& options);

  // The answer to a successful request; null if it has no body. If the daemon refuses, the Error
  // has its words.
  Result<Json> ask(std::string_view method, const std::string& path, const Json& body = Json());
  // The body as it is, for what is not JSON. At most 256 MiB.
  Result<std::string> text(const std::string& path);
  // The body in pieces, if the request succeeds.
  Result<std::unique_ptr<http::ClientAnswer>> stream(std::string_view method,
                                                     const std::string& path,
                                                     const Json& body,
                                                     std::string_view accept);
  Result<Json> upload(std::string_view method,
                      const std::string& path,
                      const http::Client::BodySource& body);
  // Like stream(), after sending a body of any length.
  Result<std::unique_ptr<http::ClientAnswer>> stream_up(std::string_view method,
                                                        const std::string& path,
                                                        std::string_view accept,
                                                        const http::Client::BodySource& body);
  // Sends a few bytes as they are, on the connection of the request before.
  Result<Json> send_bytes(std::string_view method, const std::string& path, std::string_view bytes);
  Result<std::unique_ptr<http::WebSocket>> open_websocket(const std::string& path);

 private:
  explicit DaemonClient(http::ClientOptions options)
      : client_(std::make_unique<http::Client>(std::move(options))) {}

  std::unique_ptr<http::Client> client_;
};

// Reads the lines of a streamed answer: JSON objects, one a line.
class EventLines {
 public:
  explicit EventLines(std::unique_ptr<http::ClientAnswer> answer) : answer_(std::move(answer)) {}

  // Waits for more to come; kOther if `other` is readable before that.
  [[nodiscard]] http::ClientAnswer::Ready await(int other);
  // The next event; nothing at the end. kInvalid for what is not a JSON object.
  Result<std::optional<Json>> next();
  // The same without parsing, for callers that pass lines on.
  Result<std::optional<std::string>> next_line();

 private:
  std::unique_ptr<http::ClientAnswer> answer_;
  std::string in_;
  std::size_t searched_ = 0;
};

// A JSON text within bounds; kInvalid for anything else.
Result<Json> parse_answer(std::string_view text);

// Encodes a segment of a path, or a value in a query, for a URL (RFC 3986, 2.1).
std::string encode(std::string_view text);
// The same for a path: slashes stay.
std::string encode_path(std::string_view path);

// Fields of an answer: empty, 0 or false if the field is absent or of another type.
std::string text_in(const Json& object, const char* name);
std::int64_t number_in(const Json& object, const char* name);
bool flag_in(const Json& object, const char* name);
// An empty array if there is none.
const Json& list_in(const Json& object, const char* name);

}  // namespace glovebox::cli
