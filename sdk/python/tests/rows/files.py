# SPDX-License-Identifier: Apache-2.0
"""Rows on files, of sandboxes and of volumes."""

import io
import os
import tarfile

from claims import holds, raises, same, within
from glovebox import Conflict, InvalidRequest, NotFound, Unsupported

ODD_NAMES = ["a b", "100%", "q?x=1", "h#x", "ü/ñ", "a+b", "back\\slash", "'\"", "-x"]


async def bytes_come_back(world):
    async with await world.sandbox() as sandbox:
        content = bytes(range(256)) * 40
        entry = await sandbox.files.write("d/e/f.bin", content)
        same((entry.type, entry.size), ("file", len(content)))
        same(await sandbox.files.read("d/e/f.bin"), content)


async def text_is_utf_8(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.write("t", "Σ = 12 ✓")
        same(await sandbox.files.read_text("t"), "Σ = 12 ✓")
        same((await sandbox.execute("open('t').read()")).text, "'Σ = 12 ✓'")


async def absolute_paths_are_absolute(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.write("/tmp/note", "x")
        same((await sandbox.commands.run("cat /tmp/note")).stdout, "x")
        same((await sandbox.files.stat("/tmp/note")).size, 1)
        await sandbox.files.remove("/tmp/note")
        holds(not await sandbox.files.exists("/tmp/note"))


async def odd_names_are_names(world):
    async with await world.sandbox() as sandbox:
        for name in ODD_NAMES:
            await sandbox.files.write(name, name)
            same(await sandbox.files.read_text(name), name)


async def a_file_is_written_in_pieces(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.write("p", iter([b"one", b"", b"two"]))
        same(await sandbox.files.read("p"), b"onetwo")
        await sandbox.files.write("p", io.BytesIO(b"three"))
        same(await sandbox.files.read("p"), b"three")


async def a_large_file_is_streamed(world):
    async with await world.sandbox() as sandbox:
        piece = os.urandom(1 << 16)
        await sandbox.files.write("big", (piece for _ in range(256)))
        size = 0
        async for part in sandbox.files.stream("big"):
            size += len(part)
        same(size, 16 << 20)
        same(await sandbox.files.read("big", start=(1 << 16) - 1, end=(1 << 16) + 1),
             piece[-1:] + piece[:1])


async def a_range_is_a_part(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.write("r", "0123456789")
        same(await sandbox.files.read("r", start=2, end=5), b"234")
        same(await sandbox.files.read("r", start=7), b"789")
        same(await sandbox.files.read("r", start=3, end=3), b"")


async def appending_adds(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.write("log", "one\n")
        await sandbox.files.write("log", "two\n", append=True, flush=True)
        same(await sandbox.files.read_text("log"), "one\ntwo\n")


async def a_mode_is_kept(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.write("run.sh", "#!/bin/sh\necho ran\n", mode=0o755)
        same((await sandbox.files.stat("run.sh")).mode, "0755")
        same((await sandbox.commands.run(["./run.sh"])).stdout, "ran\n")


async def a_directory_is_listed(world):
    async with await world.sandbox() as sandbox:
        for name in ("d/b", "d/a", "d/c/x"):
            await sandbox.files.write(name, "")
        same([each.path for each in await sandbox.files.list("d")], ["d/a", "d/b", "d/c"])
        within("d/c/x", [each.path for each in await sandbox.files.list("d", depth=2)])
        same([each.path for each in await sandbox.files.list()], ["d"])


async def directories_are_made_moved_and_removed(world):
    async with await world.sandbox() as sandbox:
        same((await sandbox.files.make_dir("x/y")).type, "directory")
        await sandbox.files.write("x/y/f", "f")
        same((await sandbox.files.move("x/y", "z")).path, "z")
        same(await sandbox.files.read("z/f"), b"f")
        await sandbox.files.remove("z")
        same((await sandbox.files.exists("z"), await sandbox.files.exists("x")), (False, True))


async def a_missing_file_is_not_found(world):
    async with await world.sandbox() as sandbox:
        for ask in (sandbox.files.read, sandbox.files.stat):
            with raises(NotFound):
                await ask("nonesuch")
        await sandbox.files.remove("nonesuch")  # It is not there, as was asked for.


async def a_directory_is_not_a_file(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.make_dir("d")
        with raises(InvalidRequest):
            await sandbox.files.read("d")


async def changes_are_watched(world):
    async with await world.sandbox() as sandbox:
        await sandbox.files.make_dir("w")
        events = sandbox.files.watch("w", recursive=True)
        found = []
        async for event in events:
            if event.type == "started":
                await sandbox.files.write("w/new", "x")
            elif event.type == "create":
                found.append(event.path)
                break
        await events.aclose()
        within("new", found[0])


async def a_directory_goes_in_and_out(world):
    async with await world.sandbox() as sandbox:
        here = world.folder()
        (here / "sub").mkdir()
        (here / "a.txt").write_text("a")
        (here / "sub/run").write_text("#!/bin/sh\n")
        (here / "sub/run").chmod(0o755)
        await sandbox.files.upload(here, "copy")
        back = world.folder() / "back"
        same(await sandbox.files.download("copy", back), 2)
        same((back / "a.txt").read_text(), "a")
        holds(os.access(back / "sub/run", os.X_OK))


async def a_file_goes_in_and_out(world):
    async with await world.sandbox() as sandbox:
        here = world.folder()
        (here / "a.txt").write_text("a")
        await sandbox.files.upload(here / "a.txt", "b.txt")
        same(await sandbox.files.download("b.txt", here), 1)
        same((here / "b.txt").read_text(), "a")


async def links_do_not_come_out(world):
    async with await world.sandbox() as sandbox:
        await sandbox.commands.run(
            "mkdir d; echo x > d/file; ln -s /etc/passwd d/link; ln d/file d/hard", check=True)
        here = world.folder()
        await sandbox.files.download("d", here)
        holds(not (here / "link").exists() and not (here / "link").is_symlink())
        within((here / "file").exists() or (here / "hard").exists(), (True,))


async def an_archive_is_unpacked_and_made(world):
    async with await world.sandbox() as sandbox:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as tar:
            entry = tarfile.TarInfo("in/x")
            entry.size = 1
            tar.addfile(entry, io.BytesIO(b"x"))
        await sandbox.files.unpack("here", made.getvalue())
        same(await sandbox.files.read("here/in/x"), b"x")
        pieces = [piece async for piece in sandbox.files.archive("here", "zip")]
        same(b"".join(pieces)[:2], b"PK")


async def a_volume_outlives_sandboxes(world):
    async with world.client() as client:
        name = world.name("volume")
        volume = await client.volumes.create(name, size="16M", inodes=1000)
        same((volume.name, volume.info.inodes >= 1000), (name, True))
        async with await world.sandbox(volumes=[volume.at("/data")]) as sandbox:
            await sandbox.files.write("/data/kept", "kept")
            with raises(Conflict):
                await volume.remove()
        async with await world.sandbox(volumes=[volume.at("/data", read_only=True)]) as sandbox:
            same(await sandbox.files.read_text("/data/kept"), "kept")
            holds(not (await sandbox.commands.run("touch /data/x")).ok)
        within(volume.id, [each.id for each in await client.volumes.list()])
        same((await client.volumes.get(name)).id, volume.id)
        await volume.remove()
        with raises(NotFound):
            await client.volumes.get(name)


async def a_volume_has_files_without_a_sandbox(world):
    async with world.client() as client:
        volume = await client.volumes.create(world.name("volume"), size="16M")
        await volume.files.write("d/x", "x")
        same(await volume.files.read("d/x"), b"x")
        await volume.files.make_dir("e")
        await volume.files.move("d/x", "e/y")
        within("e/y", [each.path.lstrip("/") for each in await volume.files.list("e")])
        same(await volume.files.exists("d/x"), False)
        await volume.files.remove("e/y")
        with raises(Unsupported):
            async for _ in volume.files.watch():
                pass
        await volume.remove()
