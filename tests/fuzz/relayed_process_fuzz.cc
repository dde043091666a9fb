// SPDX-License-Identifier: Apache-2.0
// The streams of a relayed process: whatever frames come, in whatever order, while the other ends
// are read, written and closed at any time, no more is held than the windows allow.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "require.h"
#include "sandbox/relayed_process.h"

namespace {

using namespace glovebox;
using warden::Reply;
using warden::Request;
using warden::Stream;
using warden::StreamReport;

class Exchange {
 public:
  explicit Exchange(warden::Streams streams) : process_(make(streams)) {}

  void take(std::uint8_t type, std::string_view payload) {
    std::size_t* held = nullptr;
    for (const auto& [reply, stream] : kOutputs) {
      if (type == static_cast<std::uint8_t>(reply) && !closed_.at(index_of(stream))) {
        held = &held_.at(index_of(stream));
        *held += payload.size();  // Before: some may be acknowledged at once.
      }
    }
    const auto taken = process_.take({.type = type, .channel = 0, .payload = payload});
    if (!taken) {
      require(!taken.error().message().empty());
      over_ = true;
      return;
    }
    require(held == nullptr || *held <= warden::kOutputWindow);
    if (type == static_cast<std::uint8_t>(Reply::kTaken)) {
      const auto report = StreamReport::decode(payload);
      require(report.has_value());
      auto& sent = sent_.at(index_of(report->stream));
      sent -= std::min<std::size_t>(sent, report->bytes);
    }
  }

  void pass() {
    auto polled = process_.watch();
    (void)::poll(polled.data(), polled.size(), 0);
    process_.pass(polled);
  }

  void read(std::size_t which) {
    std::array<char, 4096> bytes;
    (void)!::read(ours_.at(which % ours_.size()).get(), bytes.data(), bytes.size());
  }
  void write(std::size_t which, std::string_view bytes) {
    (void)!::send(ours_.at(which % ours_.size()).get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void close(std::size_t which) { ours_.at(which % ours_.size()).reset(); }

  [[nodiscard]] bool over() const { return over_ || process_.over(); }

 private:
  static std::size_t index_of(Stream stream) { return static_cast<std::size_t>(stream); }
  static constexpr std::array<std::pair<Reply, Stream>, 3> kOutputs = {
      {{Reply::kStdout, Stream::kOut},
       {Reply::kStderr, Stream::kErr},
       {Reply::kFromChannel, Stream::kFromChannel}}};

  RelayedProcess make(warden::Streams streams) {
    std::vector<UniqueFd> theirs;
    for (std::size_t i = 0; i < descriptors_of(streams); ++i) {
      std::array<int, 2> pair{};
      require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()) == 0);
      ours_.emplace_back(pair[0]);
      theirs.emplace_back(pair[1]);
    }
    return {streams, std::move(theirs),
            [this](Request type, std::string_view payload) { sent(type, payload); }};
  }

  void sent(Request type, std::string_view payload) {
    if (type == Request::kStdin || type == Request::kToChannel) {
      const Stream stream = type == Request::kStdin ? Stream::kIn : Stream::kToChannel;
      auto& sent = sent_.at(index_of(stream));
      sent += payload.size();
      require(sent <= warden::kInputWindow);
      return;
    }
    const auto report = StreamReport::decode(payload);
    require(report.has_value());
    auto& held = held_.at(index_of(report->stream));
    if (type == Request::kTaken) {
      require(report->bytes <= held);
      held -= report->bytes;
    } else {
      require(type == Request::kStreamEnd);
      held = 0;
      closed_.at(index_of(report->stream)) = true;
    }
  }

  std::array<std::size_t, warden::kStreams> held_{};
  std::array<std::size_t, warden::kStreams> sent_{};
  std::array<bool, warden::kStreams> closed_{};
  std::vector<UniqueFd> ours_;
  bool over_ = false;
  RelayedProcess process_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)::signal(SIGPIPE, SIG_IGN);
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto next = [&input] {
    const auto byte = input.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(input.front());
    input.remove_prefix(input.empty() ? 0 : 1);
    return byte;
  };
  Exchange exchange(static_cast<warden::Streams>(1 + next() % 3));
  static const std::string kMuch(300UL << 10, 'x');
  while (!input.empty() && !exchange.over()) {
    const std::uint8_t what = next();
    const std::uint8_t which = next();
    switch (what % 6) {
      case 0: {  // A frame whose payload is in the input.
        const std::string_view payload = input.substr(0, which % 32);
        input.remove_prefix(payload.size());
        exchange.take(64 + what / 6 % 16, payload);
        break;
      }
      case 1:  // Much output.
        exchange.take(64 + which % 16, std::string_view(kMuch).substr(0, what * 1024UL));
        break;
      case 2:
        exchange.pass();
        break;
      case 3:
        exchange.read(which);
        break;
      case 4:
        exchange.write(which, std::string_view(kMuch).substr(0, what * 512UL));
        break;
      default:
        exchange.close(which);
        break;
    }
  }
  return 0;
}
