// SPDX-License-Identifier: Apache-2.0
// HTTP as doors see it: plain requests and responses, no type of the library behind it.
//
// A handler runs in a thread of its own while it works on one request, so it may block. The
// connection's memory is bounded whatever the peer does; a peer that is too slow is cut off.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

// How long a request keeps its handler's thread.
enum class Pace {
  kShort,  // As long as we need.
  kLong,   // As long as a guest or the client likes: executions, streams, WebSockets, files.
};

// What a request turned out to be, for metrics and the access log. The handler's thread fills it in
// as it finds out; what it leaves empty is unknown.
struct RequestFacts {
  std::string_view door = "none";  // A literal, as `route` is: each new one costs memory for ever.
  std::string route = "none";      // A pattern of ours, never what the client wrote.
  std::string id;                  // The one that the answer carries.
  std::string tenant;
  std::string key;  // The key's id, which is not secret.
  std::string sandbox;
};

class Request {
 public:
  virtual ~Request() = default;
  [[nodiscard]] RequestFacts& facts() { return facts_; }
  // The client's address; "unix" for one on a Unix socket, empty when unknown.
  [[nodiscard]] virtual std::string_view peer() const { return {}; }
  [[nodiscard]] virtual std::string_view method() const = 0;
  [[nodiscard]] virtual std::string_view target() const = 0;  // As it came: path and query.
  // The first value, ignoring the case of names; nothing when absent.
  [[nodiscard]] virtual std::optional<std::string_view> header(std::string_view name) const = 0;
  [[nodiscard]] virtual const Headers& headers() const = 0;
  [[nodiscard]] virtual bool over_unix_socket() const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> content_length() const = 0;

  // The next piece of the body; 0 at its end. kUnavailable when the peer is gone, kInvalid when the
  // body is malformed.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
  // The rest of the body. kExhausted when it is larger than `most`.
  Result<std::string> read_all(std::size_t most);

  // Readable once the peer is gone; for a handler that waits for something else. Do not close it.
  [[nodiscard]] virtual int gone_fd() = 0;

  // Charges the costs of the request to `tenant` from now on, as those of this pace. Call it once
  // the caller is known, before anything is waited for; the last call counts. kExhausted, with the
  // seconds to wait in its hint, when the tenant has too many of these under way.
  virtual Result<void> count_for(std::string_view tenant, Pace pace) {
    (void)tenant;
    (void)pace;
    return {};
  }

 private:
  RequestFacts facts_;
};

class WebSocket {
 public:
  virtual ~WebSocket() = default;
  struct Message {
    bool binary = false;
    std::string payload;
  };
  // Waits for the next message; nothing when the peer has closed. Pings are answered internally.
  virtual Result<std::optional<Message>> read() = 0;
  // May be called from another thread than read().
  virtual Result<void> write(bool binary, std::string_view payload) = 0;
  virtual void close(std::uint16_t code, std::string_view reason) = 0;
};

// The pieces of an answer that continues whenever something happens elsewhere. The server's loop
// makes one call at a time, and none of them may wait.
class PieceSource {
 public:
  virtual ~PieceSource() = default;
  // Readable when next() may have something; the same one as long as this lives. Not to be read.
  [[nodiscard]] virtual int fd() const = 0;
  enum class State {
    kGoesOn,
    kEnd,     // Nothing comes after this piece.
    kBroken,  // Nothing comes, but the answer is not whole: the peer must notice.
  };
  // Fills in the next piece, which is empty before; leaves it empty if there is none now. Called
  // when fd() is readable, and also about once a second.
  virtual State next(std::string& piece) = 0;
  // The piece that goes out after a silence of `every`, counted in whole seconds, about.
  struct Beat {
    std::chrono::milliseconds every;
    std::string piece;
  };
  // Nothing: silence may last. Asked for once.
  [[nodiscard]] virtual std::optional<Beat> beat() const { return std::nullopt; }
};

class Response {
 public:
  virtual ~Response() = default;

