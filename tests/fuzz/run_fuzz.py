#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the fuzz targets with clang and libFuzzer, and runs each for some seconds.

Only what changed is compiled again. A crash is kept in build/fuzz/crashes, and fails the run.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from parts import part_of_today

ROOT = HERE.parents[1]
BUILD = ROOT / "build/fuzz"

BASE = ["base/check.cc", "base/error.cc", "base/hex.cc", "base/random.cc"]
# Of those whose sources include base/json/json.h.
JSON = ["base/json/json.cc", "base/json/ordered_json.cc"]
FRAME = [*BASE, "base/frame.cc", "base/wire.cc"]
NOTEBOOK = [f"context/notebook/{name}.cc" for name in (
    "ansi", "highlight", "html_tokens", "markdown", "markdown_math", "markup", "math",
    "math_symbols", "media", "sanitize", "syntax")]
# What tools/fetch_grammars fetched.
TREE_SITTER = "../build/grammars/tree-sitter/vendor/tree-sitter/lib"
GRAMMARS = [f"../build/grammars/tree-sitter-{name}/{part}.c" for name, parts in {
    "c/src": ["parser"], "c-sharp/src": ["parser", "scanner"], "cpp/src": ["parser", "scanner"], "go/src": ["parser"],
    "java/src": ["parser"], "javascript/src": ["parser", "scanner"], "php/php/src": ["parser", "scanner"],
    "r/src": ["parser", "scanner"], "ruby/src": ["parser", "scanner"],
    "typescript/typescript/src": ["parser", "scanner"],
    "typescript/tsx/src": ["parser", "scanner"]}.items() for part in parts]
