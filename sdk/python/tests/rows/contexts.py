# SPDX-License-Identifier: Apache-2.0
"""Rows on live interpreters."""

from claims import holds, raises, same, within
from glovebox import Conflict, DryRunOptions, ExecutionError, InvalidRequest, Limits, NotFound


async def variables_stay(world):
    async with await world.sandbox() as sandbox:
        async with await sandbox.contexts.create() as context:
            verdict = await context.execute("x = 41")
            same((verdict.status.value, verdict.text, verdict.stdout), ("ok", None, ""))
            same((await context.execute("x + 1")).text, "42")


async def contexts_share_files_and_no_variables(world):
    async with await world.sandbox() as sandbox:
        one, two = await sandbox.contexts.create(), await sandbox.contexts.create()
        await one.execute("x = 1; open('f', 'w').write('f')")
        same((await two.execute("'x' in globals(), open('f').read()")).text, "(False, 'f')")


async def output_comes_as_it_is_written(world):
    async with await world.sandbox() as sandbox:
        out, err = [], []
        verdict = await sandbox.execute(
            "import sys; print('out'); print('err', file=sys.stderr)",
            on_stdout=out.append, on_stderr=err.append)
        same(("".join(out), "".join(err)), ("out\n", "err\n"))
        same((verdict.stdout, verdict.stderr), ("out\n", "err\n"))


async def bytes_that_are_no_text_are_kept(world):
    async with await world.sandbox() as sandbox:
        verdict = await sandbox.execute("import os; _ = os.write(1, b'\\xff\\xfe')")
        same((verdict.stdout_bytes, verdict.stdout), (b"\xff\xfe", "\ufffd\ufffd"))


async def results_have_their_formats(world):
    async with await world.sandbox() as sandbox:
        seen = []
        verdict = await sandbox.execute(
            "from IPython.display import HTML, JSON, Markdown, display\n"
            "display(HTML('<b>1</b>'), Markdown('*2*'), JSON({'a': 3}))\n4",
            on_result=seen.append)
        html, markdown, data, four = verdict.results
        same((html.html, markdown.markdown, data.json), ("<b>1</b>", "*2*", {"a": 3}))
        same((four.main, four.text, verdict.text), (True, "4", "4"))
        same([each.formats for each in seen], [each.formats for each in verdict.results])


async def a_picture_is_bytes_and_shows_itself(world):
    async with await world.sandbox() as sandbox:
        verdict = await sandbox.execute(
            "from IPython.display import Image\nImage(b'\\x89PNG\\r\\n\\x1a\\nrest', format='png')")
        same(verdict.result.png, b"\x89PNG\r\n\x1a\nrest")
        bundle, _ = verdict._repr_mimebundle_(include=["image/png"])
        same(list(bundle), ["image/png"])


async def an_error_is_a_verdict(world):
    async with await world.sandbox() as sandbox:
        errors = []
        verdict = await sandbox.execute("1 / 0", on_error=errors.append)
        same((verdict.ok, verdict.status.value), (False, "error"))
        same((verdict.error.name, verdict.error.value), ("ZeroDivisionError", "division by zero"))
        within("ZeroDivisionError", verdict.error.traceback)
        same(errors, [verdict.error])
        with raises(ExecutionError) as caught:
            verdict.check()
        same(caught.error.verdict, verdict)


async def a_time_limit_ends_an_execution(world):
    async with await world.sandbox() as sandbox:
        verdict = await sandbox.execute("while True: pass", time="300ms")
        same((verdict.status.value, verdict.limit), ("timeout", "time"))
        holds(verdict.limits["time"].hit)


