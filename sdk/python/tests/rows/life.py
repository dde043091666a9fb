# SPDX-License-Identifier: Apache-2.0
"""Rows on sandboxes: how they come, change, go, and who may do that."""

import datetime

from claims import holds, raises, same, within
from glovebox import (
    AuthError, Conflict, ConnectionFailed, Forbidden, Gone, InvalidRequest, Limits, NotFound,
    QuotaError, Quotas, RateLimited, TooLarge, Unsupported)
from world import NO_RETRY


async def a_new_sandbox_runs(world):
    async with await world.sandbox() as sandbox:
        info = await sandbox.info()
        same((info.id, info.template, info.state.value), (sandbox.id, "default", "running"))
        holds(info.expires > info.created)


async def what_is_asked_for_is_what_is_there(world):
    async with await world.sandbox(
        timeout="10m", env={"STAGE": "test"}, metadata={"task": "sdk"},
        limits=Limits(memory="128M", pids=50), on_timeout="pause", auto_resume=True,
    ) as sandbox:
        info = await sandbox.info()
        same((info.env, info.metadata), ({"STAGE": "test"}, {"task": "sdk"}))
        same((info.limits["memory"], info.limits["pids"]), (128 << 20, 50))
        same((info.on_timeout, info.auto_resume), ("pause", True))


async def what_is_no_image_is_an_error(world):
    async with world.client() as client:
        with raises(InvalidRequest) as caught:
            await client.sandboxes.create(image="No Image")
        within("python:3.12-slim", caught.error.hint)
        with raises(InvalidRequest):
            await client.run("print(1)", image="No Image")
        with raises(InvalidRequest):
            await client.sandboxes.create("default", image="python:3.12-slim")


async def a_block_ends_its_sandbox(world):
    async with await world.sandbox() as sandbox:
        holds(await sandbox.is_running())
    async with world.client() as client:
        with raises(Gone) as caught:
            await client.sandboxes.connect(sandbox.id)
    same(caught.error.reason, "deleted")
    holds(caught.error.ended_at is not None)


async def a_sandbox_ends_once(world):
    async with world.client() as client:
        sandbox = await client.sandboxes.create()
        same((await sandbox.kill(), await sandbox.kill()), (True, False))


async def another_client_finds_the_same_sandbox(world):
    async with await world.sandbox() as sandbox:
        await sandbox.execute("x = 41")
        async with world.client() as client:
            other = await client.sandboxes.connect(sandbox.id)
            same((await other.execute("x + 1")).text, "42")


async def an_unknown_sandbox_is_not_found(world):
    async with world.client() as client:
        with raises(NotFound) as caught:
            await client.sandboxes.connect("nonesuch")
        error = caught.error
        same((error.status, error.code), (404, "not_found"))
        holds(error.hint and error.request_id)
        within("hint: ", str(error))


async def lists_are_read_page_by_page(world):
    async with world.client() as client:
        mark = {"row": world.name("list")}
        made = [await client.sandboxes.create(metadata=mark) for _ in range(3)]
        found = []
        async for each in client.sandboxes.list(metadata=mark, page_size=1):
            found.append(each.id)
        same(sorted(found), sorted(each.id for each in made))
        for each in made:
            await each.kill()


async def lists_are_of_one_state(world):
    async with await world.sandbox(metadata={"row": (mark := world.name("state"))}) as sandbox:
        await sandbox.pause()
        found = {}
        for state in ("running", "paused"):
            found[state] = [
                each.id async for each in sandbox.client.sandboxes.list(
                    state=state, metadata={"row": mark})]
        same(found, {"running": [], "paused": [sandbox.id]})


async def a_timeout_counts_from_now(world):
    async with await world.sandbox(timeout=60) as sandbox:
        before = (await sandbox.info()).expires
        after = (await sandbox.set_timeout(datetime.timedelta(minutes=20))).expires
        holds(after - before > datetime.timedelta(minutes=15))


async def metadata_changes(world):
    async with await world.sandbox() as sandbox:
        same((await sandbox.update(metadata={"a": "b"})).metadata, {"a": "b"})


async def a_paused_sandbox_keeps_its_variables(world):
    async with await world.sandbox() as sandbox:
        await sandbox.execute("x = 41")
        await sandbox.pause()
        same((await sandbox.info()).state.value, "paused")
        holds(not await sandbox.is_running())
        same((await sandbox.resume()).state.value, "running")
        same((await sandbox.execute("x + 1")).text, "42")


async def a_paused_sandbox_refuses_code(world):
    async with await world.sandbox() as sandbox:
        await sandbox.pause()
        with raises(Conflict):
            await sandbox.execute("1")


async def auto_resume_needs_no_resume(world):
    async with await world.sandbox(auto_resume=True) as sandbox:
        await sandbox.pause()
        same((await sandbox.execute("6 * 7")).text, "42")


