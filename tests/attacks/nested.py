# SPDX-License-Identifier: Apache-2.0
# What comes before an attack in the position nested-root: namespaces of its own, in which it is root
# with every capability, and a /proc of its own. The attack goes on in their first process.
def become_root_inside():
    uid, gid = os.getuid(), os.getgid()
    # User, mount, pid, network, host name, IPC and cgroup.
    syscall(272, 0x7E020000)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open("/proc/self/" + name, "w", encoding="ascii") as file:
            file.write(text)
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
    # Its loopback, up: struct ifreq with SIOCSIFFLAGS and IFF_UP.
    fd = syscall(41, 2, 2, 0)
    syscall(16, fd, 0x8914, b"lo".ljust(16, b"\0") + (1).to_bytes(24, "little"))
    os.close(fd)
    syscall(165, b"proc\0", b"/proc\0", b"proc\0", 0xE, 0)


become_root_inside()
