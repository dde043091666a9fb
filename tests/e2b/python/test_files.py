# SPDX-License-Identifier: Apache-2.0
import io
import unittest
import urllib.request

import e2b
from sandboxes import InSandbox


class Files(InSandbox):
    def test_a_file_is_read_as_it_was_written(self):
        files = self.sandbox.files
        self.assertEqual(files.write("a.txt", "grüße").path, "/home/user/a.txt")
        self.assertEqual(files.read("a.txt"), "grüße")
        self.assertEqual(bytes(files.read("a.txt", format="bytes")), "grüße".encode())
        self.assertEqual(b"".join(files.read("a.txt", format="stream")), "grüße".encode())

    def test_many_files_are_written_at_once(self):
        written = self.sandbox.files.write_files([
            {"path": "many/one", "data": b"\0\xff"}, {"path": "many/two", "data": io.BytesIO(b"22")}])
        self.assertEqual([each.path for each in written],
                         ["/home/user/many/one", "/home/user/many/two"])
        self.assertEqual(bytes(self.sandbox.files.read("many/one", format="bytes")), b"\0\xff")
        self.assertEqual([(each.name, each.size) for each in self.sandbox.files.list("many")],
                         [("one", 2), ("two", 2)])

    def test_what_is_missing_is_not_found(self):
        self.assertFalse(self.sandbox.files.exists("missing"))
        with self.assertRaises(e2b.NotFoundException):
            self.sandbox.files.read("missing")

    def test_files_are_renamed_and_removed(self):
        self.sandbox.files.write("old", "kept")
        self.assertEqual(self.sandbox.files.rename("old", "new").path, "/home/user/new")
        self.assertEqual(self.sandbox.files.read("new"), "kept")
        self.sandbox.files.remove("new")
        self.assertFalse(self.sandbox.files.exists("new"))

    def test_a_directory_is_made_once(self):
        self.assertTrue(self.sandbox.files.make_dir("folder"))
        self.assertFalse(self.sandbox.files.make_dir("folder"))

    def test_a_watcher_hears_of_new_files(self):
        self.sandbox.files.make_dir("watched")
        watcher = self.sandbox.files.watch_dir("watched")
        self.sandbox.files.write("watched/new", "1")
        heard = []
        self.eventually(lambda: heard.extend(watcher.get_new_events()) or
                        ("new", e2b.FilesystemEventType.CREATE) in
                        [(each.name, each.type) for each in heard])
        watcher.stop()

    def test_a_signed_url_needs_no_key(self):
        self.sandbox.files.write("signed.txt", "content")
        with urllib.request.urlopen(self.sandbox.download_url("signed.txt")) as answer:
            self.assertEqual(answer.read(), b"content")


if __name__ == "__main__":
    unittest.main()