async def a_snapshot_is_a_template(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.write("kept.txt", "kept")
        name = await sandbox.snapshot(world.name("snapshot"))
        async with await world.sandbox(template=name) as other:
            same(await other.files.read_text("kept.txt"), "kept")
        same((await sandbox.client.templates.get(name)).source, "snapshot")
        await sandbox.client.templates.remove(name)


async def forks_have_the_same_files(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.write("kept.txt", "kept")
        forks = await sandbox.fork(2, timeout="1m")
        same(len({sandbox.id, *(each.id for each in forks)}), 3)
        for each in forks:
            same(await each.files.read_text("kept.txt"), "kept")
            await each.kill()


async def an_exported_sandbox_is_imported_with_its_files(world):
    archive = world.folder() / "sandbox.gbx"
    async with await world.sandbox() as sandbox:
        await sandbox.files.write("kept.txt", "kept")
        await sandbox.export(archive)
        imported = await world.Sandbox.import_archive(archive, client=sandbox.client)
        holds(imported.id != sandbox.id)
        same(await imported.files.read_text("kept.txt"), "kept")
        await imported.kill()


async def usage_is_measured(world):
    async with await world.sandbox() as sandbox:
        await sandbox.execute("1")
        usage = await sandbox.usage()
        holds(usage.memory > 0 and usage.pids >= 1 and usage.memory_limit == 512 << 20)


async def a_key_makes_one_sandbox_of_two_requests(world):
    async with world.client() as client:
        key = world.name("key")
        first = await client.sandboxes.create(idempotency_key=key)
        second = await client.sandboxes.create(idempotency_key=key)
        same(first.id, second.id)
        with raises(Conflict):
            await client.sandboxes.create(idempotency_key=key, timeout=77)
        await first.kill()


async def a_wrong_limit_is_refused_with_a_hint(world):
    async with world.client() as client:
        with raises(InvalidRequest) as caught:
            await client.sandboxes.create(limits=Limits(memory="much"))
        within("limits.memory", caught.error.message)
        holds(caught.error.hint)


async def an_unknown_template_is_not_found(world):
    async with world.client() as client:
        with raises(NotFound):
            await client.sandboxes.create("nonesuch")


async def an_unknown_tier_is_refused(world):
    async with world.client() as client:
        with raises(InvalidRequest):
            await client.sandboxes.create(tier="nonesuch")


async def a_wrong_key_is_refused(world):
    async with world.client(api_key="gb_wrong") as client:
        with raises(AuthError) as caught:
            await client.languages()
        within("GLOVEBOX_API_KEY", caught.error.hint)


async def a_key_that_may_only_read_is_forbidden_to_create(world):
    async with world.client() as client:
        made = await client.keys.create(["read"], expires_in="1h")
        async with world.client(api_key=made.key) as reader:
            holds(await reader.languages())
            with raises(Forbidden):
                await reader.sandboxes.create()
        await client.keys.revoke(made.id)


async def keys_are_listed_rotated_and_revoked(world):
    async with world.client() as client:
        made = await client.keys.create(["read"])
        new = await client.keys.rotate(made.id, overlap="1m")
        holds(new.key != made.key)
        states = {each.id: each.state for each in await client.keys.list("default")}
        same((states[made.id], states[new.id]), ("valid", "valid"))
        await client.keys.revoke(new.id)
        states = {each.id: each.state for each in await client.keys.list()}
        same(states[new.id], "revoked")
        await client.keys.revoke(made.id)


async def a_quota_is_an_error_of_its_own(world):
    async with world.client() as client:
        name = world.name("tenant")
        made = await client.tenants.create(name, Quotas(sandboxes=1))
        same((made.name, made.quotas.sandboxes), (name, 1))
        key = await client.keys.create(["run", "read"], tenant=name)
        async with world.client(api_key=key.key) as tenant:
            sandbox = await tenant.sandboxes.create()
            with raises(QuotaError) as caught:
                await tenant.sandboxes.create()
            within("quota of sandboxes", caught.error.message)
            with raises(Conflict):
                await client.tenants.remove(name)
            await sandbox.kill()
        same((await client.tenants.set_quotas(name, sandboxes=2)).quotas.sandboxes, 2)
        same((await client.tenants.get(name)).used.sandboxes, 0)
        within(name, [each.name for each in await client.tenants.list()])
        await client.tenants.remove(name)


async def a_rate_says_when_to_come_back(world):
    async with world.client() as client:
        name = world.name("rate")
        await client.tenants.create(name, Quotas(requests_per_second=0.001, burst=1))
        key = await client.keys.create(["read"], tenant=name)
        async with world.client(api_key=key.key, retry=NO_RETRY) as tenant:
            await tenant.languages()
            with raises(RateLimited) as caught:
                await tenant.languages()
            holds(caught.error.retry_after >= 1)
        await client.tenants.remove(name)


async def nobody_there_is_a_failed_connection(world):
    async with world.client(url="http://127.0.0.1:1", retry=NO_RETRY) as client:
        with raises(ConnectionFailed) as caught:
            await client.health()
        within("glovebox serve", caught.error.hint)


async def the_socket_needs_no_key(world):
    async with world.client(url=f"unix:{world.daemon.unix}", api_key="") as client:
        holds(await client.languages())


async def a_body_that_is_too_large_is_not_sent(world):
    async with world.client() as client:
        with raises(TooLarge):
            await client.run("x" * (9 << 20))


async def what_the_daemon_cannot_do_is_unsupported(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create("bash")
        with raises(Unsupported):
            await context.checkpoint()


async def the_daemon_says_what_it_is(world):
    async with world.client() as client:
        same((await client.info())["name"], "glovebox")
        same((await client.health())["status"], "ok")
        within("glovebox_http_requests_in_flight", await client.metrics())
        same((await client.openapi())["info"]["title"], "Glovebox")
        within("python", [each["id"] for each in await client.languages()])


async def an_emergency_stop_ends_everything(world):
    async with world.client() as client:
        sandbox = await client.sandboxes.create()
        holds(await client.emergency_stop() >= 1)
        with raises(Gone) as caught:
            await sandbox.info()
        same(caught.error.reason, "emergency_stop")
        with raises(Forbidden):
            await client.sandboxes.create()
        await client.lift_emergency_stop()
        await client.sandboxes.create()
