// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/stdio.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace glovebox::mcp {
namespace {

constexpr std::size_t kPiece = 64UL * 1024;
// Beside the one that reads. As many as a conversation may have calls under way.
constexpr std::size_t kMostThreads = Conversation::kMaxCalls;

// One message a line, whole, whoever writes.
class LineWriter {
 public:
  explicit LineWriter(int fd) : fd_(fd) {}

  void write(std::string_view message) {
    const std::scoped_lock lock(mutex_);
    std::string line(message);
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty() && !broken_) {
      const ssize_t put = ::write(fd_, rest.data(), rest.size());
      if (put > 0) {
        rest.remove_prefix(static_cast<std::size_t>(put));
      } else if (errno == EAGAIN) {
        pollfd waits{fd_, POLLOUT, 0};
        (void)::poll(&waits, 1, -1);
      } else if (errno != EINTR) {
        broken_ = true;  // The client is gone; its end of input follows.
      }
    }
  }

 private:
  const int fd_;
  std::mutex mutex_;
  bool broken_ = false;
};

// A request with its place among those under way.
struct Entered {
  Message request;
  std::unique_ptr<Conversation::Entry> entry;
};

// Threads that wait for requests, made when all others are busy.
class Workers {
 public:
  explicit Workers(std::function<void(Entered&)> work) : work_(std::move(work)) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  // Waits for what is under way.
  ~Workers() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  void add(Entered entered) {
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back(std::move(entered));
      if (waiting_.size() > idle_ && threads_.size() < kMostThreads) {
        threads_.emplace_back([this] { run(); });
      }
    }
    changed_.notify_one();  // Without the lock, or the thread that wakes would wait for it.
  }

  [[nodiscard]] bool busy() {
    const std::scoped_lock lock(mutex_);
    return !waiting_.empty() || idle_ < threads_.size();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      --idle_;
      if (waiting_.empty()) {
        return;
      }
      {
        Entered entered = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        work_(entered);
      }
      lock.lock();
    }
  }

  const std::function<void(Entered&)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entered> waiting_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

std::string too_long() {
  return response_text({}, RpcError{.code = code::kInvalidRequest,
                                    .message = "the message is longer than " +
                                               std::to_string(kMaxMessage) + " bytes"});
}

// Cuts what comes into lines. A line that is too long is refused and skipped.
class LineReader {
 public:
  template <typename Take, typename Refuse>
  void pass(std::string_view bytes, const Take& take, const Refuse& refuse) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end);
      if (!skipping_ && held_.size() + piece.size() > kMaxMessage) {
        skipping_ = true;
        held_ = {};
        refuse();
      }
      if (!skipping_) {
        held_ += piece;
      }
      if (end == std::string_view::npos) {
        return;
      }
      bytes.remove_prefix(end + 1);
      if (!skipping_ && held_.find_first_not_of(" \t\r") != std::string::npos) {
        take(held_);
      }
      held_.clear();
      skipping_ = false;
    }
  }

 private:
  std::string held_;
  bool skipping_ = false;
};

// No more will be asked, as at the end of a pipe, but what was asked is still answered; unless
// nobody reads the answers any more, or we are told to stop.
void finish(Workers& workers, int out, int stop_fd) {
  constexpr int kLookEveryMs = 20;
  while (workers.busy()) {
    std::array<pollfd, 2> waits{{{out, 0, 0}, {stop_fd, POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), kLookEveryMs) > 0 &&
        (waits[1].revents != 0 || (waits[0].revents & (POLLERR | POLLHUP)) != 0)) {
      return;
    }
  }
}

}  // namespace

Result<void> serve_stdio(Server& server, const Caller& caller, int in, int out, int stop_fd) {
  LineWriter writer(out);
  const Outlet outlet{.send = [&writer](std::string_view message) { writer.write(message); }};
  Conversation conversation(true);
  const auto answer = [&](Entered& entered) {
    const Message& request = entered.request;
    std::string response;
    try {
      response = server.answer(request, conversation, *entered.entry, caller, outlet);
    } catch (const std::exception&) {  // No memory, or no threads.
      response = response_text(
          request.id, RpcError{.code = code::kInternal, .message = "out of memory or threads"});
    }
    // The client may use the id again once it has the response.
    entered.entry.reset();
    if (!response.empty()) {
      writer.write(response);
    }
  };
  Workers workers(answer);
  const auto take = [&](const std::string& line) {
    auto parsed = parse_message(line);
    if (const auto* const malformed = std::get_if<Malformed>(&parsed)) {
      writer.write(response_text(malformed->id, malformed->error));
      return;
    }
    auto& message = std::get<Message>(parsed);
    if (message.kind != Message::Kind::kRequest) {
      Server::take(message, conversation);
      return;
    }
    auto entry = conversation.enter(message.id);
    if (!entry) {
      writer.write(response_text(
          message.id, RpcError{.code = code::kInvalidRequest, .message = entry.error().message()}));
      return;
    }
    const bool is_long = Server::is_long(message);
    Entered entered{.request = std::move(message), .entry = *std::move(entry)};
    if (is_long) {
      workers.add(std::move(entered));
    } else {
      answer(entered);
    }
  };
  LineReader reader;
  std::array<char, kPiece> piece{};
  Result<void> served;
  for (;;) {
    std::array<pollfd, 3> waits{
        {{in, POLLIN, 0}, {stop_fd, POLLIN, 0}, {conversation.watching().fd(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      served = Error::from_errno("wait for messages");
      break;
    }
    if (waits[2].revents != 0) {
      conversation.watching().tell([&writer](std::string_view method, const Json& params) {
        writer.write(notification_text(method, params));
      });
    }
    if (waits[1].revents != 0) {
      break;
    }
    const ssize_t got = waits[0].revents == 0 ? -1 : ::read(in, piece.data(), piece.size());
    if (got == 0) {
      finish(workers, out, stop_fd);
      break;
    }
    if (got < 0) {
      if (waits[0].revents != 0 && errno != EINTR && errno != EAGAIN) {
        served = Error::from_errno("read standard input");
        break;
      }
      continue;
    }
    reader.pass({piece.data(), static_cast<std::size_t>(got)}, take,
                [&] { writer.write(too_long()); });
  }
  conversation.end();
  return served;
}

}  // namespace glovebox::mcp
