# SPDX-License-Identifier: Apache-2.0
"""Archives whose bytes depend on their contents alone: sorted, without users, with one time."""
import base64
import gzip
import hashlib
import io
import os
import pathlib
import struct
import tarfile
import time
import zipfile


def epoch():
    return int(os.environ["SOURCE_DATE_EPOCH"])


def mode_of(path):
    return 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644


def tree(folder):
    """Everything below a folder, parents first, as paths relative to it."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


def tar(folder, prefix="", modes=None):
    """The folder's contents as an uncompressed tar, under `prefix`. `modes`: exceptions, by name."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in tree(folder):
            path = folder / name
            entry = tarfile.TarInfo(prefix + str(name))
            entry.mtime = epoch()
            if path.is_symlink():
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
                archive.addfile(entry)
                continue
            entry.mode = (modes or {}).get(str(name), mode_of(path))
            if path.is_dir():
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                content = path.read_bytes()
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def gzipped(content):
    return gzip.compress(content, compresslevel=6, mtime=0)


def zipped(files):
    """A zip of (name, content, mode), in the given order."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, time.gmtime(epoch())[:6])
            entry.create_system = 3  # Unix, so that the modes count.
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return data.getvalue()


def jar_again(path):
    """Writes a jar anew, its manifest first, as Java wants it."""
    with zipfile.ZipFile(path) as archive:
        names = sorted(archive.namelist(), key=lambda name: (not name.startswith("META-INF"), name))
        files = [(name, archive.read(name), 0o644) for name in names if not name.endswith("/")]
    path.write_bytes(zipped(files))


def assembly_again(path):
    """Gives a .NET assembly a time and an id (MVID) that depend on its contents."""
    data = bytearray(path.read_bytes())
    time_at = struct.unpack_from("<I", data, 0x3C)[0] + 8
    metadata = data.index(b"BSJB")
    guids = data.index(b"#GUID\0", metadata)
    id_at = metadata + struct.unpack_from("<I", data, guids - 8)[0]
    data[time_at:time_at + 4] = bytes(4)
    data[id_at:id_at + 16] = bytes(16)
    data[id_at:id_at + 16] = hashlib.sha256(data).digest()[:16]
    path.write_bytes(data)


def wheel(name, version, tag, summary, program, data, packages, project, readme):
    """A wheel that installs `program` as a script, the folder `data` into the prefix, and the Python
    code of the folder `packages`, as `project` of a pyproject.toml and its README describe it.
    """
    top = f"{name}-{version}"
    files = [(str(path), (packages / path).read_bytes(), 0o644)
             for path in tree(packages) if (packages / path).is_file()]
    files += [(f"{top}.data/scripts/{program.name}", program.read_bytes(), 0o755)]
    files += [(f"{top}.data/data/{path}", (data / path).read_bytes(), mode_of(data / path))
              for path in tree(data) if (data / path).is_file()]
    files += [(f"{top}.dist-info/METADATA",
               metadata(name, version, summary, project, readme).encode(), 0o644),
              (f"{top}.dist-info/WHEEL", ("Wheel-Version: 1.0\nGenerator: glovebox\n"
                                          "Root-Is-Purelib: false\n"
                                          f"Tag: {tag}\n").encode(), 0o644)]
    points = "".join(f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
                     for group, entries in project.get("entry-points", {}).items())
    if points:
        files.append((f"{top}.dist-info/entry_points.txt", points.encode(), 0o644))
    record = "".join(f"{path},sha256={digest(content)},{len(content)}\n"
                     for path, content, _ in files)
    record += f"{top}.dist-info/RECORD,,\n"
    return zipped([*files, (f"{top}.dist-info/RECORD", record.encode(), 0o644)])


def required_for(extra, requirement):
    """A requirement of an extra, with the condition that it may have of its own (PEP 508)."""
    name, _, marker = requirement.partition(";")
    own = f"({marker.strip()}) and " if marker else ""
    return f'Requires-Dist: {name.strip()}; {own}extra == "{extra}"'


def metadata(name, version, summary, project, readme):
    """The METADATA of a wheel (core metadata 2.1)."""
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}",
             f"Summary: {summary}", "License: Apache-2.0",
             f"Requires-Python: {project['requires-python']}",
             "Description-Content-Type: text/markdown"]
    for extra, requirements in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [required_for(extra, each) for each in requirements]
    return "\n".join(lines) + "\n\n" + readme


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def write(path, content):
    pathlib.Path(path).write_bytes(content)
    return path