async def an_interrupt_leaves_the_variables(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        await context.execute("x = 42")
        verdict = None
        async for event in context.stream("print('on', flush=True)\nwhile True: pass"):
            if event.type == "stdout":
                await context.interrupt()
            verdict = event.verdict
        same(verdict.error.name, "KeyboardInterrupt")
        same((await context.execute("x")).text, "42")


async def a_restart_forgets(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        await context.execute("x = 1")
        await context.restart()
        same((await context.execute("x")).error.name, "NameError")


async def a_rollback_goes_back(world):
    async with await world.sandbox(tier="native") as sandbox:
        context = await sandbox.contexts.create()
        await context.execute("x = 1; _ = open('f', 'w').write('1')")
        number = await context.checkpoint()
        await context.execute("x = 2; _ = open('f', 'w').write('2')")
        same(await context.rollback(), number)
        same((await context.execute("x, open('f').read()")).text, "(1, '1')")
        same(await context.rollback(number), number)


async def an_unknown_checkpoint_is_not_found(world):
    async with await world.sandbox(tier="native") as sandbox:
        context = await sandbox.contexts.create()
        with raises(NotFound):
            await context.rollback(7)


async def a_fork_lives_beside_its_origin(world):
    async with await world.sandbox(tier="native") as sandbox:
        context = await sandbox.contexts.create()
        await context.execute("x = 1")
        fork = await context.fork()
        await fork.execute("x += 1")
        same(((await context.execute("x")).text, (await fork.execute("x")).text), ("1", "2"))


async def recover_restores_what_code_destroyed(world):
    async with await world.sandbox(tier="native") as sandbox:
        context = await sandbox.contexts.create()
        await context.execute("x = 42")
        verdict = await context.execute("import os; os._exit(3)", recover=True)
        holds(not verdict.ok)
        same((await context.execute("x")).text, "42")


async def a_dry_run_shows_what_it_changes_and_waits(world):
    async with await world.sandbox(tier="native") as sandbox:
        context = await sandbox.contexts.create()
        await context.execute("x = 1")
        run = (await context.execute("x = 2; open('f', 'w').write('f')", dry_run=True)).dry_run
        same([each.path for each in run.files.added], ["f"])
        same([(each.name, each.value_before, each.value) for each in run.variables.changed], [("x", "1", "2")])
        with raises(Conflict):
            await context.execute("x")
        same([each.id for each in await sandbox.dry_runs()], [run.id])
        await context.discard(run)
        same((await context.execute("x")).text, "1")
        wish = DryRunOptions(network="open", timeout="1m")
        await context.commit((await context.execute("x = 3", dry_run=wish)).dry_run.id)
        same((await context.execute("x")).text, "3")
        with raises(NotFound):
            await context.discard(run)


async def input_is_answered(world):
    async with await world.sandbox() as sandbox:
        asked = []

        def answer(request):
            asked.append((request.prompt, request.password))
            return "Ada"

        verdict = await sandbox.execute("print(input('name? '))", on_input=answer)
        same((verdict.stdout, asked), ("Ada\n", [("name? ", False)]))


async def a_password_is_asked_for_as_one(world):
    async with await world.sandbox() as sandbox:
        asked = []

        def answer(request):
            asked.append(request.password)
            return "secret"

        verdict = await sandbox.execute("import getpass; print(getpass.getpass())", on_input=answer)
        same((verdict.stdout.strip(), asked), ("secret", [True]))


async def no_answer_is_the_end_of_input(world):
    async with await world.sandbox() as sandbox:
        for options in ({}, {"on_input": lambda request: None}):
            same((await sandbox.execute("input()", **options)).error.name, "EOFError")


async def a_reply_without_a_request_is_a_conflict(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        with raises(Conflict):
            await context.reply("nobody asked")


async def names_are_completed_and_inspected(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        await context.execute("import os")
        found = await context.complete("os.getcw")
        within("getcwd", " ".join(found.matches))
        same(found.end, 8)
        holds((await context.inspect("os.getcwd", detail=1)).found)
        holds(not (await context.inspect("nonesuch_name")).found)


async def a_notebook_has_the_cells(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        await context.execute("6 * 7")
        notebook = await context.notebook()
        same((notebook["nbformat"], "".join(notebook["cells"][0]["source"])), (4, "6 * 7"))
        within("42", await context.notebook_html())


async def history_is_optional(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        await context.execute("1")
        await context.execute("2", store_history=False)
        same((await context.execute("3")).execution_count, 2)


async def other_languages_live_too(world):
    async with await world.sandbox() as sandbox:
        await sandbox.execute("X=41", language="bash")
        same((await sandbox.execute("echo $((X + 1))", language="bash")).stdout, "42\n")
        within("bash", [each.language for each in await sandbox.contexts.list()])


async def an_unknown_language_is_not_found(world):
    async with await world.sandbox() as sandbox:
        with raises(NotFound):
            await sandbox.contexts.create("nonesuch")


async def a_context_has_its_directory_and_variables(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.make_dir("here")
        context = await sandbox.contexts.create(cwd="/workspace/here", env={"A": "1"})
        verdict = await context.execute(
            "import os; print(os.getcwd(), os.environ['A'], os.environ['B'])", env={"B": "2"})
        same(verdict.stdout, "/workspace/here 1 2\n")


async def a_context_ends_once(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        same((await context.delete(), await context.delete()), (True, False))
        same(await sandbox.contexts.list(), [])


async def a_key_executes_once(world):
    async with await world.sandbox() as sandbox:
        await sandbox.execute("n = 0")
        key = world.name("once")
        first = await sandbox.execute("n += 1; n", idempotency_key=key)
        second = await sandbox.execute("n += 1; n", idempotency_key=key)
        same((first.text, second.text, (await sandbox.execute("n")).text), ("1", "1", "1"))
        with raises(Conflict):
            await sandbox.execute("n += 2", idempotency_key=key)


async def a_stream_ends_with_the_verdict(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        types = [event.type async for event in context.stream("print(1)\n2")]
        same((types[0], types[-1]), ("started", "verdict"))
        within("stdout", types)
        within("result", types)


async def leaving_a_stream_ends_the_execution(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        stream = context.stream("print('on', flush=True)\nwhile True: pass")
        async for event in stream:
            if event.type == "stdout":
                break
        await stream.aclose()
        same((await context.execute("6 * 7")).text, "42")


async def events_reach_the_caller(world):
    async with await world.sandbox() as sandbox:
        types = []
        await sandbox.execute("print(1)", on_event=lambda event: types.append(event.type))
        same((types[0], types[-1]), ("started", "verdict"))


async def a_session_executes_many(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        async with await context.session() as session:
            out = []
            for number in range(5):
                verdict = await session.execute(f"print({number}); {number}", on_stdout=out.append)
                same(verdict.text, str(number))
            same("".join(out), "0\n1\n2\n3\n4\n")


async def a_session_interrupts(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        async with await context.session() as session:
            verdict = None
            async for event in session.stream("print('on', flush=True)\nwhile True: pass"):
                if event.type == "stdout":
                    await session.interrupt()
                verdict = event.verdict
            same(verdict.error.name, "KeyboardInterrupt")
            same((await session.execute("1 + 1")).text, "2")


async def contexts_execute_beside_each_other(world):
    async with await world.sandbox() as sandbox:
        one, two = await sandbox.contexts.create(), await sandbox.contexts.create()
        # Each waits for the file of the other: one after the other would never end.
        code = ("import os, time\nopen('{}', 'w').close()\n"
                "while not os.path.exists('{}'): time.sleep(0.01)\n'met'")

        async def first():
            return (await one.execute(code.format("a", "b"))).text

        async def second():
            return (await two.execute(code.format("b", "a"))).text

        same(list(await world.together(first, second)), ["'met'", "'met'"])


async def a_limit_of_memory_is_reported(world):
    async with await world.sandbox(limits=Limits(memory="256M")) as sandbox:
        verdict = await sandbox.execute("x = bytearray(1 << 30)")
        holds(not verdict.ok)
        within(verdict.status.value, ("out_of_memory", "error"))


async def an_empty_name_of_a_variable_is_refused(world):
    async with await world.sandbox() as sandbox:
        with raises(InvalidRequest):
            await sandbox.execute("1", env={"": "x"})
