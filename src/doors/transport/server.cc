// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doors/transport/connection.h"
#include "doors/transport/http.h"
#include "doors/transport/listener.h"
#include "doors/transport/tls.h"

namespace glovebox::http {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kMostWaiting = 4'096;
// After an accept(2) that found no descriptor or no memory, or with all connections in use.
constexpr auto kPause = 100ms;
constexpr int kAcceptedAtOnce = 64;
// Connections that wait for a request and are ended for those that wait for a connection.
constexpr std::size_t kEndedAtOnce = 64;
// What the kernel holds for a reader beyond what its window lets through (TCP_NOTSENT_LOWAT,
// tcp(7)). Otherwise it would take megabytes (net.ipv4.tcp_wmem) for each peer that never reads.
constexpr int kMostUnsent = 256 * 1024;

// Whose a connection is as long as no key is known. A peer that has one IPv6 address has all those
// of the network's prefix.
std::string peer_name(const sockaddr_storage& from) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (from.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(from).sin_addr;
    (void)::inet_ntop(AF_INET, &address, text.data(), text.size());
  } else if (from.ss_family == AF_INET6) {
    in6_addr address = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&address) == 0) {
      std::fill(std::begin(address.s6_addr) + 8, std::end(address.s6_addr), std::uint8_t{0});
    }
    (void)::inet_ntop(AF_INET6, &address, text.data(), text.size());
  } else {
    return "unix";
  }
  return std::string("peer ") + text.data();
}

// Whether somebody waits in the kernel's queue.
bool has_waiting(int listener) {
  pollfd polled{listener, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

class LoopServer final : public Server {
 public:
  LoopServer(ServerOptions options, Handler handler)
      : capacity_(options),
        io_(1),  // One thread runs it.
        body_waits_(std::max<std::size_t>(options.max_handlers / 2, 1), options.body_grace),
        pool_(std::in_place, options.max_handlers, kMostWaiting),
        sweeper_(io_) {
    shared_.options = std::move(options);
    shared_.handler = std::move(handler);
    shared_.pool = &*pool_;
    shared_.body_waits = &body_waits_;
    shared_.capacity = &capacity_;
    shared_.io = &io_;
    shared_.ended = [this](std::uint64_t number) {
      const std::scoped_lock lock(mutex_);
      connections_.erase(number);
      changed_.notify_all();
    };
  }
  LoopServer(const LoopServer&) = delete;
  LoopServer& operator=(const LoopServer&) = delete;
  ~LoopServer() override;

  Result<void> listen();
  void run();

  [[nodiscard]] std::uint16_t port() const override { return port_; }
  [[nodiscard]] std::size_t connections() const override {
    const std::scoped_lock lock(mutex_);
    return connections_.size();
  }
  void drain(std::chrono::milliseconds patience) override;

 private:
  struct Door {
    Door(asio::io_context& io, Listener made)
        : listener(std::move(made)), ready(io, listener.fd.get()), pause(io) {}
    ~Door() {
      (void)ready.release();
      if (!listener.path.empty()) {
        (void)::unlink(listener.path.c_str());
      }
    }
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;

    Listener listener;
    asio::posix::stream_descriptor ready;
    asio::steady_timer pause;
  };

  Result<void> add(Result<Listener> listener);
  void await_connection(Door& door);
  void accept_some(Door& door);
  void admit(UniqueFd fd, std::string peer, bool unix_socket);
  void make_room();
  void sweep();
  std::vector<std::shared_ptr<Connection>> all() const;

  // Before the loop: what the loop holds at its end still refers to them.
  Shared shared_;
  Capacity capacity_;
  asio::io_context io_;
  std::shared_ptr<TlsIdentity> identity_;
  std::vector<std::unique_ptr<Door>> doors_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Each is held here until it says that it has ended.
  std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::uint64_t next_number_ = 0;
  BodyWaits body_waits_;
  std::optional<HandlerPool> pool_;
  asio::steady_timer sweeper_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::thread thread_;
};

LoopServer::~LoopServer() {
  drain(0ms);
  for (const auto& connection : all()) {
    connection->cut();
  }
  pool_.reset();
  work_.reset();
  io_.stop();
  if (thread_.joinable()) {
    thread_.join();
  }
  // What the loop still holds uses the members above when it is destroyed.
  const std::scoped_lock lock(mutex_);
  shared_.ended = [](std::uint64_t) {};
}

Result<void> LoopServer::add(Result<Listener> listener) {
  if (!listener) {
    return std::move(listener).error();
  }
  port_ = port_ == 0 ? listener->port : port_;
  doors_.push_back(std::make_unique<Door>(io_, std::move(listener).value()));
  return {};
}

Result<void> LoopServer::listen() {
  ServerOptions& options = shared_.options;
  std::vector<UniqueFd> inherited;
  for (const int fd : options.inherited) {
    inherited.emplace_back(fd);
  }
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return Error(ErrorCode::kInvalid, "TLS requires both a certificate and its key",
                 "pass --certificate and --key");
  }
  if (!options.certificate_file.empty()) {
    identity_ = GB_TRY(TlsIdentity::load(options.certificate_file, options.key_file));
  }
  for (UniqueFd& fd : inherited) {
    GB_TRY(add(adopt_listener(std::move(fd))));
  }
  if (options.passing >= 0) {
    GB_TRY(add(adopt_passing_socket(UniqueFd(options.passing))));
  }
  if (!options.listen.empty()) {
    GB_TRY(add(listen_tcp(options.listen)));
  }
  if (!options.unix_path.empty()) {
    GB_TRY(add(listen_unix(options.unix_path)));
  }
  return {};
}

void LoopServer::run() {
  work_.emplace(io_.get_executor());
  for (const auto& door : doors_) {
    await_connection(*door);
  }
  sweep();
  thread_ = std::thread([this] { io_.run(); });
}

void LoopServer::await_connection(Door& door) {
  door.ready.async_wait(asio::posix::descriptor_base::wait_read,
                        [this, &door](const boost::system::error_code& error) {
                          if (!error) {
                            accept_some(door);
                          }
                        });
}

void LoopServer::accept_some(Door& door) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    const bool full = connections() >= shared_.options.max_connections;
    sockaddr_storage from{};
    UniqueFd fd = full ? UniqueFd() : accept_connection(door.listener, from);
    if (fd) {
      admit(std::move(fd), peer_name(from), door.listener.unix_socket);
      continue;
    }
    if (full ? !has_waiting(door.listener.fd.get()) : errno == EAGAIN) {
      break;
    }
    if (!full && errno == EPIPE) {  // Nothing comes over it any more.
      return;
    }
    if (full || errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // Those that wait stay in the kernel's queue, where they cost us nothing.
      make_room();
      door.pause.expires_after(kPause);
      door.pause.async_wait([this, &door](const boost::system::error_code& error) {
        if (!error) {
          accept_some(door);
        }
      });
      return;
    }
  }
  await_connection(door);
}

