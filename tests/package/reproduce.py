#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds ./dev dist from the last commit in two clean Debian roots and compares the checksums.

Usage: reproduce.py [--keep] [DIRECTORY]      as root, with mmdebstrap; by default in build/reproduce

The roots have the same packages, from this machine's own apt sources. All else differs: the path, the
user, the host's name, the time zone, the locale, the umask and the number of jobs.
Exit status 1 if any file differs; what was built stays in DIRECTORY then.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = "bookworm"
TRUSTED = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
# In a mount namespace of its own; the arguments are the root, the host's name, a umask, and a command.
ENTER = """
set -e
root=$1
hostname "$2"
umask "$3"
shift 3
mount --make-rprivate /
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
exec chroot "$root" "$@"
"""
AS_USER = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups")


class Place:
    """A root, and how `./dev dist` is built in it."""

    def __init__(self, root, source, *, user, host, umask, jobs, **env):
        self.root, self.source = root, source
        self.user, self.host, self.umask = user, host, umask
        self.home = "/home/builder" if user else "/root"
        # A registry, a proxy and its certificates are named by the caller's environment, if at all.
        self.env = os.environ | {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.home,
                                 "NODE_EXTRA_CA_CERTS": str(TRUSTED),
                                 "CMAKE_BUILD_PARALLEL_LEVEL": str(jobs), **env}
        for name in ("SOURCE_DATE_EPOCH", "TMPDIR", "CCACHE_DIR", "CXX", "CXXFLAGS"):
            self.env.pop(name, None)

    def run(self, *command, user, log):
        """Runs a command inside, in the source directory."""
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', self.source, *command]
        with open(log, "a", encoding="utf-8") as file:
            done = subprocess.run(
                ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh",
                 self.root, self.host, self.umask, *(AS_USER if user else ()), *inside],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=self.env, check=False)
        if done.returncode != 0:
            tail = pathlib.Path(log).read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
            sys.exit("\n".join([*tail, f"reproduce: '{' '.join(command)}' failed in {self.root}; see {log}"]))

    def clone(self):
        source = self.root / self.source.lstrip("/")
        source.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, source], check=True)
        home = self.root / self.home.lstrip("/")
        home.mkdir(parents=True, exist_ok=True)
        for name in (".npmrc", ".config/pip"):
            own = pathlib.Path.home() / name
            if own.is_file():
                shutil.copy(own, home / name)
        if self.user:
            subprocess.run(["chown", "-R", "1000:1000", source, home], check=True)

    def built(self):
        return self.root / self.source.lstrip("/") / "build/dist"


def sources():
    places = [pathlib.Path("/etc/apt/sources.list"),
              *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]
    return [path for path in places if path.suffix in (".list", ".sources") and path.is_file()]


def make_root(root):
    """A minimal Debian, by this machine's apt sources, proxies and certificates."""
    settings = subprocess.run(["apt-config", "dump"], check=True, stdout=subprocess.PIPE, text=True).stdout
    options = [f"--aptopt={line}" for line in settings.splitlines() if re.match(r"Acquire::https?::", line)]
    # It mounts /proc in there, which is nobody else's business.
    subprocess.run(["unshare", "--mount", "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase",
                    "--include=ca-certificates,git,openssl", *options, SUITE, root, *sources()], check=True)
    for path in ("/etc/resolv.conf", "/etc/hosts", TRUSTED):
        if os.path.exists(path):
            shutil.copy(path, root / str(path).lstrip("/"))


def checksums(place):
    lines = (place.built() / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split(None, 1) for line in lines)}


def differing(first, second):
    """The names of files that are not the same in both; prints one line for each file."""
    sums = [checksums(first), checksums(second)]
    names = sorted({*sums[0], *sums[1]})
    for name in names:
        here, there = (each.get(name, "missing") for each in sums)
        print(f"{here}  {name}" if here == there else f"DIFFERS: {name}: {here} and {there}")
    return [name for name in names if sums[0].get(name) != sums[1].get(name)]


def build_both(work):
    cpus = len(os.sched_getaffinity(0))
    first = Place(work / "first", "/src/glovebox", user=False, host="first", umask="0022", jobs=cpus,
                  LC_ALL="C.UTF-8", TZ="UTC")
    second = Place(work / "second", "/home/builder/a-longer-path/glovebox-checkout", user=True, host="second",
                   umask="0077", jobs=max(1, cpus // 2), LC_ALL="POSIX", TZ="Pacific/Kiritimati")
    make_root(first.root)
    first.clone()
    first.run("./dev", "deps", "build", "dist", user=False, log=work / "deps.log")
    first.run("sh", "-c", "command -v npm || apt-get install -y -qq --no-install-recommends npm", user=False,
              log=work / "deps.log")
    subprocess.run(["cp", "-a", "--reflink=auto", first.root, second.root], check=True)
    shutil.rmtree(second.root / first.source.lstrip("/"))
    second.clone()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(place.run, "./dev", "dist", user=place.user,
                                 log=work / f"{place.host}.log") for place in (first, second)]:
            done.result()
    return first, second


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--keep", action="store_true", help="leave the roots where they are")
    parser.add_argument("directory", nargs="?", type=pathlib.Path, default=ROOT / "build/reproduce",
                        help="where the roots are made (default: build/reproduce)")
    chosen = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("reproduce: must be root")
    chosen.directory.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(dir=chosen.directory.resolve()))
    work.chmod(0o755)
    first, second = build_both(work)
    differ = differing(first, second)
    if differ:
        print(f"reproduce: {len(differ)} files differ\nhint: diffoscope {first.built()}/{differ[0]} "
              f"'{second.built()}/{differ[0]}'", file=sys.stderr)
    elif not chosen.keep:
        shutil.rmtree(work)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