TARGETS = {
    "frame": FRAME,
    "warden_protocol": [*BASE, "base/wire.cc", "spec/warden_protocol.cc", "spec/verdict.cc"],
    "relayed_process": [*FRAME, "base/unique_fd.cc", "sandbox/relayed_process.cc",
                        "spec/warden_protocol.cc", "spec/verdict.cc"],
    "file_export": [*BASE, "base/unique_fd.cc", "base/wire.cc", "sandbox/microvm/file_export.cc",
                    "sandbox/microvm/protocol.cc"],
    "gvisor_answer": [*BASE, *JSON, "base/sys/descriptors.cc", "base/text.cc", "base/unique_fd.cc", "sandbox/tiers/gvisor/control.cc"],
    "launcher": [*BASE, "base/wire.cc", "sandbox/launcher/protocol.cc"],
    "files_protocol": [*BASE, "base/wire.cc", "files/protocol.cc"],
    "users": [*BASE, "files/users.cc"],
    "tar": [*BASE, "base/archive/archive_reader.cc", "base/archive/tar.cc", "base/sys/beneath.cc", "base/sys/tree.cc",
            "base/text.cc", "base/unique_fd.cc"],
    "language_file": [*BASE, "base/bytes.cc", "base/duration.cc", "base/text.cc",
                      "language/file_rules.cc", "language/java_source.cc", "language/language.cc",
                      "language/language_file.cc", "language/suggest.cc",
                      "language/toml_guard.cc", "spec/limit_fields.cc", "spec/limits.cc"],
    "policy_file": [*BASE, *JSON, "base/glob.cc", "base/text.cc", *(f"guard/policy/{name}.cc" for name in (
                        "assessment", "catalogue", "fact", "family", "file_places", "match", "policy", "policy_file",
                        "tool_rules")),
                    "language/suggest.cc", "language/toml_guard.cc", "spec/json/bounded_json.cc", "spec/place_rules.cc"],
    "analyser": [*BASE, "base/glob.cc", "base/text.cc", "base/utf8.cc", "guard/policy/fact.cc",
                 *(f"analyser/{name}.cc" for name in (
                     "analyse", "facts", "lines", "secrets", "python_bindings", "python_calls", "python_code",
                     "python_constants", "python_decoders", "python_expressions", "python_lexer", "python_literals", "python_primaries",
                     "python_magics", "python_parser", "python_text", "python_values", "shell", "shell_commands",
                     "shell_words", "sql", "sql_tokens")),
                 *(f"analyser/syntax/{name}.cc" for name in (
                     "analyse", "c", "csharp", "folds", "go", "java", "javascript", "php", "program", "r", "report",
                     "ruby", "texts", "tree", "values")),
                 *(f"{TREE_SITTER}/src/{name}.c" for name in (
                     "alloc", "get_changed_ranges", "language", "lexer", "node", "parser", "stack", "subtree", "tree",
                     "tree_cursor", "wasm_store")),
                 *GRAMMARS],
    "checker": [*BASE, *JSON, "base/text.cc", "checker/keywords.cc", "checker/request.cc", "checker/schema.cc",
                "spec/json/bounded_json.cc"],
    "only_file": [*BASE, "service/judge/only_file.cc"],
    "text": [*BASE, "base/base64.cc", "base/bytes.cc", "base/duration.cc", "base/text.cc"],
    "agent_messages": [*BASE, *JSON, "base/base64.cc", "base/bytes.cc", "base/text.cc", "base/utf8.cc", "base/wire.cc",
                       "context/agent_protocol.cc", "context/notebook/json_bounds.cc",
                       "context/notebook/values.cc", "context/zygote_protocol.cc",
                       "spec/json/bounded_json.cc", "spec/json/object_text.cc", "spec/json/raw_json.cc",
                       "spec/json/tool_json.cc"],
    "notebook": [*BASE, *JSON, "base/base64.cc", "base/bytes.cc", "base/shell_words.cc", "base/text.cc", "base/utf8.cc",
                 *NOTEBOOK, *(f"context/notebook/{name}.cc" for name in (
                     "html", "html_style", "json_bounds", "notebook", "parameters", "read",
                     "upgrade", "write"))],
    "notebook_text": [*BASE, *JSON, "base/base64.cc", "base/bytes.cc", "base/text.cc", "base/utf8.cc", *NOTEBOOK,
                      "context/notebook/json_bounds.cc", "context/notebook/stream_text.cc"],
    "network_rules": [*BASE, "base/text.cc", "spec/ip_address.cc", "spec/credential_rules.cc", "spec/network_rules.cc"],
    "http_head": [*BASE, "doors/transport/head.cc"],
    "egress_request": [*BASE, "base/text.cc", "doors/transport/head.cc", "egress/request.cc",
                       "spec/ip_address.cc", "spec/credential_rules.cc", "spec/network_rules.cc"],
    "egress_credentials": [*BASE, "base/base64.cc", "base/text.cc", "base/wire.cc", "doors/transport/head.cc",
                           "egress/credentials.cc", "egress/request.cc", "spec/credential_rules.cc",
                           "spec/egress_protocol.cc", "spec/ip_address.cc", "spec/network_rules.cc"],
    "egress_names": [*BASE, "base/text.cc", "egress/names.cc", "spec/ip_address.cc", "spec/credential_rules.cc", "spec/network_rules.cc"],
    "egress_recording": [*FRAME, "base/base64.cc", "base/text.cc", "doors/transport/head.cc", "egress/playback.cc", "egress/recording.cc",
                         "egress/request.cc", "spec/credential_rules.cc", "spec/egress_protocol.cc", "spec/ip_address.cc",
                         "spec/network_rules.cc"],
    "client_hello": [*BASE, "egress/client_hello.cc"],
    "egress_protocol": [*BASE, "base/text.cc", "base/wire.cc", "spec/egress_protocol.cc", "spec/ip_address.cc",
                        "spec/credential_rules.cc", "spec/network_rules.cc"],
    "multipart": [*BASE, "base/text.cc", "doors/e2b/multipart.cc", "doors/e2b/url.cc"],
    "layer": [*BASE, "base/archive/archive_reader.cc", "base/sys/tree.cc", "base/text.cc", "base/unique_fd.cc",
              "archiver/layer_unpack.cc"],
    "keeper_wire": [*FRAME, *JSON, "base/bytes.cc", "base/long_message.cc", "base/glob.cc", "base/sys/descriptors.cc", "base/text.cc", "base/unique_fd.cc",
                    "spec/json/bounded_json.cc", "service/keeper/cbor.cc", "service/keeper/codec.cc", "service/keeper/wire.cc", "service/api/ending.cc",
                    "spec/limit_fields.cc",
                    "spec/egress_protocol.cc", "spec/ip_address.cc", "spec/json/network_rules_json.cc",
                    "spec/credential_rules.cc", "spec/exec_rules.cc", "spec/json/guest_rules_json.cc", "spec/place_rules.cc",
                    "spec/network_rules.cc"],
    "audit_record": [*BASE, *JSON, "base/digest/digest.cc", "base/text.cc", "base/time_text.cc", "base/unique_fd.cc",
                     *(f"audit/{name}.cc" for name in ("head", "record", "segments", "signing", "verify")),
                     "spec/json/bounded_json.cc"],
    "wasi": [*BASE, "base/unique_fd.cc", "sandbox/wasm/wasi.cc", "sandbox/wasm/wasi_files.cc", "sandbox/wasm/wasmtime.cc",
             "sandbox/wasm/world.cc"],
    "dockerfile": [*BASE, *JSON, "base/text.cc", "service/dockerfile/expand.cc", "service/dockerfile/ignore.cc",
                   "service/dockerfile/parse.cc", "spec/json/bounded_json.cc"],
    "image": [*BASE, *JSON, "base/sys/beneath.cc", "base/text.cc", "base/unique_fd.cc",
              "base/digest/digest.cc", "service/templates/container_image.cc", "service/templates/image_config.cc",
              "spec/json/bounded_json.cc"],
    "mcp_message": [*BASE, *JSON, "base/text.cc", "doors/mcp/message.cc", "doors/mcp/tool_arguments.cc",
                    "spec/credential_rules.cc", "spec/ip_address.cc", "spec/json/bounded_json.cc",
                    "spec/network_rules.cc"],
    "jupyter_wire": [*BASE, *JSON, "base/base64.cc", "base/text.cc", "base/unique_fd.cc",
                     *(f"../agents/jupyter/{name}.cc" for name in (
                         "json_guard", "kernelspec", "mime_values", "wire"))],
}
MARKDOWN = ["-lcmark-gfm-extensions", "-lcmark-gfm"]
LIBRARIES = {"analyser": ["-lutf8proc"], "tar": ["-larchive"], "layer": ["-larchive"], "jupyter_wire": ["-lcrypto"],
             "audit_record": ["-lcrypto"],
             "image": ["-lcrypto"], "notebook": MARKDOWN, "notebook_text": MARKDOWN}
