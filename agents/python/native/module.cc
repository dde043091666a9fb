// SPDX-License-Identifier: Apache-2.0
// _glovebox: the Python module that forks. Stable ABI, so that one file serves every CPython from
// 3.9 on.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <fcntl.h>
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
#include <optional>
#include <string>
#include <vector>

#include "base/frame.h"
#include "base/sys/descriptors.h"
#include "base/sys/raw.h"
#include "base/sys/undumpable.h"
#include "checkpoint.h"
#include "context/zygote_protocol.h"
#include "entry.h"
#include "forking.h"
#include "huge_pages.h"

namespace glovebox::zygote {
namespace {

// The zygote's side: takes requests until its socket closes, and returns in the forks only.
class Server {
 public:
  explicit Server(int socket)
      : socket_(socket), buffer_(new char[kMaxMessage]), files_(library_files()) {}

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
      // There is one thread, so this is early enough; and the zygote writes to none of Python's
      // memory, whose huge pages would be split for it and copied page by page from then on.
      PyOS_BeforeFork();
      PyOS_AfterFork_Child();
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
    const Entered entered = enter_sandbox(request, passed, files_);
    if (entered.result < 0) {
      std::string frame;
      append_frame(frame, kNotEntered, 0,
                   std::string(entered.step) + ": errno " + std::to_string(-entered.result));
      // Before or after they were arranged, the channel is one of these.
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

  // As many as the socket takes: whoever ended them need not be reading, and waits until all
  // processes of a sandbox have been waited for, which is our part.
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
  std::unique_ptr<char[]> buffer_;
  std::vector<int> files_;
  sigset_t old_mask_{};
  std::map<pid_t, std::uint32_t> forks_;
  std::deque<Message> unsaid_;  // Ends; no more than there were forks.
};

PyObject* to_list(const std::vector<std::string>& texts) {
  PyObject* const list = PyList_New(static_cast<Py_ssize_t>(texts.size()));
  if (list == nullptr) {
    return nullptr;
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    PyObject* const text =
        PyUnicode_DecodeFSDefaultAndSize(texts[i].data(), static_cast<Py_ssize_t>(texts[i].size()));
    if (text == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), text) != 0) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

// serve_forks(fd, version) -> list of "NAME=value", or None
PyObject* serve_forks(PyObject*, PyObject* arguments) {
  int fd = -1;
  const char* version = nullptr;
  if (PyArg_ParseTuple(arguments, "is", &fd, &version) == 0) {
    return nullptr;
  }
  // Each fork begins undumpable: those that are in its sandbox already shall not reach into it.
  sys::become_undumpable();
  collapse_memory();
  const std::string ready = Message{.kind = Message::Kind::kReady, .text = version}.encode();
  if (::send(fd, ready.data(), ready.size(), MSG_NOSIGNAL) < 0) {
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  Server server(fd);
  const auto request = server.serve();
  if (!request) {
    Py_RETURN_NONE;
  }
  return to_list(request->env);
}

// checkpoint(channel, reply) -> "original", "rollback" or "fork"
PyObject* checkpoint(PyObject*, PyObject* arguments) {
  int channel = -1;
  const char* reply = nullptr;
  Py_ssize_t size = 0;
  if (PyArg_ParseTuple(arguments, "iy#", &channel, &reply, &size) == 0) {
    return nullptr;
  }
  PyOS_BeforeFork();
  const Awakening awakening = make_checkpoint(channel, {reply, static_cast<std::size_t>(size)});
  switch (awakening) {
    case Awakening::kFailed: {
      const int error = errno;
      PyOS_AfterFork_Parent();
      errno = error;
      return PyErr_SetFromErrno(PyExc_OSError);
    }
    case Awakening::kOriginal:
      PyOS_AfterFork_Parent();
      return PyUnicode_FromString("original");
    case Awakening::kRolledBack:
      PyOS_AfterFork_Child();
      return PyUnicode_FromString("rollback");
    case Awakening::kForked:
      PyOS_AfterFork_Child();
      return PyUnicode_FromString("fork");
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"serve_forks", serve_forks, METH_VARARGS,
     "serve_forks(fd, version): fork for each request on the socket, each fork in the sandbox that "
     "came with it. Returns the environment in a fork, None in the zygote when the socket closes."},
    {"checkpoint", checkpoint, METH_VARARGS,
     "checkpoint(channel, reply): leave a sleeping copy of this process behind and send the reply "
     "frame with its descriptors. Returns again in each process that the copy makes."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_glovebox", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace glovebox::zygote

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): Python's name.
PyMODINIT_FUNC PyInit__glovebox() { return PyModule_Create(&glovebox::zygote::module); }
