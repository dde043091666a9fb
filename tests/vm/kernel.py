# SPDX-License-Identifier: Apache-2.0
"""Finds a Debian cloud kernel: installed, unpacked before, or downloaded with apt-get."""

import os
import pathlib
import re
import subprocess
import tempfile

PACKAGE = "linux-image-cloud-amd64"
CACHE = pathlib.Path(
    os.environ.get("GLOVEBOX_VM_CACHE", "/var/cache/glovebox-vm"))


class Kernel:
    def __init__(self, image, modules):
        self.image = image
        self.modules = modules

    def module_files(self, names):
        """The files of the modules and of those they need, in the order to load them."""
        files = {path.stem.replace("-", "_"): path for path in self.modules.rglob("*.ko")}
        ordered = []

        def add(name):
            path = files.get(name.replace("-", "_"))
            if path is None:  # Built into the kernel; if not, its user says what is missing.
                return
            needed = re.search(rb"\0depends=([^\0]*)\0", b"\0" + path.read_bytes())
            for other in needed.group(1).decode().split(",") if needed else []:
                if other:
                    add(other)
            if path not in ordered:
                ordered.append(path)

        for name in names:
            add(name)
        return ordered


def version_key(image):
    return [int(number) for number in re.findall(r"\d+", image.name)]


def find_below(root):
    for image in sorted(root.glob("boot/vmlinuz-*-cloud-amd64"), key=version_key, reverse=True):
        modules = root / "lib/modules" / image.name.removeprefix("vmlinuz-")
        if modules.is_dir():
            return Kernel(image, modules)
    return None


def download():
    shown = subprocess.run(["apt-cache", "depends", PACKAGE], text=True, capture_output=True)
    package = re.search(r"Depends: (linux-image-\S+)", shown.stdout)
    if not package:
        subprocess.run(["apt-get", "-q", "update"], check=True, stdout=subprocess.DEVNULL)
        shown = subprocess.run(["apt-cache", "depends", PACKAGE], text=True, capture_output=True)
        package = re.search(r"Depends: (linux-image-\S+)", shown.stdout)
    if not package:
        raise SystemExit(f"run_in_vm: apt knows no {PACKAGE}; add Debian's main archive to apt")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="new-") as new:
        def apt_download():
            return subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download",
                                   package.group(1)], cwd=new, stdout=subprocess.DEVNULL)
        if apt_download().returncode != 0:  # Old package lists name files that are gone.
            subprocess.run(["apt-get", "-q", "update"], check=True, stdout=subprocess.DEVNULL)
            apt_download().check_returncode()
        (archive,) = pathlib.Path(new).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", str(archive), new + "/root"], check=True)
        unpacked = CACHE / archive.stem
        if not unpacked.exists():
            os.rename(new + "/root", unpacked)


def find():
    kernel = find_below(pathlib.Path("/"))
    if kernel:
        return kernel
    for attempt in ("cached", "downloaded"):
        if attempt == "downloaded":
            download()
        for root in sorted(CACHE.glob("linux-image-*")) if CACHE.is_dir() else []:
            kernel = find_below(root)
            if kernel:
                return kernel
    raise SystemExit(f"run_in_vm: the kernel package has no kernel image; look into {CACHE}")
