# SPDX-License-Identifier: Apache-2.0
"""The oracle of what the kernel counts for a user, for the whole host, or for nobody.

While the attack runs, two others go on doing what everybody may: a process of whoever started the
sandbox, and a second sandbox of theirs. Neither may fail. And the host's own counts are sampled:
none may rise by more than what the case names in its table `most`.
"""

import os
import shutil
import subprocess
import threading

# Prints "ready", and later the first thing that fails.
PROBE = """
import ctypes, fcntl, os, select, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def checked(what, answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), what)
    return answer
def inotify():
    os.close(checked("inotify_init", libc.inotify_init1(0)))
def timer():
    timer = ctypes.c_void_p()
    checked("timer_create", libc.timer_create(1, None, ctypes.byref(timer)))
    libc.timer_delete(timer)
def queued_signal():
    checked("sigqueue", libc.sigqueue(os.getpid(), signal.SIGRTMIN + 1, None))
    signal.sigtimedwait({signal.SIGRTMIN + 1}, 1)
def descriptor_in_flight():
    left, right = socket.socketpair()
    with left, right:
        socket.send_fds(left, [b"x"], [left.fileno()])
        for fd in socket.recv_fds(right, 1, 1)[1]:
            os.close(fd)
def lock():
    with open(PLACE, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
def pipe():
    reader, writer = os.pipe()
    size = fcntl.fcntl(writer, 1032)  # F_GETPIPE_SZ
    os.close(reader)
    os.close(writer)
    if size < 65536:
        raise OSError(0, "a pipe of %d bytes" % size)
def watch():
    with select.epoll() as epoll, socket.socket(socket.AF_UNIX) as one:
        epoll.register(one)
def process():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
def terminal():
    for fd in os.openpty():
        os.close(fd)
def connection():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as one, server.accept()[0] as other:
            one.sendall(b"x" * 1000)
            if len(other.recv(1000, socket.MSG_WAITALL)) != 1000:
                raise OSError(0, "bytes were lost")
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN + 1})
able = []
for does in inotify, timer, queued_signal, descriptor_in_flight, lock, pipe, watch, process, terminal, connection:
    try:
        if does.__name__ in SHARED:
            continue
        does()
        able.append(does)
    except OSError:
        pass  # Refused without an attack, too.
print("ready", flush=True)
while True:
    for does in able:
        try:
            does()
        except OSError as error:
            print(WHERE, "failed:", does.__name__, error, flush=True)
            sys.exit()
    time.sleep(0.01)
"""


# What one user's sandboxes share, with one another or with the user (SECURITY.md). Root's do not.
SHARED_WITH_USER = {"pipe", "watch"}
SHARED_WITH_OTHERS = {*SHARED_WITH_USER, "descriptor_in_flight", "queued_signal", "timer"}


def probe_of(where, place, shared):
    return f"WHERE, PLACE, SHARED = {where!r}, {place!r}, {shared!r}\n{PROBE}"


class Accounts:
    def __init__(self, host, most):
        self.options = []
        self.most = most
        place = os.path.join(host.home, "probe")
        identity = {"user": host.uid, "group": host.uid, "extra_groups": []} if host.uid else {}
        # Not our own Python, which the user may not be able to execute.
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
        code = probe_of("on the host", place, SHARED_WITH_USER if host.uid else set())
        self.probes = [subprocess.Popen([python, "-c", code], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, cwd="/", **identity)]
        if host.neighbour:
            code = probe_of("in a second sandbox", "/tmp/probe",
                            SHARED_WITH_OTHERS if host.uid else set())
            self.probes.append(host.neighbour(code))
        self.said = [probe.stdout.readline() for probe in self.probes]
        self.before = counts()
        self.highest = dict(self.before)
        self.ends = threading.Event()
        self.sampler = threading.Thread(target=self.sample)
        self.sampler.start()

    def sample(self):
        while not self.ends.wait(0.1):
            for name, count in counts().items():
                self.highest[name] = max(self.highest[name], count)

    def complaints(self, _verdict):
        self.stop_sampling()
        found = []
        for probe, said in zip(self.probes, self.said):
            if not said.startswith("ready"):
                found.append(f"a probe did not start: {said.strip()}")
            elif probe.poll() is None:
                probe.terminate()
            found += [line for line in probe.communicate()[0].splitlines() if "failed:" in line]
        for name, most in self.most.items():
            rise = self.highest[name] - self.before[name]
            if rise > most:
                found.append(f"{name} rose by {rise}, at most {most} are expected")
        return found

    def stop_sampling(self):
        self.ends.set()
        self.sampler.join()

    def remove(self):
        self.stop_sampling()
        for probe in self.probes:
            probe.kill()
            probe.wait()
            probe.stdout.close()


def counts():
    """What the host has of each now; names as in the tables `most`."""
    memory = {name: int(amount.split()[0]) for name, amount in
              (line.split(":") for line in lines_of("/proc/meminfo"))}
    programs = sum(memory[name] for name in ("AnonPages", "Buffers", "Cached", "SwapCached"))
    kernel = memory["MemTotal"] - memory["MemFree"] - memory["SReclaimable"] - programs
    sockets = {line.split()[0]: line.split() for line in lines_of("/proc/net/sockstat")}
    groups = {line.split()[0]: line.split() for line in lines_of("/proc/cgroups")}
    return {
        # Of programs only what they share: others on this machine may need some at the same time.
        "memory-mib": (kernel + memory["Shmem"]) // 1024,
        "names-mib": memory["SReclaimable"] // 1024,
        "huge-pages": memory["HugePages_Total"] - memory["HugePages_Free"],
        "open-files": int(lines_of("/proc/sys/fs/file-nr")[0].split()[0]),
        "asynchronous-io": int(lines_of("/proc/sys/fs/aio-nr")[0]),
        "terminals": int(lines_of("/proc/sys/kernel/pty/nr")[0]),
        "locks": len(lines_of("/proc/locks")),
        "orphans": int(sockets["TCP:"][sockets["TCP:"].index("orphan") + 1]),
        "memory-cgroups": int(groups["memory"][2]),
    }


def lines_of(path):
    with open(path, encoding="ascii") as file:
        return file.read().splitlines()