  // A whole answer. Exactly one of send(), start(), follow(), upgrade() and relay() is called,
  // once. Does not wait for the peer.
  virtual Result<void> send(int status, const Headers& headers, std::string_view body) = 0;

  // An answer in pieces: chunked, or of a known length when `headers` has Content-Length. Headers
  // go out at once, each piece too. kUnavailable when the peer is gone.
  virtual Result<void> start(int status, const Headers& headers) = 0;
  virtual Result<void> write(std::string_view piece) = 0;
  // From a regular file, without a copy if the connection allows. May return before the peer has
  // taken it: what comes last does not wait for the peer.
  virtual Result<void> write_file(int fd, std::uint64_t offset, std::uint64_t length) = 0;
  virtual Result<void> finish() = 0;

  // An answer in pieces, as start() begins one, that takes them from `source` without a thread.
  // Returns once the headers are out. kExhausted when there are too many of these.
  virtual Result<void> follow(int status,
                              const Headers& headers,
                              std::unique_ptr<PieceSource> source) = 0;

  // Drops the connection so that the peer notices that the answer is not whole.
  virtual void abort() = 0;

  // Answers a WebSocket handshake.
  virtual Result<std::unique_ptr<WebSocket>> upgrade(std::string_view protocol) = 0;

  // Passes the connection's bytes to and from `peer` from now on, after `first` was written to it.
  // For proxies: the request's body and what follows it. Returns at once; what the peer answers
  // goes to the client without a thread, a 502 if it is not HTTP. kExhausted when too many are
  // open.
  virtual Result<void> relay(UniqueFd peer, std::string_view first) = 0;
};

// Whatever it throws or leaves unanswered becomes a 500.
using Handler = std::function<void(Request&, Response&)>;

struct ServerOptions {
  std::string listen = "127.0.0.1:8440";  // HOST:PORT; port 0 takes a free one. Empty: none.
  std::string unix_path;                  // Made with mode 0600. Empty: none.
  std::vector<int> inherited;             // Listening sockets of systemd's; ours from now on.
  int passing = -1;                       // Passes connections (embed/handshake.h); likewise.
  std::string certificate_file;           // PEM, both or none: TLS on `listen`.
  std::string key_file;
  std::size_t max_connections = 32'768;
  std::size_t max_handlers = 512;              // Requests worked on at once; more wait, then 503.
  std::size_t max_long_calls = 1'024;          // Beside those (Pace::kLong).
  std::size_t max_links = 2'048;               // Connections to ports of sandboxes.
  std::size_t max_followers = 24'576;          // Answers that take pieces from elsewhere.
  std::size_t max_unsent_bytes = 256UL << 20;  // Of answers that their readers have not taken.
  std::size_t max_header_bytes = 64 * 1024;
  std::chrono::seconds header_patience{15};  // From the first byte of a request to its last header.
  std::chrono::seconds body_patience{60};    // Without a byte, of a body or of an answer.
  // A reader must take so much a second of an answer, beyond a grace in which it may take less.
  std::chrono::milliseconds reader_grace{30'000};
  std::uint64_t least_rate = 1'024;
  // At most half of the handlers wait for bodies. The slowest body makes room for another, unless
  // it is younger than this.
  std::chrono::milliseconds body_grace{5'000};
  // How long the thread that gave an answer waits for the next request of that connection before it
  // leaves it to the loop: what comes within that time is worked on without waking a second thread.
  // More than the default applies only to a few connections at once.
  std::chrono::milliseconds linger{5};
  std::chrono::seconds idle_patience{600};   // Between requests;
  std::chrono::seconds crowded_patience{5};  // the same while others find no room.
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler);
  virtual ~Server() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  [[nodiscard]] virtual std::size_t connections() const = 0;

  // Takes no new connection and no new request; returns when those under way have ended, or when
  // the patience is over.
  virtual void drain(std::chrono::milliseconds patience) = 0;
};

}  // namespace glovebox::http
