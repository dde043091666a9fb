# SPDX-License-Identifier: Apache-2.0
"""Rows on programs that run once, of the daemon and of the program alone."""

import os

from claims import holds, raises, same, within
from glovebox import Checker, Forbidden, JudgeCase, Limits, NotFound, ProgramNotFound

SUM = "print(sum(map(int, input().split())))"


async def each_way_of_running(world):
    """The functions that run code: that of a client, and the one without a daemon."""
    yield world.run
    async with world.client() as client:
        yield client.run


async def each_way_of_judging(world):
    yield world.judge
    async with world.client() as client:
        yield client.judge


async def a_run_ends_with_a_verdict(world):
    async for run in each_way_of_running(world):
        verdict = await run("print(6 * 7)")
        same((verdict.status.value, verdict.stdout, verdict.exit_code), ("ok", "42\n", 0))
        holds(verdict.ok and verdict.usage.wall_ms > 0 and verdict.walls["net_ns"])
        same((verdict.language, verdict.tier), ("python", "native"))


async def a_run_that_fails_says_how(world):
    async for run in each_way_of_running(world):
        verdict = await run("import sys; print('why', file=sys.stderr); sys.exit(3)")
        same((verdict.status.value, verdict.exit_code, verdict.stderr), ("error", 3, "why\n"))


async def a_run_has_input_arguments_files_and_variables(world):
    async for run in each_way_of_running(world):
        verdict = await run(
            "import os, sys; print(input(), sys.argv[1:], open('d/f').read(), os.environ['A'])",
            stdin="line\n", arguments=["a", "-b"], files={"d/f": "file"}, env={"A": "1"})
        same(verdict.stdout, "line ['a', '-b'] file 1\n", )


async def a_run_is_somebodys_and_checked_by_policies(world):
    async for run in each_way_of_running(world):
        verdict = await run("import os; print(os.getuid())", user="root")
        same(verdict.stdout, "0\n")
        with raises(Forbidden):
            await run("import socket", policy=["grader"])
    async with world.client() as client:
        with raises(Forbidden):
            await client.run("1", nested=True)


async def output_of_a_run_comes_as_it_is_written(world):
    async for run in each_way_of_running(world):
        out, types = [], []
        await run("print(1, flush=True)", on_stdout=out.append,
                  on_event=lambda event: types.append(event.type))
        same(("".join(out), types[0], types[-1]), ("1\n", "started", "verdict"))


async def a_run_is_limited(world):
    async for run in each_way_of_running(world):
        verdict = await run("while True: pass", time=0.5, limits=Limits(pids=20))
        same((verdict.status.value, verdict.limits["time"].value), ("timeout", 0.5))
        same(verdict.limits["pids"].value, 20)
        verdict = await run("x = bytearray(1 << 30)", memory="64M")
        same(verdict.limits["memory"].value, 64 << 20)
        within(verdict.status.value, ("out_of_memory", "error"))


async def languages_are_named_or_found_by_the_name(world):
    async for run in each_way_of_running(world):
        same((await run("echo $((6 * 7))", "bash")).stdout, "42\n")
        verdict = await run("echo by name", name="x.sh")
        same((verdict.language, verdict.stdout), ("sh", "by name\n"))


async def an_unknown_language_of_a_run_is_not_found(world):
    async for run in each_way_of_running(world):
        with raises(NotFound) as caught:
            await run("1", "pythn")
        within("python", caught.error.hint)


async def a_compile_error_is_a_verdict(world):
    async for run in each_way_of_running(world):
        verdict = await run("int main( {", "c")
        same(verdict.status.value, "compile_error")
        within("error", verdict.stderr)


async def a_run_is_verified(world):
    async for run in each_way_of_running(world):
        verdict = await run("open('out', 'w').write('42')", verify="grep -q 42 out")
        holds(verdict.verification.ok)
        same([(each.path, each.change) for each in verdict.files], [("out", "created")])


async def code_that_is_long_is_run(world):
    async for run in each_way_of_running(world):
        same((await run("x = '" + "a" * 300_000 + "'\nprint(len(x))")).stdout, "300000\n")


async def a_submission_is_judged(world):
    async for judge in each_way_of_judging(world):
        report = await judge(SUM, [("1 2\n", "3\n"), ("2 2\n", "5\n")])
        same((report.verdict.value, report.accepted), ("WA", False))
        same([each.verdict.value for each in report.cases], ["AC", "WA"])
        same((report.points, report.points_of), (1, 2))
        same(report["2"].verdict.value, "WA")


async def cases_have_names_points_and_limits(world):
    async for judge in each_way_of_judging(world):
        report = await judge(SUM, [
            JudgeCase(name="easy", input="1 2", expected="3", points=2),
            JudgeCase(name="slow", input="1 2", expected="3", points=3, time="5s", memory="256M")])
        same((report.verdict.value, report.points), ("AC", 5))
        same([each.name for each in report.cases], ["easy", "slow"])


async def outputs_are_compared_as_asked(world):
    async for judge in each_way_of_judging(world):
        cases = [("", "0.3333\n")]
        same((await judge("print(1/3)", cases)).verdict.value, "WA")
        same((await judge("print(1/3)", cases, compare="float:1e-3")).verdict.value, "AC")


async def a_checker_decides(world):
    async for judge in each_way_of_judging(world):
        checker = Checker(
            language="python",
            code="import sys; sys.exit(0 if open(sys.argv[2]).read() == 'right\\n' else 1)")
        same((await judge("print('right')", [("", "")], checker=checker)).verdict.value, "AC")
        same((await judge("print('wrong')", [("", "")], checker=checker)).verdict.value, "WA")


async def judging_stops_at_the_first_failure(world):
    async for judge in each_way_of_judging(world):
        report = await judge("print('no')", [("", "yes"), ("", "yes")], jobs=1, stop_at_first=True)
        same([each.verdict.value for each in report.cases], ["WA", "SKIPPED"])


async def cases_are_told_as_they_end(world):
    async with world.client() as client:
        told = []
        await client.judge(SUM, [("1 1", "2"), ("1 2", "3")], on_case=told.append)
        same([each.verdict.value for each in told], ["AC", "AC"])


async def a_key_runs_once(world):
    async with world.client() as client:
        key = world.name("run")
        code = "import os; print(os.urandom(8).hex())"
        first = await client.run(code, idempotency_key=key)
        same((await client.run(code, idempotency_key=key)).stdout, first.stdout)


async def a_missing_program_is_an_error_with_a_hint(world):
    kept = os.environ.get("GLOVEBOX_BIN")
    os.environ["GLOVEBOX_BIN"] = "/nonesuch/glovebox"
    try:
        with raises(ProgramNotFound):
            await world.run("1")
    finally:
        if kept is None:
            del os.environ["GLOVEBOX_BIN"]
        else:
            os.environ["GLOVEBOX_BIN"] = kept


async def a_server_of_ones_own_has_everything(world):
    async with world.Server() as client:
        async with await client.sandboxes.create() as sandbox:
            same((await sandbox.commands.run("echo here")).stdout, "here\n")
        socket = client.address.path
        holds(os.path.exists(socket))
    holds(not os.path.exists(socket))
