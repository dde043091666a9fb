# SPDX-License-Identifier: Apache-2.0
"""Compares two transcripts of one cell.

Everything must be equal but what the named rules of RULES take out. A rule exists only where two
runs of the very same kernel differ, or where Jupyter's messages and the agent's frames carry the
same thing in different places; its reason stands beside it.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re

from transcript import Transcript

# name: (pattern, replacement, reason). Applied to every text of both sides.
RULES = {
    "cell-file": (
        re.compile(r"(/tmp/(ipykernel|glovebox)_\d+/|\b)\d{5,10}\.py\b"), "<cell>",
        "a cell's file name holds the process id and a hash of the kernel's own"),
    "skipped-frames": (
        re.compile(r"(?<=skipping similar frames: )(.*) \(\d+ times\)"), r"\1 (<n> times)",
        "how deep a recursion goes depends on how many frames the kernel itself has below it"),
    "address": (
        re.compile(r"\b0x[0-9a-f]{6,16}\b"), "<address>",
        "where an object lies in memory differs from process to process"),
    "duration": (
        re.compile(r"(?m)^(The slowest run took [\d.]+ times longer .*\n)?"
                   r"(CPU times: user|Wall time:|(?=.* per loop \(mean)).*$"), "<duration>",
        "%time and %timeit tell how long something took, and by how much that varied"),
    "uuid": (
        re.compile(r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b"),
        "<uuid>", "made at random"),
    "display-id": (
        re.compile(r"\A([0-9a-f]{16}|[0-9a-f]{32})\Z"), "<display>",
        "IPython makes up an identity for a display that was given none"),
    "style-id": (
        re.compile(r"\bT_[0-9a-f]{5}(?=[_\" ])"), "T_<id>",
        "pandas names a styled table at random, so that two don't share their style sheet"),
}

# Beyond Jupyter, so the reference can't have them.
OWN_TYPES = "application/vnd.glovebox."

BINARY_TYPES = ("image/png", "image/jpeg", "image/gif", "application/pdf")


def differences(reference: Transcript, subject: Transcript) -> list[str]:
    """What differs, a line each; empty when the cell gave the same on both sides."""
    found = [*reference.violations, *subject.violations]
    for name in ("status", "execution_count"):
        ours, theirs = getattr(subject, name), getattr(reference, name)
        if ours != theirs:
            found.append(f"{name}: {ours!r} instead of {theirs!r}")
    left, right = canonical(reference), canonical(subject)
    kinds = [[_kind(each) for each in side] for side in (left, right)]
    if kinds[0] != kinds[1]:
        found.append(f"outputs: {kinds[1]} instead of {kinds[0]}")
        for side, outputs in (("reference", left), ("subject", right)):
            found.extend(f"  {side}: {cut(each)}" for each in outputs)
        return found
    for place, (theirs, ours) in enumerate(zip(left, right)):
        found.extend(f"output {place} ({_kind(theirs)}): {line}" for line in _unequal(theirs, ours))
    return found


def canonical(transcript: Transcript) -> list[dict]:
    """The outputs in a form that may be compared, streams and inputs in a settled order."""
    inputs, settled, pending = [], [], {}
    for output in transcript.outputs:
        if output["type"] == "stream":
            # A kernel flushes each stream by a timer of 200 ms: between two other outputs, which
            # of the two streams comes first, and in how many pieces, is chance.
            pending[output["name"]] = pending.get(output["name"], "") + output["text"]
        elif output["type"] == "input":
            # Jupyter asks on a channel of its own, which has no order with the outputs.
            inputs.append(output)
        elif output["type"] == "page":
            # Help comes as a payload of Jupyter's reply; frames have none, so it is displayed.
            settled += _streams(pending)
            pending = {}
            settled.append({"type": "display", "data": output["data"], "metadata": {},
                            "update": False, "display_id": None})
        else:
            settled += _streams(pending)
            pending = {}
            settled.append(output)
    settled += _streams(pending)
    names: dict[str, str] = {}
    return inputs + [_normal(output, names) for output in settled]


def _streams(pending: dict[str, str]) -> list[dict]:
    return [{"type": "stream", "name": name, "text": text}
            for name, text in sorted(pending.items(), reverse=True)]


def _normal(output: dict, names: dict[str, str]) -> dict:
    output = dict(output)
    if "data" in output and isinstance(output["data"], dict):
        output["data"] = {key: _value(key, value) for key, value in output["data"].items()
                          if not key.startswith(OWN_TYPES)}
    identity = output.get("display_id")
    if identity and RULES["display-id"][0].match(identity):
        # Random, but which display an update goes to is not.
        output["display_id"] = names.setdefault(identity, f"<display {len(names)}>")
    return {key: value if key in ("data", "type", "display_id") else _ruled(value)
            for key, value in output.items()}


def _value(key: str, value):
    """One MIME value: pixels of a PNG, bytes of what else is binary, and ruled text."""
    if key in BINARY_TYPES and isinstance(value, str):
        try:
            content = base64.b64decode(value, validate=False)
        except binascii.Error as error:
            return f"not base64: {error}"
        # Another run's compressor may choose other bytes for the same picture.
        return _pixels(content) if key == "image/png" else content
    return _ruled(value)


def _pixels(content: bytes):
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as image:
            return image.mode, image.size, image.tobytes()
    except OSError:
        return content


def _ruled(value):
    if isinstance(value, str):
        for pattern, replacement, _ in RULES.values():
            value = pattern.sub(replacement, value)
        return value
    if isinstance(value, list):
        return [_ruled(each) for each in value]
    if isinstance(value, dict):
        return {_ruled(key): _ruled(each) for key, each in value.items()}
    return value


def _kind(output: dict) -> str:
    if output["type"] == "stream":
        return output["name"]
    return "update" if output.get("update") else output["type"]


def _unequal(theirs: dict, ours: dict) -> list[str]:
    found = []
    for key in sorted(theirs.keys() | ours.keys()):
        left, right = theirs.get(key), ours.get(key)
        if key == "data" and isinstance(left, dict) and isinstance(right, dict):
            found.extend(f"data of {name}: {_apart(left.get(name), right.get(name))}"
                         for name in sorted(left.keys() | right.keys())
                         if left.get(name) != right.get(name))
        elif left != right:
            found.append(f"{key}: {_apart(left, right)}")
    return found


def _apart(left, right) -> str:
    """Where two values part, with a little around it."""
    if type(left) is not type(right):
        return f"{cut(right)} instead of {cut(left)}"
    if isinstance(left, tuple):
        if left[:2] != right[:2]:
            return f"picture {right[:2]} instead of {left[:2]}"
        unequal = sum(a != b for a, b in zip(left[2], right[2]))
        return f"{unequal} of {len(left[2])} channel values of the picture"
    if isinstance(left, str):
        place = next((i for i, (a, b) in enumerate(zip(left, right)) if a != b),
                     min(len(left), len(right)))
        begin = max(0, place - 60)
        return f"at {place}: {right[begin:place + 120]!r} instead of {left[begin:place + 120]!r}"
    return f"{cut(right)} instead of {cut(left)}"


def cut(value) -> str:
    """A value as text of a length that a person reads."""
    text = value if isinstance(value, str) else json.dumps(value, default=repr, ensure_ascii=False)
    if len(text) <= 900:
        return text
    return f"{text[:300]} … ({len(text)} characters) … {text[-600:]}"
