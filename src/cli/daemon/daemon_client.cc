// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/daemon_client.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "cli/daemon/data_directory.h"
#include "context/notebook/json_bounds.h"

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostAnswer = 64UL << 20;
constexpr std::size_t kMostText = 256UL << 20;
constexpr std::size_t kMostProblem = 64UL * 1024;
constexpr std::size_t kMostDepth = 64;
constexpr std::size_t kMostValues = 4'000'000;
constexpr std::chrono::milliseconds kLook{60'000};

std::string variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

ErrorCode code_of(int status) {
  switch (status) {
    case 401:
    case 403:
      return ErrorCode::kRefused;
    case 404:
    case 410:  // It was there before.
      return ErrorCode::kNotFound;
    case 409:
      return ErrorCode::kConflict;
    case 413:
    case 429:
      return ErrorCode::kExhausted;
    case 501:
      return ErrorCode::kUnsupported;
    case 502:
    case 503:
      return ErrorCode::kUnavailable;
    default:
      return status < 500 ? ErrorCode::kInvalid : ErrorCode::kInternal;
  }
}

Error problem_of(http::ClientAnswer& answer) {
  const int status = answer.status();
  const auto text = answer.read_all(kMostProblem);
  const auto json = text ? parse_answer(*text) : Result<Json>(Json());
  const std::string message = json ? text_in(*json, "message") : std::string();
  const std::string hint = status == 401
                               ? "pass an API key with --key or GLOVEBOX_API_KEY; the first key "
                                 "is in the file api-key in the daemon's data directory"
                           : json ? text_in(*json, "hint")
                                  : std::string();
  return {code_of(status),
          message.empty() ? "the daemon returned status " + std::to_string(status) : message, hint};
}

bool is_good(const http::ClientAnswer& answer) {
  return answer.status() >= 200 && answer.status() < 300;
}

Result<Json> json_of(http::ClientAnswer& answer) {
  if (!is_good(answer)) {
    return problem_of(answer);
  }
  const std::string text = GB_TRY(answer.read_all(kMostAnswer));
  return text.empty() ? Result<Json>(Json()) : parse_answer(text);
}

const Json* find(const Json& object, const char* name) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

void add_daemon_address(CLI::App& command, DaemonOptionsText& options) {
  constexpr const char* kDaemon = "Daemon";
  command
      .add_option("--url", options.url,
                  "Daemon address: http://HOST:PORT, https://HOST:PORT or unix:PATH "
                  "(GLOVEBOX_URL) [default: the socket of 'glovebox serve' on this machine]")
      ->type_name("URL")
      ->group(kDaemon);
  command.add_option("--key", options.key, "API key (GLOVEBOX_API_KEY)")
      ->type_name("KEY")
      ->group(kDaemon);
  command
      .add_option("--cacert", options.authorities,
                  "PEM file of trusted certificate authorities, for https://")
      ->type_name("FILE")
      ->group(kDaemon);
}

void add_daemon_options(CLI::App& command, DaemonOptionsText& options) {
  add_daemon_address(command, options);
  command.add_flag("--json", options.json, "Print the daemon's response as JSON");
}

Result<DaemonClient> DaemonClient::make(const DaemonOptionsText& options) {
  std::string url = options.url.empty() ? variable("GLOVEBOX_URL") : options.url;
  if (url.empty()) {
    url = "unix:" + daemon_socket(default_data_directory());
  }
  http::ClientOptions client;
  client.server = GB_TRY(http::parse_server_address(url));
  client.key = options.key.empty() ? variable("GLOVEBOX_API_KEY") : options.key;
  client.authorities = options.authorities;
  if (!std::ranges::all_of(client.key, [](char c) { return c > ' ' && c < 127; })) {
    return Error(ErrorCode::kInvalid, "invalid API key",
                 "remove spaces and line breaks from the key");
  }
  return DaemonClient(std::move(client));
}

Result<Json> DaemonClient::ask(std::string_view method, const std::string& path, const Json& body) {
  http::Headers headers;
  std::string text;
  if (!body.is_null()) {
    headers.emplace_back("Content-Type", "application/json");
    text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  const auto answer = GB_TRY(client_->send(method, path, headers, text));
  return json_of(*answer);
}

Result<std::string> DaemonClient::text(const std::string& path) {
  const auto answer = GB_TRY(client_->send("GET", path));
  if (!is_good(*answer)) {
    return problem_of(*answer);
  }
  return answer->read_all(kMostText);
}

Result<std::unique_ptr<http::ClientAnswer>> DaemonClient::stream(std::string_view method,
                                                                 const std::string& path,
                                                                 const Json& body,
                                                                 std::string_view accept) {
  http::Headers headers;
  std::string text;
  if (!accept.empty()) {
    headers.emplace_back("Accept", accept);
  }
  if (!body.is_null()) {
    headers.emplace_back("Content-Type", "application/json");
    text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  auto answer = GB_TRY(client_->send(method, path, headers, text));
  if (!is_good(*answer)) {
    return problem_of(*answer);
  }
  return answer;
}

Result<std::unique_ptr<http::ClientAnswer>> DaemonClient::stream_up(
    std::string_view method,
    const std::string& path,
    std::string_view accept,
    const http::Client::BodySource& body) {
  auto answer = GB_TRY(client_->send_stream(method, path, {{"Accept", std::string(accept)}}, body));
  if (!is_good(*answer)) {
    return problem_of(*answer);
  }
  return answer;
}

Result<Json> DaemonClient::upload(std::string_view method,
                                  const std::string& path,
                                  const http::Client::BodySource& body) {
  const auto answer = GB_TRY(client_->send_stream(method, path, {}, body));
  return json_of(*answer);
}

Result<Json> DaemonClient::send_bytes(std::string_view method,
                                      const std::string& path,
                                      std::string_view bytes) {
  const auto answer = GB_TRY(client_->send(method, path, {}, bytes));
  return json_of(*answer);
}

Result<std::unique_ptr<http::WebSocket>> DaemonClient::open_websocket(const std::string& path) {
  return client_->open_websocket(path);
}

http::ClientAnswer::Ready EventLines::await(int other) {
  if (in_.find('\n', searched_) != std::string::npos) {
    return http::ClientAnswer::Ready::kBody;
  }
  return answer_->await(other, kLook);
}

Result<std::optional<std::string>> EventLines::next_line() {
  while (true) {
    const std::size_t end = in_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string line = in_.substr(0, end);
      in_.erase(0, end + 1);
      searched_ = 0;
      if (!line.empty()) {
        return std::optional(std::move(line));
      }
      continue;
    }
    searched_ = in_.size();
    if (in_.size() > kMostAnswer) {
      return Error(ErrorCode::kInvalid, "a line of the daemon's response is too long");
    }
    std::string piece(64UL * 1024, '\0');
    const std::size_t count = GB_TRY(answer_->read(piece));
    if (count == 0) {
      if (!in_.empty()) {
        return Error(ErrorCode::kInvalid, "the daemon's response ended in the middle of a line");
      }
      return std::optional<std::string>();
    }
    in_.append(piece, 0, count);
  }
}

Result<std::optional<Json>> EventLines::next() {
  const auto line = GB_TRY(next_line());
  if (!line) {
    return std::optional<Json>();
  }
  Json event = GB_TRY(parse_answer(*line));
  if (!event.is_object()) {
    return Error(ErrorCode::kInvalid, "the daemon sent an event that is not a JSON object");
  }
  return std::optional(std::move(event));
}

Result<Json> parse_answer(std::string_view text) {
  GB_TRY(notebook::check_json_bounds(text, kMostDepth, kMostValues));
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return Error(ErrorCode::kInvalid, "the daemon's response is not JSON",
                 "check that the address belongs to a glovebox daemon");
  }
  return json;
}

std::string encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_plain(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kDigits[byte >> 4U];
      encoded += kDigits[byte & 15U];
    }
  }
  return encoded;
}

std::string encode_path(std::string_view path) {
  std::string encoded;
  while (true) {
    const std::size_t slash = path.find('/');
    encoded += encode(path.substr(0, slash));
    if (slash == std::string_view::npos) {
      return encoded;
    }
    encoded += '/';
    path.remove_prefix(slash + 1);
  }
}

std::string text_in(const Json& object, const char* name) {
  const Json* const value = find(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::int64_t number_in(const Json& object, const char* name) {
  const Json* const value = find(object, name);
  if (value == nullptr || !value->is_number()) {
    return 0;
  }
  if (value->is_number_float()) {
    const auto number = value->get<double>();
    return std::isfinite(number) && std::abs(number) < 9e18 ? static_cast<std::int64_t>(number) : 0;
  }
  return value->get<std::int64_t>();
}

bool flag_in(const Json& object, const char* name) {
  const Json* const value = find(object, name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

const Json& list_in(const Json& object, const char* name) {
  static const Json kNone = Json::array();
  const Json* const value = find(object, name);
  return value != nullptr && value->is_array() ? *value : kNone;
}

}  // namespace glovebox::cli