# Where the seeds are those of the project itself.
SEEDS = {"language_file": ROOT / "languages", "notebook": ROOT / "tests/notebooks",
         "policy_file": ROOT / "policies"}
FLAGS = ["-std=c++2b", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all",
         f"-I{ROOT / 'src'}", f"-I{ROOT / 'agents/jupyter'}", f"-I{HERE}",
         "-isystem", str(ROOT / "src" / TREE_SITTER / "include")]
# For C that others wrote: what is undefined there is theirs to judge, what is not its memory is ours.
C_FLAGS = ["-std=c11", "-D_DEFAULT_SOURCE", "-g", "-O1", "-w", "-fno-omit-frame-pointer", "-fsanitize=fuzzer,address"]
SANITIZE = "-fsanitize=fuzzer,address,undefined"
FEWEST_EXECUTIONS = 100
# Beyond the seconds given, a target may take this long to start and to end.
GRACE_S = 120


def is_fresh(made, depends):
    """Whether `made` is newer than all that its dependency file names."""
    if not made.exists() or not depends.exists():
        return False
    names = depends.read_text().replace("\\\n", " ").split(":", 1)[1].split()
    age = made.stat().st_mtime
    return all(os.path.exists(name) and os.path.getmtime(name) <= age for name in names)


def compile_source(compiler, source):
    made = BUILD / "objects" / source.relative_to(ROOT).with_suffix(".o")
    depends = made.with_suffix(".d")
    if not is_fresh(made, depends):
        made.parent.mkdir(parents=True, exist_ok=True)
        command = [compiler, *FLAGS, SANITIZE]
        if source.suffix == ".c":
            command = [compiler.replace("++", ""), *C_FLAGS, f"-I{source.parent}", f"-I{source.parent.parent / 'include'}"]
        subprocess.run([*command, "-MMD", "-MF", depends, "-c", source, "-o", made], check=True)
    return made


