# SPDX-License-Identifier: Apache-2.0
"""Files of packages, as pip and npm would fetch them."""

import base64
import hashlib
import io
import json
import pathlib
import tarfile
import tempfile
import zipfile


def wheel(directory, name, version, files, requires=(), scripts=None):
    """Makes a wheel (PEP 427) of `files`: path -> text."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {each}\n" for each in requires)
    files = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if scripts:
        lines = "".join(f"{script} = {target}\n" for script, target in scripts.items())
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{lines}"
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record += f"{path},sha256={digest.decode()},{len(text.encode())}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    target = directory / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return target


def tarball(target, files):
    with tarfile.open(target, "w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return target


def sdist(directory, name, version, setup, files):
    top = f"{name}-{version}"
    return tarball(
        directory / f"{top}.tar.gz",
        {
            f"{top}/setup.py": setup,
            f"{top}/PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            **{f"{top}/{path}": text for path, text in files.items()},
        },
    )


def npm_archive(directory, name, version, files, **more):
    """Makes what `npm pack` makes."""
    manifest = json.dumps({"name": name, "version": version, **more})
    plain = name.lstrip("@").replace("/", "-")
    return tarball(
        directory / f"{plain}-{version}.tgz",
        {"package/package.json": manifest, **{f"package/{k}": v for k, v in files.items()}},
    )


def offer(case):
    """A directory with packages that need each other, for as long as the tests of `case` run."""
    scratch = tempfile.TemporaryDirectory(prefix="gb-packages.")
    case.addClassCleanup(scratch.cleanup)
    source = pathlib.Path(scratch.name)
    # Whoever installs is another user.
    source.chmod(0o755)
    wheel(source, "gb_lower", "1.0", {"gb_lower.py": "def low():\n    return 'low'\n"})
    wheel(source, "gb_upper", "2.0",
          {"gb_upper.py": "import gb_lower\ndef high():\n    return gb_lower.low() + ' high'\n"},
          requires=["gb_lower"])
    npm_archive(source, "gb-word", "1.0.0", {"index.js": "module.exports = 'a word'\n"})
    return source
