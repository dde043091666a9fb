# SPDX-License-Identifier: Apache-2.0
import os
import unittest

import e2b
from both import now, of_both, pieces


@unittest.skipUnless(os.geteuid() == 0, "volumes require root")
class Volumes(unittest.TestCase):
    @of_both
    async def test_a_volume_is_made_found_and_destroyed(self, kind):
        volume = await now(kind.Volume.create("python"))
        self.assertEqual([each.name for each in await now(kind.Volume.list())], ["python"])
        info = await now(kind.Volume.get_info(volume.volume_id))
        self.assertEqual((info.name, info.token), (volume.name, volume.token))
        again = await now(kind.Volume.connect(volume.volume_id))
        await now(again.write_file("/file", "content"))
        self.assertEqual(await now(volume.read_file("/file")), "content")
        self.assertTrue(await now(kind.Volume.destroy(volume.volume_id)))
        with self.assertRaises(e2b.VolumeNotFoundException):
            await now(kind.Volume.get_info(volume.volume_id))

    @of_both
    async def test_its_files_need_no_sandbox(self, kind):
        volume = await now(kind.Volume.create("python"))
        try:
            await now(volume.make_dir("/a/b", force=True))
            await now(volume.write_file("/a/b/c", b"\0\xff"))
            self.assertEqual(bytes(await now(volume.read_file("/a/b/c", format="bytes"))), b"\0\xff")
            stream = await now(volume.read_file("/a/b/c", format="stream"))
            self.assertEqual(b"".join(await pieces(stream)), b"\0\xff")
            self.assertEqual((await now(volume.get_info("/a/b/c"))).size, 2)
            self.assertEqual([each.name for each in await now(volume.list("/a"))], ["b"])
            self.assertEqual((await now(volume.update_metadata("/a", uid=1000))).name, "a")
            await now(volume.remove("/a"))
            self.assertFalse(await now(volume.exists("/a/b/c")))
        finally:
            await now(kind.Volume.destroy(volume.volume_id))


if __name__ == "__main__":
    unittest.main()
