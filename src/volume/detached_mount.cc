// SPDX-License-Identifier: Apache-2.0
#include "volume/detached_mount.h"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace glovebox {
namespace {

// Why the kernel refused, in its own words: a descriptor of fsopen() has them.
std::string said_by(int context) {
  std::array<char, 512> text{};
  const ssize_t size = ::read(context, text.data(), text.size());
  return size > 2 ? " (" + std::string(text.data() + 2, static_cast<std::size_t>(size) - 2) + ")"
                  : std::string();
}

}  // namespace

Result<UniqueFd> mount_device(const char* type,
                              const std::string& device,
                              std::span<const MountOption> options,
                              unsigned attributes) {
  const UniqueFd context(::fsopen(type, FSOPEN_CLOEXEC));
  if (!context) {
    return Error::from_errno(std::string("fsopen ") + type)
        .with_hint(std::string("load the kernel module '") + type + "'");
  }
  const auto set = [&](const MountOption& option) {
    const unsigned kind = option.value == nullptr ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
    return ::fsconfig(context.get(), kind, option.name, option.value, 0) == 0;
  };
  const bool told = set({"source", device.c_str()}) && std::ranges::all_of(options, set) &&
                    ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
  if (!told) {
    const int error = errno;
    return Error::from_errno("mount " + device + said_by(context.get()), error);
  }
  UniqueFd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, attributes));
  if (!mount) {
    return Error::from_errno("fsmount " + device);
  }
  return mount;
}

}  // namespace glovebox
