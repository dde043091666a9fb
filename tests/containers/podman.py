# SPDX-License-Identifier: Apache-2.0
"""Podman with storage of its own, as root or as an ordinary user (rootless), and the image that is
made here from programs of this machine."""
import contextlib
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

from dockerd import IMAGE, PATH, PATIENCE_S, small_root

# Podman's image names have a registry; this one stands for none.
LOCAL = f"localhost/{IMAGE}"
# Rootless, containers run for this user. Ids of its own are what the administrator of a machine
# gives it in /etc/subuid and /etc/subgid. Nobody gave it any, so podman sees other files there.
USER = "nobody"
SUBORDINATE = f"{USER}:200000:65536\n"
AS_USER = ('mount --bind "$0" /etc/subuid && mount --bind "$0" /etc/subgid && '
           f'exec setpriv --reuid {USER} --regid "$(id -g {USER})" --clear-groups -- "$@"')


UNIFIED = "/sys/fs/cgroup/unified"


class Podman:
    def __init__(self, rootless=False):
        self.rootless = rootless
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gb-podman."))
        self.group = self.dir.name
        self.environment = {**os.environ, "PATH": PATH, "HOME": str(self.dir),
                            "XDG_RUNTIME_DIR": str(self.dir),
                            "CONTAINERS_CONF": str(self.dir / "containers.conf")}
        self.runtime = None

    def start(self):
        """None, or why no container starts."""
        needed = ("podman", *(("newuidmap", "setpriv") if self.rootless else ()))
        missing = [name for name in needed if shutil.which(name, path=PATH) is None]
        if os.geteuid() != 0 or missing:
            return f"needs root and {', '.join(missing)} (Debian's podman and uidmap)"
        # By default Podman raises these for containers, which takes CAP_SYS_RESOURCE.
        (self.dir / "containers.conf").write_text(
            '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n')
        (self.dir / "subordinate").write_text(SUBORDINATE)
        if self.rootless:
            shutil.chown(self.dir, USER)
        # crun, which comes first where both are installed, wants no controller of cgroup v2 beside
        # those of v1.
        why = []
        for self.runtime in ("crun", "runc"):
            if shutil.which(self.runtime, path=PATH) is None:
                continue
            made = self.podman("import", "-", LOCAL, input=small_root())
            if made.returncode != 0:
                return f"podman makes no image: {last_line(made)}"
            began = self.ask("run", "--rm", "--network", "none", IMAGE, "/usr/bin/sh", "-c", "exit 0")
            if began.returncode == 0:
                return None
            why.append(f"{self.runtime}: {last_line(began)}")
        return f"podman starts no container: {'; '.join(why) or 'neither crun nor runc'}"

    def ask(self, *words, **how):
        """Like Docker's. Root's containers run in a control group of their own."""
        if words[0] == "run" and not self.rootless:
            words = ("run", "--cgroup-parent", self.group, *words[1:])
        return self.podman(*(LOCAL if word == IMAGE else word for word in words), **how)

    def podman(self, *words, **how):
        return subprocess.run(self.command(*words), env=self.environment, cwd="/",
                              capture_output=True, check=False, timeout=PATIENCE_S, **how)

    def command(self, *words):
        command = ["podman", "--root", self.dir / "root", "--runroot", self.dir / "runroot",
                   "--tmpdir", self.dir / "tmp", "--storage-driver", "vfs", "--runtime", self.runtime,
                   "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--log-level", "error",
                   *words]
        if self.rootless:
            command = ["unshare", "--mount", "sh", "-c", AS_USER, self.dir / "subordinate", *command]
        return command

    def discard(self):
        if self.runtime is not None:
            self.podman("rm", "--all", "--force")
        # Rootless, a process keeps the user namespace for the next command.
        for file in self.dir.rglob("pause.pid"):
            os.kill(int(file.read_text()), signal.SIGTERM)
        # What cleans up after a container runs on when the command has ended.
        end = time.monotonic() + PATIENCE_S
        while self.processes() and time.monotonic() < end:
            select.select([], [], [], 0.05)
        for group in pathlib.Path("/sys/fs/cgroup").glob(f"**/{self.group}"):
            for directory, _, _ in os.walk(group, topdown=False):
                os.rmdir(directory)
        shutil.rmtree(self.dir, ignore_errors=True)

    def processes(self):
        """The commands of processes that have something to do in our directory."""
        found = []
        for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if str(self.dir) in (command := file.read_text(errors="replace")):
                    found.append(command)
        return found


class PodmanService(Podman):
    """Root's, as an engine: its service for the clients of Docker, with what Docker's class has."""

    def __init__(self):
        super().__init__()
        self.host = f"unix://{self.dir}/s"
        self.service = None

    def command(self, *words):
        """Where crun finds no cgroup v2 beside v1."""
        return ["unshare", "--mount", "sh", "-c", f'umount {UNIFIED} 2>/dev/null; exec "$@"', "sh",
                *super().command(*words)]

    def start(self):
        if why := super().start():
            return why
        self.service = subprocess.Popen(
            self.command("system", "service", "--time", "0", self.host), env=self.environment, cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_S
        while not (self.dir / "s").exists():
            if self.service.poll() is not None or time.monotonic() > end:
                return "podman's service does not start"
            select.select([], [], [], 0.05)
        return None

    def discard(self):
        if self.service is not None:
            self.service.terminate()
            self.service.wait(PATIENCE_S)
        super().discard()
        # The group of all containers that were asked for over the socket, if it was the last.
        for pattern in ("*/libpod_parent/conmon", "*/libpod_parent"):
            for group in pathlib.Path("/sys/fs/cgroup").glob(pattern):
                with contextlib.suppress(OSError):
                    group.rmdir()


def last_line(done):
    return " ".join(done.stderr.decode(errors="replace").strip().splitlines()[-1:])
