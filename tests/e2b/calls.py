# SPDX-License-Identifier: Apache-2.0
"""Every public call of E2B's SDKs has returned in a test, or docs/e2b.md says why it cannot.

The names are the SDKs' own, so that a call that a new version brings is missed here."""
import pathlib
import re

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/e2b.md"
HEADING = "## Calls that do not work\n"

# Nothing of these reaches a service: the client that was generated from E2B's OpenAPI, with which
# the others work, and the form of its options.
PLUMBING = {"ApiClient", "AuthenticatedClient", "EnvdApiClient", "ConnectionConfig",
            "VolumeConnectionConfig", "ClientFactory"}


def declared(types):
    """The public calls in the declarations of a package for TypeScript, as recorded.mjs names them."""
    text = types.read_text(encoding="utf-8")
    for owner in re.finditer(r"^declare (?:abstract )?class (\w+)(.*?)^}", text, re.M | re.S):
        if owner[1].endswith("Error"):
            continue
        for member in re.finditer(r"(/\*\*(?:(?!\*/).)*\*/\n)?"
                                  r"^  (static )?(?:get )?(\w+)(?:<[^\n]*?>)?\(",
                                  owner[2], re.M | re.S):
            comment, static, name = member.groups()
            hidden = comment and re.search(r"@(internal|hidden)\b", comment)
            if name != "constructor" and not hidden:
                yield f"{owner[1]}.{name}" + (" (static)" if static else "")


def one_spelling(name):
    """`AsyncSandbox.set_timeout (of the class)` and `Sandbox.setTimeout` are one call in the document."""
    owner, _, call = re.sub(r" \(.*", "", name).rpartition(".")
    return re.sub("^Async|Base$|Builder$", "", owner) + "." + call.replace("_", "").lower()


def excepted():
    _, found, rest = DOCUMENT.read_text(encoding="utf-8").partition(HEADING)
    assert found, f"{DOCUMENT} has no section {HEADING!r}"
    rows = re.findall(r"^\| (`.*?) \|", rest.partition("\n## ")[0], re.M)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def report(surface, returned):
    """Says what is wrong with the calls whose names the file `returned` has; 1 where something is."""
    wrong = problems(set(surface), set(returned.read_text(encoding="utf-8").splitlines()))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def problems(surface, returned):
    calls = {name for name in surface if name.split(".")[0] not in PLUMBING}
    missing = calls - returned
    exceptions = {one_spelling(name): name for name in excepted()}
    wrong = [f"{name} did not return in any test, and {DOCUMENT.name} gives no reason"
             for name in sorted(missing) if one_spelling(name) not in exceptions]
    still = {one_spelling(name) for name in missing}
    known = {one_spelling(name) for name in calls}
    wrong += [f"{name} works, but {DOCUMENT.name} says that it does not"
              for short, name in sorted(exceptions.items()) if short in known - still]
    print(f"calls: {len(calls) - len(missing)} of {len(calls)} returned, {len(missing)} did not")
    return wrong
