# SPDX-License-Identifier: Apache-2.0
"""The container image: glovebox, a shell and Python from Debian's packages, as an OCI layout in a
tar that `docker load` reads too. Nothing is executed: packages are only unpacked."""
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import time

import archives

PACKAGES = ["base-files", "bash", "coreutils", "dash", "python3"]
# For shells and libc; the rest of /etc comes with base-files.
FILES = {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/sh\n",
         "etc/group": "root:x:0:\nnogroup:x:65534:\n"}


def download(folder, packages=PACKAGES):
    """`packages` and all that they depend on; the paths of the .debs."""
    empty = folder / "status"
    empty.touch()
    planned = subprocess.run(
        ["apt-get", "-s", "--no-install-recommends", "-o", f"Dir::State::status={empty}", "install",
         *packages], check=True, stdout=subprocess.PIPE, text=True).stdout
    wanted = sorted(set(re.findall(r"^Inst (\S+) \((\S+) ", planned, re.M)))
    place = folder / "debs"
    place.mkdir()
    subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download",
                    *(f"{name}={version}" for name, version in wanted)], check=True, cwd=place)
    return sorted(place.iterdir())


def source_of(deb):
    fields = subprocess.run(["dpkg-deb", "-W", "--showformat=${source:Package} ${source:Version}",
                             deb], check=True, stdout=subprocess.PIPE, text=True).stdout
    return tuple(fields.split())


def unpack(debs, root):
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for deb in debs:
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], check=True,
                              stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "--extract", "--keep-directory-symlink", "--no-same-owner",
                        "--directory", root], input=data, check=True)
    for name, content in FILES.items():
        (root / name).write_text(content)
    for unneeded in ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"):
        shutil.rmtree(root / unneeded, ignore_errors=True)


def blob(content, kind):
    return {"mediaType": f"application/vnd.oci.image.{kind}", "size": len(content),
            "digest": "sha256:" + hashlib.sha256(content).hexdigest()}


def make(tree, version, output, work):
    """Writes the image; returns (source, version) of what is bundled."""
    debs = download(work)
    root = work / "image"
    unpack(debs, root)
    shutil.copytree(tree, root / "usr", dirs_exist_ok=True,
                    ignore=lambda folder, names: [name for name in names if name == "share"])
    layer = archives.tar(root, modes={"tmp": 0o1777, "var/tmp": 0o1777, "root": 0o700})
    packed = archives.gzipped(layer)
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(archives.epoch()))
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "created": made,
        "config": {"Entrypoint": ["/usr/bin/glovebox"], "Cmd": ["--help"], "WorkingDir": "/",
                   "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": made, "created_by": "glovebox"}]}).encode()
    parts = {"config": blob(config, "config.v1+json"), "layer": blob(packed, "layer.v1.tar+gzip")}
    manifest = json.dumps({"schemaVersion": 2,
                           "mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "config": parts["config"], "layers": [parts["layer"]]}).encode()
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
             "manifests": [blob(manifest, "manifest.v1+json") |
                           {"annotations": {"org.opencontainers.image.ref.name": version}}]}

    def place(one):
        return "blobs/sha256/" + one["digest"].removeprefix("sha256:")

    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
             "index.json": json.dumps(index).encode(),
             # For `docker load` of versions that do not read OCI layouts.
             "manifest.json": json.dumps([{"Config": place(parts["config"]),
                                           "RepoTags": [f"glovebox:{version}"],
                                           "Layers": [place(parts["layer"])]}]).encode(),
             place(parts["config"]): config, place(parts["layer"]): packed,
             place(index["manifests"][0]): manifest}
    with tarfile.open(output, "w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), archives.epoch(), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return sorted({source_of(deb) for deb in debs})
