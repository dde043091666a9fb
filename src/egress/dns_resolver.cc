// SPDX-License-Identifier: Apache-2.0
// The resolver, built on c-ares. It opens sockets of its own, which the event loop watches for it.
#include <ares.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "egress/resolver.h"

namespace glovebox::egress {
namespace {

namespace asio = boost::asio;

// Each name server is asked kTries times, with a longer wait each time.
constexpr int kTimeoutMs = 2'500;
constexpr int kTries = 2;
constexpr std::chrono::milliseconds kLookEvery{250};

ares_addr_port_node node_of(const Endpoint& server) {
  ares_addr_port_node node{};
  node.family = server.address.v4 ? AF_INET : AF_INET6;
  std::memcpy(&node.addr, server.address.bytes.data(), server.address.width() / 8);
  node.udp_port = server.port;
  node.tcp_port = server.port;
  return node;
}

IpAddress address_of(const sockaddr* address) {
  IpAddress ip{.v4 = address->sa_family == AF_INET};
  if (ip.v4) {
    std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
  } else {
    std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
  }
  return ip;
}

}  // namespace

struct DnsResolver::Engine {
 public:
  Engine() = default;
  ~Engine() {
    if (channel_ != nullptr) {
      ares_destroy(channel_);
    }
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Result<void> open(const std::vector<Endpoint>& name_servers) {
    has_servers_ = !name_servers.empty();
    std::array<char, 2> only_dns = {'b', '\0'};
    ares_options options{};
    options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
    options.timeout = kTimeoutMs;
    options.tries = kTries;
    options.lookups = only_dns.data();
    options.sock_state_cb = &Engine::watch;
    options.sock_state_cb_data = this;
    const int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
                     ARES_OPT_SOCK_STATE_CB;
    if (const int status = ares_init_options(&channel_, &options, mask); status != ARES_SUCCESS) {
      return failure(status);
    }
    std::vector<ares_addr_port_node> nodes;
    nodes.reserve(name_servers.size());
    for (const Endpoint& server : name_servers) {
      nodes.push_back(node_of(server));
    }
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      nodes[i - 1].next = &nodes[i];
    }
    const int status =
        nodes.empty() ? ARES_SUCCESS : ares_set_servers_ports(channel_, nodes.data());
    return status == ARES_SUCCESS ? Result<void>() : failure(status);
  }

  void run_on(asio::io_context& loop) {
    loop_ = &loop;
    clock_.emplace(loop);
  }

  void resolve(const std::string& name, Answer answer) {
    GB_CHECK(loop_ != nullptr);
    if (!has_servers_) {
      answer(Error(ErrorCode::kUnavailable, "this host has no name server"));
      return;
    }
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_flags = ARES_AI_NOSORT;
    ++waiting_;
    // Owned by c-ares until told(), which is always called.
    auto* const question = new Question{.resolver = *this, .answer = std::move(answer)};
    ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, &Engine::told, question);
    look_later();
  }

 private:
  struct Question {
    Engine& resolver;
    Answer answer;
  };

  static Error failure(int status) {
    return {ErrorCode::kUnavailable, std::string("name lookup: ") + ares_strerror(status)};
  }

  static void told(void* question, int status, int /*timeouts*/, ares_addrinfo* found) {
    const std::unique_ptr<Question> asked(static_cast<Question*>(question));
    --asked->resolver.waiting_;
    std::vector<IpAddress> addresses;
    for (const ares_addrinfo_node* node = found == nullptr ? nullptr : found->nodes;
         node != nullptr && addresses.size() < kMostAddresses; node = node->ai_next) {
      if (node->ai_family == AF_INET || node->ai_family == AF_INET6) {
        addresses.push_back(address_of(node->ai_addr));
      }
    }
    ares_freeaddrinfo(found);
    if (!addresses.empty()) {
      asked->answer(std::move(addresses));
    } else if (status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENODATA) {
      asked->answer(Error(ErrorCode::kNotFound, "the name has no address"));
    } else {
      asked->answer(failure(status));
    }
  }

  // A socket of c-ares, which closes it itself.
  struct Watched {
    Watched(asio::io_context& loop, int fd) : descriptor(loop, fd) {}
    ~Watched() { (void)descriptor.release(); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    asio::posix::stream_descriptor descriptor;
    bool reads = false;
    bool writes = false;
  };

  static void watch(void* self, ares_socket_t fd, int readable, int writable) {
    auto& resolver = *static_cast<Engine*>(self);
    if (readable == 0 && writable == 0) {
      resolver.sockets_.erase(fd);
      return;
    }
    auto& watched = resolver.sockets_[fd];
    if (!watched) {
      watched = std::make_shared<Watched>(*resolver.loop_, fd);
    }
    watched->reads = readable != 0;
    watched->writes = writable != 0;
    resolver.wait(fd, watched, asio::posix::stream_descriptor::wait_read);
    resolver.wait(fd, watched, asio::posix::stream_descriptor::wait_write);
  }

  void wait(int fd,
            const std::shared_ptr<Watched>& watched,
            asio::posix::stream_descriptor::wait_type what) {
    const bool read = what == asio::posix::stream_descriptor::wait_read;
    if (!(read ? watched->reads : watched->writes)) {
      return;
    }
    const std::weak_ptr<Watched> weak = watched;
    watched->descriptor.async_wait(what, [=, this](const boost::system::error_code& error) {
      const auto still = weak.lock();
      if (error || !still) {
        return;
      }
      ares_process_fd(channel_, read ? fd : ARES_SOCKET_BAD, read ? ARES_SOCKET_BAD : fd);
      if (const auto found = sockets_.find(fd); found != sockets_.end() && found->second == still) {
        wait(fd, still, what);
      }
    });
  }

  // For decisions that depend on time: whom to ask next, and when to give up.
  void look_later() {
    if (looking_ || waiting_ == 0) {
      return;
    }
    looking_ = true;
    clock_->expires_after(kLookEvery);
    clock_->async_wait([this](const boost::system::error_code& error) {
      looking_ = false;
      if (!error) {
        ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        look_later();
      }
    });
  }

  ares_channel channel_ = nullptr;
  std::map<int, std::shared_ptr<Watched>> sockets_;
  asio::io_context* loop_ = nullptr;
  std::optional<asio::steady_timer> clock_;
  std::size_t waiting_ = 0;
  bool has_servers_ = false;
  bool looking_ = false;
};

DnsResolver::DnsResolver(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

DnsResolver::~DnsResolver() = default;

Result<std::unique_ptr<DnsResolver>> DnsResolver::make(const std::vector<Endpoint>& name_servers) {
  auto engine = std::make_unique<Engine>();
  GB_TRY(engine->open(name_servers));
  return std::unique_ptr<DnsResolver>(new DnsResolver(std::move(engine)));
}

void DnsResolver::run_on(asio::io_context& loop) { engine_->run_on(loop); }

void DnsResolver::resolve(const std::string& name, Answer answer) {
  engine_->resolve(name, std::move(answer));
}

}  // namespace glovebox::egress
