// SPDX-License-Identifier: Apache-2.0
#include "warden/moving_in.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "base/sys/raw.h"
#include "spec/guest.h"
#include "spec/warden_protocol.h"
#include "warden/file_rules.h"

namespace glovebox::warden {
namespace {

// The warden's own user: any that is neither root nor a guest.
constexpr unsigned kWardenId = 999;

Result<void> checked(long result, const std::string& attempt) {
  return result < 0 ? Result<void>(Error::from_errno(attempt, static_cast<int>(-result)))
                    : Result<void>();
}

// Reads the request, and no byte of what follows it.
Result<MoveInRequest> receive_request(int control) {
  FrameParser parser;
  std::array<char, 4096> bytes;
  Frame frame;
  while (!GB_TRY(parser.next(frame))) {
    const ssize_t got = ::recv(control, bytes.data(), std::min(parser.missing(), bytes.size()), 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return Error(ErrorCode::kUnavailable, "the outside is gone");
    }
    parser.feed({bytes.data(), static_cast<std::size_t>(got)});
  }
  return static_cast<Request>(frame.type) == Request::kMoveIn
             ? MoveInRequest::decode(frame.payload)
             : Error(ErrorCode::kInvalid, "the first request does not ask to move in");
}

std::string in_place(std::string_view name) { return kMovingPlace + ("/" + std::string(name)); }

Result<void> make_directory(const std::string& path, unsigned mode) {
  return checked(sys::raw(SYS_mkdir, path.c_str(), mode), "create " + path);
}

Result<void> give_to_guests(const std::string& path) {
  return checked(sys::raw(SYS_chown, path.c_str(), kGuestUid, kGuestGid), "chown " + path);
}

Result<void> show(const std::string& what, const std::string& at) {
  return checked(sys::raw(SYS_mount, what.c_str(), at.c_str(), nullptr, MS_BIND, nullptr),
                 "mount " + at);
}

Result<void> make_read_only(const std::string& path) {
  return checked(sys::raw(SYS_mount, nullptr, path.c_str(), nullptr,
                          MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr),
                 "mount " + path + " read-only");
}

Result<void> put_out_of_sight(const char* mount) {
  return checked(sys::raw(SYS_umount2, mount, MNT_DETACH), std::string("unmount ") + mount);
}

// For the guests to write: all of it pieces of one file system.
Result<void> arrange_directories(const std::vector<std::string>& targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::string piece = in_place("d" + std::to_string(i));
    GB_TRY(make_directory(piece, i == 0 ? 0755 : 01777));
    if (i == 0) {
      GB_TRY(give_to_guests(piece));
    }
    GB_TRY(show(piece, targets[i]));
  }
  return {};
}

// For the guests to read, and for us to write.
Result<Warden::Machine> arrange_machine(const std::vector<std::string>& targets) {
  Warden::Machine machine;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::string path = in_place("m" + std::to_string(i));
    UniqueFd file(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
    if (!file) {
      return Error::from_errno("create " + path);
    }
    if (auto shown = show(path, targets[i]); shown) {
      GB_TRY(make_read_only(targets[i]));
      machine[i] = std::move(file);
    } else if (shown.error().os_error() != ENOENT) {
      return shown.error();
    }
  }
  return machine;
}

// gVisor shows a process's descriptors to every process of the same user, traceable or not.
Result<UniqueFd> hide_own_process() {
  UniqueFd own(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!own) {
    return Error::from_errno("open /proc/self");
  }
  const std::string nothing = in_place("nothing");
  const std::string path = "/proc/" + std::to_string(::getpid());
  GB_TRY(make_directory(nothing, 0555));
  GB_TRY(show(nothing, path));
  GB_TRY(make_read_only(path));
  return own;
}

// Removes those of the kernel's own devices that no guest needs and bugs have come through.
void remove_devices() {
  for (const char* const device : {"/dev/fuse", "/dev/net/tun"}) {
    (void)sys::raw(SYS_unlink, device);
  }
  (void)sys::raw(SYS_rmdir, "/dev/net");
}

// Replaces the kernel's own /sys with what programs read to count the processors.
Result<void> arrange_sys() {
  std::string path = in_place("sys");
  GB_TRY(make_directory(path, 0755));
  for (const char* const name : {"/devices", "/system", "/cpu"}) {
    path += name;
    GB_TRY(make_directory(path, 0755));
  }
  const UniqueFd online(::open((path + "/online").c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (!online) {
    return Error::from_errno("create " + path + "/online");
  }
  for (const char* const name : {"/possible", "/present"}) {
    GB_TRY(checked(sys::raw(SYS_symlink, "online", (path + name).c_str()), "link " + path + name));
  }
  GB_TRY(show(in_place("sys"), "/sys"));
  return make_read_only("/sys");
}

Result<UniqueFd> arrange_store() {
  const std::string path = in_place("store");
  GB_TRY(make_directory(path, 0700));
  UniqueFd store(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!store) {
    return Error::from_errno("open " + path);
  }
  GB_TRY(give_to_guests(path));
  return store;
}

Result<void> give_up_privileges() {
  for (int capability = 0; capability <= 63; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      break;  // Past the last one that this kernel has; the walls' report shows what is left.
    }
  }
  GB_TRY(checked(sys::raw(SYS_setgroups, 0, nullptr), "leave all groups"));
  GB_TRY(checked(sys::raw(SYS_setresgid, kWardenId, kGuestGid, kWardenId), "change the group"));
  // With the last id that was root's, the capabilities go (capabilities(7)).
  GB_TRY(checked(sys::raw(SYS_setresuid, kWardenId, kGuestUid, kWardenId), "change the user"));
  return checked(sys::raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set no_new_privs");
}

Result<void> install_filter(const std::string& bytes) {
  std::vector<sock_filter> filter(bytes.size() / sizeof(sock_filter));
  std::memcpy(filter.data(), bytes.data(), filter.size() * sizeof(sock_filter));
  const struct {
    unsigned short length;
    const sock_filter* filter;
  } program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return checked(sys::raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program),
                 "install the system call filter");
}

}  // namespace

Result<Belongings> move_in(int control) {
  Belongings own;
  // Modes are meant as they are written; the umask of guests comes later.
  (void)::umask(0);
  own.archiver = UniqueFd(::open(kMovingArchiver, O_RDONLY | O_CLOEXEC));
  if (!own.archiver) {
    return Error::from_errno(std::string("open ") + kMovingArchiver);
  }
  GB_TRY(put_out_of_sight(kMovingArchiver));
  GB_TRY(put_out_of_sight(kMovingWarden));
  GB_TRY(arrange_sys());
  own.store = GB_TRY(arrange_store());
  remove_devices();
  own.proc_self = GB_TRY(hide_own_process());
  const MoveInRequest request = GB_TRY(receive_request(control));
  GB_TRY(arrange_directories(request.directories));
  own.machine = GB_TRY(arrange_machine(request.machine_targets));
  GB_TRY(put_out_of_sight(kMovingPlace));
  GB_TRY(checked(sys::raw(SYS_chdir, request.directories.front().c_str()), "enter the workspace"));
  GB_TRY(give_up_privileges());
  own.landlock = GB_TRY(restrict_files(request.directories, own.archiver.get(), own.store.get()));
  GB_TRY(install_filter(request.filter));
  return own;
}

void refuse(int control, const Error& error) {
  std::string bytes;
  append_frame(bytes, static_cast<std::uint8_t>(Reply::kDone), 0,
               DoneReport{.error = error.message(), .os_error = error.os_error()}.encode());
  (void)::send(control, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

}  // namespace glovebox::warden
