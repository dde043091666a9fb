// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/gvisor/control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/json/json.h"
#include "base/sys/descriptors.h"
#include "base/text.h"

namespace glovebox {
namespace {

constexpr const char* kName = "/control";

// By the directory's descriptor, for a path may be longer than an address.
Result<UniqueFd> directory_of(const std::string& path) {
  UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return directory ? Result<UniqueFd>(std::move(directory)) : Error::from_errno("open " + path);
}

sockaddr_un address_in(const UniqueFd& directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(directory.get()) + kName;
  std::memcpy(&address.sun_path, path.data(), path.size());
  return address;
}

Result<UniqueFd> new_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket ? Result<UniqueFd>(std::move(socket)) : Error::from_errno("socket");
}

}  // namespace

Result<bool> KernelAnswer::take(std::string_view bytes) {
  for (const char byte : bytes) {
    if (text_.size() == kMost) {
      return Error(ErrorCode::kInvalid, "gVisor's answer is too long");
    }
    text_.push_back(byte);
    if (in_string_) {
      in_string_ = escaped_ || byte != '"';
      escaped_ = !escaped_ && byte == '\\';
    } else if (byte == '"') {
      in_string_ = true;
    } else if (byte == '{' || byte == '[') {
      ++depth_;
    } else if ((byte == '}' || byte == ']') && depth_ > 0) {
      --depth_;
    }
    if (depth_ == 0) {
      return judge();  // Or it does not begin as an object does.
    }
  }
  return false;
}

Result<bool> KernelAnswer::judge() const {
  const auto answer = nlohmann::json::parse(text_, nullptr, /*allow_exceptions=*/false);
  const auto success = answer.is_object() ? answer.find("success") : answer.end();
  if (!answer.is_object() || success == answer.end() || !success->is_boolean()) {
    return Error(ErrorCode::kInvalid, "gVisor's answer is not valid: " + printable(text_));
  }
  if (success->get<bool>()) {
    return true;
  }
  const auto said = answer.find("err");
  return Error(ErrorCode::kUnavailable, said != answer.end() && said->is_string()
                                            ? printable(said->get_ref<const std::string&>())
                                            : "gVisor does not say why");
}

Result<UniqueFd> KernelControl::listen(const std::string& directory) {
  const UniqueFd place = GB_TRY(directory_of(directory));
  UniqueFd socket = GB_TRY(new_socket());
  const sockaddr_un address = address_in(place);
  constexpr int kWaiting = 16;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kWaiting) != 0) {
    return Error::from_errno("listen in " + directory);
  }
  return socket;
}

void KernelControl::forget(const std::string& directory) {
  (void)::unlink((directory + kName).c_str());
}

Result<std::optional<KernelControl>> KernelControl::connect(const std::string& directory) {
  const UniqueFd place = GB_TRY(directory_of(directory));
  UniqueFd socket = GB_TRY(new_socket());
  const sockaddr_un address = address_in(place);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return std::optional<KernelControl>(KernelControl(std::move(socket)));
  }
  if (errno == ENOENT) {
    return std::optional<KernelControl>();
  }
  return Error::from_errno("connect to gVisor's kernel");
}

Result<void> KernelControl::send(std::string_view method,
                                 std::string_view argument,
                                 std::span<const int> passed) {
  std::string call = R"({"method":")";
  call.append(method).append(R"(","arg":)").append(argument).append("}");
  const ssize_t sent = sys::send_with(socket_.get(), call, passed, 0);
  return sent == std::ssize(call) ? Result<void>() : Error::from_errno("send to gVisor's kernel");
}

Result<void> KernelControl::await_success(std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + patience;
  KernelAnswer answer;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd arrived{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&arrived, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready == 0) {
      return Error(ErrorCode::kUnavailable, "gVisor's kernel does not answer");
    }
    std::array<char, 4096> bytes;
    const ssize_t got = ready < 0 ? -1 : ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return Error(ErrorCode::kUnavailable, "gVisor's kernel has ended");
    }
    if (GB_TRY(answer.take({bytes.data(), static_cast<std::size_t>(got)}))) {
      return {};
    }
  }
}

}  // namespace glovebox
