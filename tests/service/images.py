# SPDX-License-Identifier: Apache-2.0
"""Images of a small root, packed as docker save and as an OCI layout, by the test itself."""

import gzip
import hashlib
import io
import json
import os
import platform
import subprocess
import tarfile

PROGRAMS = ["/usr/bin/bash", "/usr/bin/ls", "/usr/bin/cat", "/usr/bin/id", "/usr/bin/sleep"]
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def tar_of(entries):
    """`entries`: (name, bytes | ("->", target) | ("=", target) | None for a directory)."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            if content is None:
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            elif isinstance(content, tuple):
                info.type = tarfile.SYMTYPE if content[0] == "->" else tarfile.LNKTYPE
                info.linkname = content[1]
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return raw.getvalue()


def small_root(more=()):
    """Entries of a root with a shell and a few programs of this host."""
    files = set()
    for program in [*PROGRAMS, *more]:
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        files.add(program)
        files.update(word for word in listed.split() if word.startswith("/"))
    entries = [(name, ("->", "usr/" + name)) for name in ("bin", "lib", "lib64")]
    for path in sorted(files):
        place = path if path.startswith("/usr/") else "/usr" + path
        with open(path, "rb") as file:
            entries.append((place.lstrip("/"), file.read()))
    return entries


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def config(layers, env):
    return json.dumps({
        "architecture": ARCHITECTURE, "os": "linux", "config": {"Env": env},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
    }).encode()


def docker_save(layers, env=()):
    described = config(layers, list(env))
    name = hashlib.sha256(described).hexdigest() + ".json"
    entries = [(f"{i}/layer.tar", layer) for i, layer in enumerate(layers)]
    manifest = [{"Config": name, "RepoTags": ["small:latest"],
                 "Layers": [entry[0] for entry in entries]}]
    return tar_of([*entries, (name, described), ("manifest.json", json.dumps(manifest).encode())])


def compress(layer, kind):
    if kind == "gzip":
        return gzip.compress(layer, 1)
    if kind == "zstd":
        return subprocess.run(["zstd", "-q", "-1"], input=layer, capture_output=True, check=True).stdout
    return layer


def oci_layout(layers, env=(), kind="gzip"):
    blobs = {}

    def blob(data, media):
        blobs[hashlib.sha256(data).hexdigest()] = data
        return {"mediaType": media, "digest": digest(data), "size": len(data)}

    suffix = "" if kind == "plain" else "+" + kind
    manifest = {
        "schemaVersion": 2,
        "config": blob(config(layers, list(env)), "application/vnd.oci.image.config.v1+json"),
        "layers": [blob(compress(layer, kind), "application/vnd.oci.image.layer.v1.tar" + suffix)
                   for layer in layers],
    }
    described = blob(json.dumps(manifest).encode(), "application/vnd.oci.image.manifest.v1+json")
    index = {"schemaVersion": 2, "manifests": [
        {**described, "platform": {"os": "linux", "architecture": ARCHITECTURE}}]}
    return tar_of([("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
                   ("index.json", json.dumps(index).encode())]
                  + [("blobs/sha256/" + name, data) for name, data in blobs.items()])


def has_zstd():
    return any(os.access(os.path.join(path, "zstd"), os.X_OK)
               for path in os.environ.get("PATH", "").split(":"))
