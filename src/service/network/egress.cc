// SPDX-License-Identifier: Apache-2.0
#include "service/network/egress.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "base/frame.h"
#include "base/text.h"
#include "service/network/host_network.h"

namespace glovebox {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kProgram = "glovebox-egress";
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::seconds kLastWords{2};

std::optional<std::string> own_variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

egress::Taping taping_of(const NetworkTape& tape) {
  return tape.recording  ? egress::Taping::kReplay
         : tape.room > 0 ? egress::Taping::kRecord
                         : egress::Taping::kNone;
}

// In pieces that fit a frame, and the empty one behind them.
void append_recording(std::string& frames, std::string_view bytes) {
  bool more = true;
  while (more) {
    const std::string_view piece = bytes.substr(0, kMaxFramePayload);
    append_frame(frames, static_cast<std::uint8_t>(egress::Message::kRecording), 0, piece);
    bytes.remove_prefix(piece.size());
    more = !piece.empty();
  }
}

Result<void> send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && errno != EINTR) {
      return Error::from_errno(std::string("send to ") + kProgram);
    }
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
  }
  return {};
}

// Empty if nothing more will come; absent if nothing has come in time.
std::optional<std::string_view> receive(int socket,
                                        std::span<char> block,
                                        Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{socket, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::clamp<long>(left, 0, 60'000)));
    if (ready == 0) {
      return std::nullopt;
    }
    const ssize_t got = ready < 0 ? -1 : ::recv(socket, block.data(), block.size(), 0);
    if (got >= 0 || errno != EINTR) {
      return std::string_view(block.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
  }
}

}  // namespace

void Egress::prepare(SandboxSpec& spec, const EdgeCredentials& credentials) {
  spec.egress_port = egress::kPort;
  announce(spec.env);
  credentials.add_to(spec);
  spec.mounts.push_back({.source = "/etc/ssl/certs", .target = "/etc/ssl/certs", .optional = true});
}

void Egress::announce(Environment& env, const EdgeCredentials& credentials) {
  const std::string proxy = "http://127.0.0.1:" + std::to_string(egress::kPort);
  const std::string local = "localhost,127.0.0.1,::1";
  for (const auto& [name, value] :
       {std::pair("HTTP_PROXY", proxy), std::pair("HTTPS_PROXY", proxy),
        std::pair("http_proxy", proxy), std::pair("https_proxy", proxy),
        std::pair("NO_PROXY", local), std::pair("no_proxy", local),
        // npm's own default, where there is a network. With pip's default of five, a host that a
        // rule refuses takes 9 s.
        std::pair("npm_config_fetch_retries", std::string("2")),
        std::pair("PIP_RETRIES", std::string("2")), std::pair("PIP_NO_INDEX", std::string("0"))}) {
    const bool set =
        std::ranges::any_of(env, [&](const auto& variable) { return variable.first == name; });
    if (!set) {
      env.emplace_back(name, value);
    }
  }
  credentials.announce(env);
}

Result<std::unique_ptr<Egress>> Egress::start(Sandbox& sandbox,
                                              const NetworkRules& rules,
                                              const EdgeCredentials& credentials,
                                              Observer observer,
                                              bool public_only,
                                              const NetworkTape& tape) {
  const WayOut way_out = sandbox.take_way_out();
  return launch({.listener = way_out.listener.get(),
                 .names = way_out.names.get(),
                 .identity = sandbox.helper_uid(),
                 .public_only = public_only},
                false, rules, credentials, std::move(observer), tape);
}

Result<std::unique_ptr<Egress>> Egress::start(const Place& place,
                                              const NetworkRules& rules,
                                              const EdgeCredentials& credentials,
                                              Observer observer) {
  return launch(place, true, rules, credentials, std::move(observer), {});
}

Result<std::unique_ptr<Egress>> Egress::launch(const Place& place,
                                               bool kept,
                                               const NetworkRules& rules,
                                               const EdgeCredentials& credentials,
                                               Observer observer,
                                               const NetworkTape& tape) {
  egress::Order order{.rules = rules,
                      .public_only = place.public_only,
                      .budget = rules.budget,
                      .has_credentials = !credentials.empty(),
                      .taping = taping_of(tape),
                      .recorded_bytes = std::min(tape.room, egress::kMostRecorded),
                      .identity = place.identity};
  if (!tape.recording) {
    GB_TRY(describe_host(order, own_variable));
  }
  if (order.public_only) {
    // That proxy would look names up for us, and strangers must not use its password.
    order.http_upstream.reset();
    order.https_upstream.reset();
  }
  confined::Channel control = GB_TRY(confined::make_channel());
  confined::Channel complaint = GB_TRY(confined::make_channel());
  auto process =
      GB_TRY(confined::Process::start({.program = kProgram,
                                       .descriptors = {control.theirs.get(), place.listener,
                                                       complaint.theirs.get(), place.names}}));
  control.theirs = UniqueFd();
  complaint.theirs = UniqueFd();
  std::string frame;
  append_frame(frame, static_cast<std::uint8_t>(egress::Message::kOrder), 0, order.encode());
  if (order.has_credentials) {
    append_frame(frame, static_cast<std::uint8_t>(egress::Message::kCredentials), 0,
                 GB_TRY(credentials.credentials().encode()));
    append_frame(frame, static_cast<std::uint8_t>(egress::Message::kTrust), 0, credentials.trust());
  }
  std::unique_ptr<Egress> started(new Egress(std::move(process), std::move(control.ours),
                                             kept ? place.listener : -1, std::move(observer),
                                             order.recorded_bytes));
  if (tape.recording) {
    append_recording(frame, *tape.recording);
  }
  // A proxy that ended at once says why on its standard error.
  if (send_all(started->control_.get(), frame) && started->await_ready()) {
    started->listener_ = std::thread([self = started.get()] { self->listen(); });
    return started;
  }
  started->process_.kill();
  std::array<char, 1024> block{};
  const auto said = receive(complaint.ours.get(), block, Clock::now() + kLastWords);
  const std::string_view why = said.value_or("").substr(0, said.value_or("").find('\n'));
  return Error(ErrorCode::kUnavailable,
               std::string(kProgram) + " could not start" +
                   (why.empty() ? std::string() : ": " + printable(to_utf8(why))));
}

Egress::Egress(confined::Process process,
               UniqueFd control,
               int listener,
               Observer observer,
               std::uint64_t room)
    : process_(std::move(process)),
      control_(std::move(control)),
      sandbox_listener_(listener),
      observer_(std::move(observer)),
      room_(room) {}

Egress::~Egress() { end(); }

Result<void> Egress::await_ready() {
  const auto deadline = Clock::now() + kPatience;
  std::array<char, 4096> block{};
  for (;;) {
    Frame frame;
    if (GB_TRY(parser_.next(frame))) {
      return frame.type == static_cast<std::uint8_t>(egress::Message::kReady)
                 ? Result<void>()
                 : Error(ErrorCode::kInternal, "unexpected message");
    }
    const auto bytes = receive(control_.get(), block, deadline);
    if (!bytes || bytes->empty()) {
      return Error(ErrorCode::kUnavailable, "no answer");
    }
    parser_.feed(*bytes);
  }
}

void Egress::listen() {
  receive_records();
  if (sandbox_listener_ >= 0 && !ending_) {
    process_.kill();  // Nobody listens to what it does any more.
    (void)::shutdown(sandbox_listener_, SHUT_RDWR);
  }
}

void Egress::receive_records() {
  std::array<char, 16 * 1024> block{};
  do {
    const ssize_t got = ::recv(control_.get(), block.data(), block.size(), 0);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return;
    }
    parser_.feed({block.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
  } while (take_frames());
}

// False once what comes makes no sense; from then on nobody listens to the proxy.
bool Egress::take_frames() {
  for (;;) {
    Frame frame;
    const auto more = parser_.next(frame);
    if (!more) {
      return false;
    }
    if (!*more) {
      return true;
    }
    if (frame.type != static_cast<std::uint8_t>(egress::Message::kConnection)) {
      if (!take_recorded(frame)) {
        return false;
      }
      continue;
    }
    auto connection = egress::decode_connection(frame.payload);
    if (!connection) {
      return false;
    }
    if (observer_) {
      observer_(*connection);
    }
    const std::lock_guard lock(mutex_);
    if (record_.connections.size() < Verdict::kMaxConnections) {
      record_.connections.push_back(std::move(connection).value());
    } else {
      ++record_.more;
    }
  }
}

// False if this is not a message of a proxy that records, or if it is more than it may record.
bool Egress::take_recorded(const Frame& frame) {
  const std::lock_guard lock(mutex_);
  NetworkRecording& recording = record_.recording;
  if (frame.type == static_cast<std::uint8_t>(egress::Message::kCut) && room_ > 0) {
    recording.cut = true;
    return true;
  }
  if (frame.type != static_cast<std::uint8_t>(egress::Message::kRecording) ||
      frame.payload.size() > room_ - recording.bytes.size()) {
    return false;
  }
  recording.bytes += frame.payload;
  return true;
}

Egress::Record Egress::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

void Egress::cut() {
  ending_ = true;
  (void)::shutdown(control_.get(), SHUT_WR);
}

void Egress::end() {
  if (!listener_.joinable()) {
    return;
  }
  cut();
  pollfd ended{process_.pidfd(), POLLIN, 0};
  (void)::poll(&ended, 1, static_cast<int>(std::chrono::milliseconds(kLastWords).count()));
  process_.kill();
  // The proxy's end of the socket is closed now, so the listener reaches the end of its messages.
  listener_.join();
}

}  // namespace glovebox
