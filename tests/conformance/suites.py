# SPDX-License-Identifier: Apache-2.0
"""The suites that are programs of their own, run in a place. Each answers claim -> outcome."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from differences import ABSENT, FAILED, HELD, SKIPPED
from places import USER

TESTS = pathlib.Path(__file__).resolve().parent.parent
PATIENCE_S = 4 * 3600
NETWORK = {
    "cli": ["test_network.WithRules", "test_network.Names", "test_network.WithoutAProxy",
            "test_secrets.AtTheEdge", "test_secrets.Budgets"],
    "service": ["test_network.AsTheOperatorAllowsAny", "test_network_secrets.StoredSecrets"],
}
# Sandboxes that are made one after the other, by how long one takes.
LEAKS = {1: 1000, 4: 200, 8: 60}
KILLS = {1: 300, 4: 300, 8: 60}


def languages(here, expected, choice, told):
    """The claim `python/hello` is that of tests/languages/python."""
    folder = TESTS / "languages"
    names = choice.of_names(sorted(path.parent.name for path in folder.glob("*/expect.toml")
                          if not expected.untried(f"{path.parent.name}/*")))
    if not names:
        return {}
    done = here.run([sys.executable, folder / "run_languages.py", "--glovebox",
                     here.environment["GLOVEBOX"], "--tier", here.place.tier, "--patience",
                     str(here.place.patience), "--only", ",".join(names)],
                    capture_output=True, text=True, timeout=PATIENCE_S)
    outcomes = {}
    for said in re.split(r"^(?=ok |FAIL |skip )", done.stdout, flags=re.MULTILINE)[1:]:
        word, claim = said.split()[:2]
        if word != "skip":
            outcomes[claim] = HELD if word == "ok" else FAILED
        if word == "FAIL":
            told(claim, said.encode())
    if not outcomes:
        told("languages", (done.stdout + done.stderr).encode())
    return outcomes


def attacks(here, expected, choice, told):
    """The claim is the name of a case. What a case says itself that it is not for is no claim."""
    if here.place.tier == "wasm":
        return attacks_of_modules(here, choice, told)
    folder = TESTS / "attacks"
    numbers = {path.stem: path.stem.split("-")[0] for path in (folder / "cases").glob("*.toml")}
    names = choice.of_names(sorted(name for name in numbers if not expected.untried(name)))
    with tempfile.NamedTemporaryFile("r", suffix=".json", encoding="utf-8") as report:
        command = [sys.executable, folder / "run_attacks.py", "--glovebox",
                   here.environment["GLOVEBOX"], "--tier", here.place.tier, "--patience",
                   str(min(here.place.patience, 4)), "--json", report.name]
        for name in names:
            command += ["--case", str(int(re.match(r"\d+", numbers[name])[0]))]
        if here.place.as_user:
            command += ["--as-user", str(USER)]
        if here.place.tier == "microvm":
            # What those about accounts count of the host is mostly the machine itself.
            command += ["--accounts", "none"]
        done = here.run_as_root(command, capture_output=True, text=True, timeout=PATIENCE_S)
        try:
            results = json.load(report)["results"]
        except ValueError:
            told("attacks", (done.stdout + done.stderr).encode())
            return dict.fromkeys(names, FAILED)
    outcomes = {}
    for result in results:
        complaints = result["complaints"]
        if result["outcome"] == "skipped" and complaints[0].startswith("not in this "):
            continue
        outcomes[result["case"]] = {"refused": HELD, "failed": FAILED}.get(result["outcome"], SKIPPED)
        if complaints:
            told(result["case"], "\n".join([result["case"], *complaints]).encode())
    return outcomes


def attacks_of_modules(here, choice, told):
    """Where a guest has no system calls to attack with: what modules try. The claim is a test."""
    if not choice.of_names(["test_hostile", "test_refusals"]):
        return {}
    done = here.run([sys.executable, TESTS / "wasm/run_wasm.py", "test_hostile", "test_refusals"],
                    capture_output=True, text=True, timeout=PATIENCE_S)
    outcomes = {}
    for name, outcome in re.findall(r"^(test_\w+) .*?\.\.\. (\w+)", done.stderr,
                                    re.MULTILINE | re.DOTALL):
        outcomes[name] = {"ok": HELD, "skipped": SKIPPED}.get(outcome, FAILED)
    if FAILED in outcomes.values() or not outcomes:
        told("attacks of modules", done.stderr.encode())
    return outcomes


def e2b(here, expected, choice, told):
    """The claim is a test's name; a test file is chosen as a whole. What takes root inside is asked
    of native alone (tests/e2b)."""
    folder = TESTS / "e2b"
    files = [f"python/{path.stem}" for path in (folder / "python").glob("test_*.py")]
    files += [f"javascript/{path.name.removesuffix('.test.mjs')}"
              for path in (folder / "suites").glob("*.test.mjs") if path.name != "users.test.mjs"]
    outcomes = {name: ABSENT for name in files if expected.untried(name)}
    chosen = choice.of_names(sorted(set(files) - set(outcomes)))
    here.environment["GLOVEBOX_E2B_PATIENCE"] = str(here.place.patience)
    for language, program, outcomes_in in (("python", "run_python.py", of_unittest),
                                           ("javascript", "run_e2b.py", of_node)):
        names = [name.split("/")[1] for name in chosen if name.startswith(language)]
        if not names:
            continue
        done = here.run([sys.executable, folder / program, "--glovebox", here.environment["GLOVEBOX"],
                         "--tier", here.place.tier, *names], capture_output=True, text=True,
                        timeout=PATIENCE_S)
        if done.returncode == 77:
            continue
        text = done.stdout + done.stderr
        found = outcomes_in(text)
        if any(outcome == FAILED and expected.of(claim) is None for claim, outcome in found.items()):
            told("e2b", text[-20000:].encode())
        if not found:
            told("e2b", text.encode())
            found = dict.fromkeys((f"{language}/{name}" for name in names), FAILED)
        outcomes |= found
    return outcomes


def of_unittest(text):
    """Subtests count as their test."""
    ran = re.findall(r"^(?:test_\w+) \(([\w.]+)\)", text, re.MULTILINE)
    failed = re.findall(r"^(?:ERROR|FAIL): \w+ \(([\w.]+)\)", text, re.MULTILINE)
    return dict.fromkeys(ran, HELD) | dict.fromkeys(failed, FAILED)


def of_node(text):
    words = {"✔": HELD, "✖": FAILED, "﹣": SKIPPED}
    told = re.findall(r"^([✔✖﹣]) (.*?) \(\d[\d.]*ms\)", text, re.MULTILINE)
    return {name: words[word] for word, name in told}


def network(here, expected, choice, told):
    """The claims are tests of the command line's and of the daemon's; a class is chosen as a whole."""
    outcomes = {}
    environment = {**here.environment, "GLOVEBOX_NETWORK_TIER": here.place.tier}
    for folder, cases in NETWORK.items():
        names = [f"{folder}/{case}" for case in cases]
        outcomes |= {name: ABSENT for name in names if expected.untried(name)}
        chosen = choice.of_names([name for name in names if name not in outcomes])
        if not chosen:
            continue
        done = subprocess.run(
            [sys.executable, "-B", "-m", "unittest", "-v", *(name.split("/")[1] for name in chosen)],
            env=environment, cwd=TESTS / folder, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False, timeout=PATIENCE_S, **here.identity)
        found = {f"{folder}/{name}": outcome for name, outcome in of_unittest(done.stderr).items()}
        if FAILED in found.values() or not found:
            told("network", done.stderr.encode())
        outcomes |= found or dict.fromkeys(chosen, FAILED)
    return outcomes


def leaks(here, _expected, choice, told):
    claim = "NothingStaysBehind"
    if not choice.fits(claim):
        return {}
    command = [sys.executable, TESTS / "leaks/run_leaks.py", "--glovebox",
               here.environment["GLOVEBOX"], "--tier", here.place.tier, "--runs",
               str(choice.of_repeats(LEAKS[here.place.patience])), "--patience", str(20 * here.place.patience)]
    if here.place.as_user:
        command += ["--as-user", str(USER)]
    return {claim: of_program(claim, here.run_as_root(
        command, capture_output=True, text=True, timeout=PATIENCE_S), told)}


def kills(here, _expected, choice, told):
    claim = "NothingIsLostOrLeftOrDoneTwice"
    if not choice.fits(claim):
        return {}
    here.environment |= {
        "GLOVEBOX_CHAOS_KILLS": str(choice.of_repeats(KILLS[here.place.patience])),
        "GLOVEBOX_CHAOS_PATIENCE": str(here.place.patience),
        "GLOVEBOX_CHAOS_TIER": here.place.tier}
    return {claim: of_program(claim, here.run(
        [sys.executable, TESTS / "chaos/test_kills.py"], capture_output=True, text=True,
        timeout=PATIENCE_S), told)}


def of_program(claim, done, told):
    sys.stdout.write("".join(f"  {line}\n" for line in (done.stdout + done.stderr).splitlines()
                             if re.match(r"seed|\d+ (runs|kills)|GLOVEBOX_TEST_SEED", line)))
    if done.returncode == 77:
        return SKIPPED
    if done.returncode != 0:
        told(claim, (done.stdout + done.stderr)[-8000:].encode())
    return HELD if done.returncode == 0 else FAILED


SUITES = {"languages": languages, "network": network, "attacks": attacks, "e2b": e2b,
          "leaks": leaks, "kills": kills}
