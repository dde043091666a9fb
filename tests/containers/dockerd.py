# SPDX-License-Identifier: Apache-2.0
"""A Docker daemon of our own, without a network, in a directory of its own; and an image made here
from programs of this machine."""
import io
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import tarfile
import tempfile
import time

PATIENCE_S = 60
ARGUMENTS = {"runsc": ["--network=none", "--host-uds=open"]}
# Where Debian has programs that only root uses.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
IMAGE = "glovebox-containers:test"


class Docker:
    """A daemon of our own, in a directory of its own. It knows runc, and the runtimes
    that are named."""

    def __init__(self, runtimes=()):
        self.runtimes = [name for name in runtimes if name != "runc"]
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gb-docker."))
        self.host = f"unix://{self.dir}/s"
        self.process = None

    def start(self):
        """None, or why it does not start."""
        program = shutil.which("dockerd", path=PATH)
        if os.geteuid() != 0 or program is None or shutil.which("docker", path=PATH) is None:
            return "needs root and dockerd (Debian's docker.io)"
        with open(self.dir / "log", "wb") as log:
            self.process = subprocess.Popen(
                [program, "--host", self.host, "--data-root", self.dir / "data",
                 "--exec-root", self.dir / "exec", "--pidfile", self.dir / "pid", "--bridge=none",
                 "--iptables=false", "--ip-forward=false",
                 "--config-file", self.configuration()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "PATH": PATH})
        end = time.monotonic() + PATIENCE_S
        while self.ask("version").returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                lines = (self.dir / "log").read_text(errors="replace").strip().splitlines()
                return f"dockerd does not start: {' '.join(lines[-1:])}"
            select.select([], [], [], 0.1)
        made = self.ask("import", "-", IMAGE, input=small_root())
        if made.returncode != 0:
            return f"docker makes no image: {made.stderr.decode(errors='replace')}"
        began = self.ask("run", "--rm", "--network", "none", IMAGE, "/usr/bin/sh", "-c", "exit 0")
        return None if began.returncode == 0 else (
            f"docker starts no container: {began.stderr.decode(errors='replace')}")

    def ask(self, *words, **how):
        return subprocess.run(
            ["docker", "-H", self.host, *words], env={**os.environ, "PATH": PATH},
            capture_output=True, check=False, timeout=PATIENCE_S, **how)

    def configuration(self):
        """A file that names the runtimes. gVisor's makes no interfaces, for
        containers have none, and lets through the socket by which a sandbox is controlled."""
        runtimes = {name: {"path": shutil.which(name, path=PATH), "runtimeArgs": ARGUMENTS.get(name, [])}
                    for name in self.runtimes}
        file = self.dir / "daemon.json"
        file.write_text(json.dumps({"runtimes": runtimes}), encoding="utf-8")
        return file

    @staticmethod
    def path():
        """Where its programs are looked for."""
        return PATH

    @staticmethod
    def root():
        """The file system of IMAGE, as a tar archive."""
        return small_root()

    def discard(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)
        shutil.rmtree(self.dir, ignore_errors=True)


def small_root():
    """A root file system with a shell, as a tar archive."""
    programs = {"/usr/bin/dash", "/usr/bin/cat", "/usr/bin/id"}
    paths = set(programs)
    for program in programs:
        listed = subprocess.run(["ldd", program], capture_output=True, check=True, text=True).stdout
        paths.update(re.findall(r"(/\S+) \(0x", listed))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        for name in ("bin", "sbin", "lib", "lib64"):
            tar.addfile(link(name, f"usr/{name}"))
        for name in ("usr", "usr/sbin", "tmp", "run", "proc", "dev", "sys", "etc"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
        for path in sorted(paths):
            tar.add(path, path.removeprefix("/") if path.startswith("/usr/") else "usr" + path)
        tar.addfile(link("usr/bin/sh", "dash"))
    return archive.getvalue()


def link(name, target):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = tarfile.SYMTYPE, target
    return made