void LoopServer::admit(UniqueFd fd, std::string peer, bool unix_socket) {
  bool ours = false;
  if (unix_socket) {
    ours = is_peer_ours(fd.get());
  } else {
    const int on = 1;
    (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMostUnsent, sizeof kMostUnsent);
  }
  auto channel =
      identity_ && !unix_socket ? identity_->wrap(std::move(fd)) : plain_channel(std::move(fd));
  if (!channel) {
    return;
  }
  const std::uint64_t number = next_number_++;
  auto connection = Connection::make(shared_, number, std::move(channel), std::move(peer), ours);
  {
    const std::scoped_lock lock(mutex_);
    connections_.emplace(number, connection);
  }
  connection->start();
}

// Idle connections must not keep others out: those that were used longest ago end. If there are
// none, and one peer has most of the connections, those end whose requests come in slowly.
void LoopServer::make_room() {
  using Old = std::pair<Clock::time_point, std::shared_ptr<Connection>>;
  const auto before = Clock::now() - shared_.options.crowded_patience;
  const auto connections = all();
  std::map<std::string_view, std::size_t> of_peer;
  std::vector<Old> idle;
  for (const auto& connection : connections) {
    ++of_peer[connection->peer()];
    if (const auto since = connection->idle_since(); since && *since <= before) {
      idle.emplace_back(*since, connection);
    }
  }
  std::vector<Old> slow;
  for (const auto& connection : connections) {
    const auto since = connection->trickles_since();
    if (idle.empty() && since && *since <= before &&
        2 * of_peer.at(connection->peer()) > connections.size()) {
      slow.emplace_back(*since, connection);
    }
  }
  std::vector<Old>& ended = idle.empty() ? slow : idle;
  const std::size_t count = std::min(ended.size(), kEndedAtOnce);
  std::partial_sort(ended.begin(), ended.begin() + static_cast<std::ptrdiff_t>(count), ended.end(),
                    [](const Old& a, const Old& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < count; ++i) {
    ended[i].second->end_idle();
    ended[i].second->end_trickle();
  }
}

std::vector<std::shared_ptr<Connection>> LoopServer::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Connection>> found;
  found.reserve(connections_.size());
  for (const auto& [number, connection] : connections_) {
    found.push_back(connection);
  }
  return found;
}

void LoopServer::sweep() {
  const auto now = Clock::now();
  for (const auto& connection : all()) {
    connection->sweep(now);
  }
  sweeper_.expires_after(1s);
  sweeper_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      sweep();
    }
  });
}

void LoopServer::drain(std::chrono::milliseconds patience) {
  shared_.draining = true;
  if (!thread_.joinable()) {
    return;
  }
  asio::post(io_, [this] {
    doors_.clear();
    for (const auto& connection : all()) {
      connection->end_idle();
    }
  });
  const auto deadline = Clock::now() + patience;
  std::unique_lock lock(mutex_);
  // A request that ends tells nobody unless its connection ends with it, as it does now.
  changed_.wait_until(lock, deadline, [this] { return connections_.empty(); });
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler) {
  // A peer that goes away is an error of the write, never a signal. sendfile(2) and OpenSSL have no
  // flag to say so.
  struct sigaction action {};
  if (::sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    (void)std::signal(SIGPIPE, SIG_IGN);
  }
  auto server = std::make_unique<LoopServer>(std::move(options), std::move(handler));
  GB_TRY(server->listen());
  server->run();
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace glovebox::http
