// SPDX-License-Identifier: Apache-2.0
#include "serving.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <span>

#include "base/frame.h"
#include "base/sys/descriptors.h"
#include "base/sys/raw.h"
#include "base/sys/undumpable.h"
#include "base/unique_fd.h"
#include "entry.h"
#include "forking.h"

namespace glovebox::zygote {
namespace {

class Server {
 public:
  Server(int socket, const Warm& warm)
      : socket_(socket), warm_(warm), buffer_(new char[kMaxMessage]) {}

  // Nothing when the socket has closed.
  std::optional<ForkRequest> serve() {
    sigset_t children;
    (void)::sigemptyset(&children);
    (void)::sigaddset(&children, SIGCHLD);
    (void)::pthread_sigmask(SIG_BLOCK, &children, &old_mask_);
    UniqueFd ended(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    for (;;) {
      const short wanted = unsaid_.empty() ? POLLIN : POLLIN | POLLOUT;
      std::array<pollfd, 2> polled = {{{socket_, wanted, 0}, {ended.get(), POLLIN, 0}}};
      if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
        return std::nullopt;
      }
      if (polled[1].revents != 0) {
        reap(ended);
        tell_ends();
      }
      if ((polled[0].revents & POLLOUT) != 0) {
        tell_ends();
      }
      if ((polled[0].revents & ~POLLOUT) != 0) {
        std::vector<UniqueFd> passed;
        const ssize_t got =
            sys::receive_with(socket_, {buffer_.get(), kMaxMessage}, passed, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
          return std::nullopt;
        }
        if (got > 0) {
          auto forked = take({buffer_.get(), static_cast<std::size_t>(got)}, passed);
          if (forked) {
            // All but 0 to 3 are closed already, and their numbers may be somebody else's now.
            (void)ended.release();
            for (UniqueFd& fd : passed) {
              (void)fd.release();
            }
            return forked;
          }
        }
      }
    }
  }

 private:
  // Answers the request in the fork, nothing in the zygote.
  std::optional<ForkRequest> take(std::string_view bytes, std::vector<UniqueFd>& passed) {
    auto request = ForkRequest::decode(bytes);
    if (!request || passed.size() < kFirstCgroup) {
      return std::nullopt;
    }
    const bool born = request->born_in_cgroup && passed.size() > kFirstCgroup;
    const long result = fork_into(passed[kWarden].get(), born ? passed[kFirstCgroup].get() : -1);
    if (result == 0) {
      enter(request.value(), passed);
      if (warm_.entered) {
        warm_.entered();
      }
      return std::move(request).value();
    }
    UniqueFd pidfd;
    if (result > 0) {
      forks_[static_cast<pid_t>(result)] = request->id;
      // We alone could wait for it, so the number is still its own.
      const long opened = sys::raw(SYS_pidfd_open, result, 0);
      pidfd = UniqueFd(opened < 0 ? -1 : static_cast<int>(opened));
    }
    answer({.kind = Message::Kind::kForked,
            .id = request->id,
            .value = result < 0 ? static_cast<std::int32_t>(result) : 0},
           pidfd.get());
    return std::nullopt;
  }

  void enter(const ForkRequest& request, std::span<const UniqueFd> passed) {
    const Entered entered = enter_sandbox(request, passed, warm_.files);
    if (entered.result < 0) {
      std::string frame;
      append_frame(frame, kNotEntered, 0,
                   std::string(entered.step) + ": errno " + std::to_string(-entered.result));
      // The channel is one of these, before or after the descriptors were arranged.
      for (const int channel : {passed[kChannel].get(), 3}) {
        if (::send(channel, frame.data(), frame.size(), MSG_NOSIGNAL) > 0) {
          break;
        }
      }
      ::_exit(125);
    }
    (void)::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  }

  void reap(const UniqueFd& ended) {
    std::array<signalfd_siginfo, 8> ignored;
    (void)!::read(ended.get(), ignored.data(), sizeof ignored);
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid <= 0) {
        return;
      }
      const auto found = forks_.find(pid);
      if (found != forks_.end()) {
        unsaid_.push_back({.kind = Message::Kind::kExited, .id = found->second, .value = status});
        forks_.erase(found);
      }
    }
  }

  // Sends as many as the socket takes. The process that ended the forks need not be reading: it
  // waits until all processes of a sandbox have been waited for, which is our part.
  void tell_ends() {
    while (!unsaid_.empty()) {
      if (sys::send_with(socket_, unsaid_.front().encode(), {}, MSG_DONTWAIT) < 0) {
        return;
      }
      unsaid_.pop_front();
    }
  }

  void answer(const Message& message, int passed) const {
    const std::array<int, 1> descriptors = {passed};
    (void)sys::send_with(socket_, message.encode(),
                         std::span<const int>(descriptors).first(passed >= 0 ? 1 : 0), 0);
  }

  int socket_;
  const Warm& warm_;
  std::unique_ptr<char[]> buffer_;
  sigset_t old_mask_{};
  std::map<pid_t, std::uint32_t> forks_;
  std::deque<Message> unsaid_;  // Ends; no more than there were forks.
};

}  // namespace

std::optional<ForkRequest> serve_forks(int socket, const Warm& warm) {
  // Each fork begins undumpable: those that are in its sandbox already must not reach into it.
  sys::become_undumpable();
  const std::string ready =
      Message{.kind = Message::Kind::kReady, .text = std::string(warm.version)}.encode();
  if (::send(socket, ready.data(), ready.size(), MSG_NOSIGNAL) < 0) {
    return std::nullopt;
  }
  return Server(socket, warm).serve();
}

}  // namespace glovebox::zygote
