# SPDX-License-Identifier: Apache-2.0
"""What is in the packages that others wrote: a CycloneDX list of Debian packages, and of what a build fetches."""
import json
import os
import pathlib
import re
import subprocess
import time
import tomllib

GRAMMARS = pathlib.Path(__file__).resolve().parents[1] / "tools/grammars.toml"
SHIPPED = ["glovebox", "glovebox-daemon", "glovebox-render", "glovebox-checker", "glovebox-warden",
           "glovebox-archiver", "glovebox-analyser", "glovebox-launcher", "glovebox-egress", "glovebox-files",
           "glovebox-wasm", "agents"]


def ask(*command):
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def used_files(build):
    """The machine's headers and libraries that the shipped programs are made of."""
    commands = ask("ninja", "-C", build, "-t", "commands", *SHIPPED)
    objects = set(re.findall(r" -o (\S+\.o) ", commands))
    libraries = re.findall(r"(/usr/\S+\.(?:a|so))", commands)
    headers, wanted = set(), False
    for line in ask("ninja", "-C", build, "-t", "deps").splitlines():
        if not line.startswith(" "):
            wanted = line.split(":")[0] in objects
        elif wanted and line.strip().startswith("/usr/"):
            headers.add(line.strip())
    # The compiler brings these itself.
    runtime = [ask("g++", f"-print-file-name={name}").strip()
               for name in ("libc.a", "libstdc++.a", "libgcc.a")]
    return sorted({os.path.realpath(path) for path in [*headers, *libraries, *runtime]})


def packages_of(files):
    lines = ask("dpkg-query", "-S", *files).splitlines() if files else []
    return sorted({line.split(": ")[0].split(",")[0] for line in lines})


def linked(build):
    listed = ask("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\n",
                 *packages_of(used_files(build)))
    return sorted({tuple(line.split()) for line in listed.splitlines()})


def component(source, version, where):
    return {"type": "library", "name": source, "version": version,
            "purl": f"pkg:deb/debian/{source}@{version.replace('+', '%2B')}?arch=source",
            "properties": [{"name": "glovebox:use", "value": where}]}


def fetched():
    """What tools/fetch_grammars takes from npm's registry."""
    return [{"type": "library", "name": each["name"], "version": each["version"],
             "purl": f"pkg:npm/{each['name'].replace('@', '%40')}@{each['version']}",
             "licenses": [{"license": {"id": each["license"]}}],
             "properties": [{"name": "glovebox:use", "value": "compiled in"}]}
            for each in tomllib.loads(GRAMMARS.read_text(encoding="utf-8"))["package"]]


def make(version, build, bundled):
    """`bundled`: (source, version) of the packages that lie in the image."""
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    return json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": made,
                     "component": {"type": "application", "name": "glovebox", "version": version,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": [component(*each, "compiled in") for each in linked(build)] + fetched() +
                      [component(*each, "in the container image") for each in sorted(bundled)]},
        indent=1) + "\n"
