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


def minimal_python_root():
    """What Debian's python3-minimal installs, of this host, and a shell."""
    listed = subprocess.run(["dpkg", "-L", "libpython3.11-minimal", "python3.11-minimal"],
                            capture_output=True, text=True, check=True).stdout.split()
    entries = small_root(["/usr/bin/python3.11"]) + [("usr/bin/python3", ("->", "python3.11"))]
    there = {name for name, _ in entries}
    for path in sorted(listed):
        name = path.lstrip("/")
        if name.startswith("usr/lib/") and os.path.isfile(path) and name not in there:
            with open(path, "rb") as file:
                entries.append((name, file.read()))
    return entries


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def config(layers, env, says=None):
    return json.dumps({
        "architecture": ARCHITECTURE, "os": "linux", "config": {"Env": list(env), **(says or {})},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
    }).encode()


def docker_save(layers, env=(), tags=("small:latest",), says=None):
    """One image for each tag, with that tag in its environment where there are several. `says` is the
    rest of its configuration, in the words of the OCI."""
    entries = [(f"{i}/layer.tar", layer) for i, layer in enumerate(layers)]
    manifest = []
    for tag in tags:
        described = config(layers, [*env, *([f"TAG={tag}"] if len(tags) > 1 else [])], says)
        name = hashlib.sha256(described).hexdigest() + ".json"
        manifest.append({"Config": name, "RepoTags": [tag], "Layers": [f"{i}/layer.tar" for i in range(len(layers))]})
        entries.append((name, described))
    return tar_of([*entries, ("manifest.json", json.dumps(manifest).encode())])


def compress(layer, kind):
    if kind == "gzip":
        return gzip.compress(layer, 1)
    if kind == "zstd":
        return subprocess.run(["zstd", "-q", "-1"], input=layer, capture_output=True, check=True).stdout
    return layer


def oci_layout(layers, env=(), kind="gzip", names=(None,), says=None):
    """One image for each name, with that name in its environment where it has one."""
    blobs = {}

    def blob(data, media):
        blobs[hashlib.sha256(data).hexdigest()] = data
        return {"mediaType": media, "digest": digest(data), "size": len(data)}

    suffix = "" if kind == "plain" else "+" + kind
    packed = [blob(compress(layer, kind), "application/vnd.oci.image.layer.v1.tar" + suffix)
              for layer in layers]
    index = {"schemaVersion": 2, "manifests": []}
    for name in names:
        manifest = {
            "schemaVersion": 2,
            "config": blob(config(layers, [*env, *([f"NAME={name}"] if name else [])], says),
                           "application/vnd.oci.image.config.v1+json"),
            "layers": packed,
        }
        index["manifests"].append({
            **blob(json.dumps(manifest).encode(), "application/vnd.oci.image.manifest.v1+json"),
            "platform": {"os": "linux", "architecture": ARCHITECTURE},
            **({"annotations": {"org.opencontainers.image.ref.name": name}} if name else {})})
    return tar_of([("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
                   ("index.json", json.dumps(index).encode())]
                  + [("blobs/sha256/" + name, data) for name, data in blobs.items()])


def has_zstd():
    return any(os.access(os.path.join(path, "zstd"), os.X_OK)
               for path in os.environ.get("PATH", "").split(":"))