def build(compiler, targets, parallel):
    """Target -> its program."""
    sources = {target: [HERE / f"{target}_fuzz.cc",
                        *((ROOT / "src" / name).resolve() for name in TARGETS[target])] for target in targets}
    every = sorted({source for of_target in sources.values() for source in of_target})
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        objects = dict(zip(every, pool.map(lambda s: compile_source(compiler, s), every)))
    programs = {}
    for target in targets:
        program = BUILD / f"{target}_fuzz"
        parts = [objects[source] for source in sources[target]]
        newest = max(part.stat().st_mtime for part in parts)
        if not program.exists() or program.stat().st_mtime < newest:
            subprocess.run([compiler, SANITIZE, *parts, *LIBRARIES.get(target, []), "-o",
                            program], check=True)
        programs[target] = program
    return programs


def fuzz(target, program, seconds):
    """Runs one target, on a busy machine for ten times as long. Returns how often it was executed,
    and what is wrong, if anything."""
    executions, wrong = fuzz_for(target, program, seconds)
    if wrong is None and executions < FEWEST_EXECUTIONS:
        executions, wrong = fuzz_for(target, program, 10 * seconds)
    if wrong is None and executions < FEWEST_EXECUTIONS:
        wrong = f"ran less than {FEWEST_EXECUTIONS} times"
    return executions, wrong


def fuzz_for(target, program, seconds):
    # libFuzzer writes what it finds into the first directory: the repository's seeds stay as they
    # are, and what was learned in earlier runs is kept.
    learned = BUILD / "corpus" / target
    crashes = BUILD / "crashes" / target
    for directory in (learned, crashes):
        directory.mkdir(parents=True, exist_ok=True)
    seeds = [directory for directory in (HERE / "corpus" / target, SEEDS.get(target))
             if directory and directory.is_dir()]
    command = [program, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
               "-max_len=65536", "-print_final_stats=1", f"-artifact_prefix={crashes}/", learned,
               *seeds]
    before = set(crashes.iterdir())
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=seconds + GRACE_S, check=False)
    except subprocess.TimeoutExpired:
        return 0, "did not end"
    counted = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    executions = int(counted[1]) if counted else 0
    if done.returncode != 0:
        kept = "".join(f"\ninput: {path}" for path in sorted(set(crashes.iterdir()) - before))
        return executions, f"status {done.returncode}\n{done.stderr[-6000:]}{kept}"
    return executions, None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=5, help="seconds to fuzz each target")
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--parts", type=int, default=1, metavar="N",
                        help="fuzz one of N parts of the targets, every day another one; all of "
                             "them if GLOVEBOX_ALL_PARTS is set")
    parser.add_argument("--compiler", default="clang++-14")
    parser.add_argument("targets", nargs="*", metavar="TARGET",
                        help=f"one of: {', '.join(TARGETS)} (default: all)")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if shutil.which(options.compiler) is None:
        sys.exit(f"{options.compiler} is not installed: apt-get install clang-14")
    targets = options.targets or part_of_today(list(TARGETS), options.parts)
    try:
        if "analyser" in targets:
            subprocess.run([ROOT / "tools/fetch_grammars"], check=True)
        programs = build(options.compiler, targets, options.parallel)
    except subprocess.CalledProcessError as failure:
        sys.exit(f"cannot build: {failure.cmd[-1]}")

    failed = False
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        jobs = {target: pool.submit(fuzz, target, programs[target], options.seconds)
                for target in targets}
        for target, job in jobs.items():
            executions, problem = job.result()
            print(f"{target}: {executions} executions{': ' + problem if problem else ''}",
                  flush=True)
            failed = failed or problem is not None
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
