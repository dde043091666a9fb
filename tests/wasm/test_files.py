# SPDX-License-Identifier: Apache-2.0
"""Files as a module sees them: what Python's own library does with them, and what leads out."""
from wasm_case import WasmCase

# Each line that is printed is a claim that holds.
USING = r"""
import os, shutil, stat, tempfile
def claim(what): print(what)
with open("a", "w+") as file:
    file.write("one\ntwo\n"); file.seek(4); claim(file.read() == "two\n")
with open("a", "a") as file: file.write("three\n")
claim(open("a").read().split() == ["one", "two", "three"])
with open("a", "r+b") as file: file.truncate(3)
claim(os.stat("a").st_size == 3 and stat.S_ISREG(os.stat("a").st_mode))
file = os.open("a", os.O_RDWR)
claim((os.pwrite(file, b"XY", 1), os.pread(file, 2, 1), os.lseek(file, 0, os.SEEK_CUR)) == (2, b"XY", 0))
os.fsync(file); os.close(file)
os.utime("a", (1, 2)); claim((os.stat("a").st_atime, os.stat("a").st_mtime) == (1, 2))
os.mkdir("d"); os.rename("a", "d/b"); os.symlink("d/b", "link"); os.link("d/b", "second")
claim((os.readlink("link"), open("link").read(), os.lstat("link").st_size) == ("d/b", "oXY", 3))
claim(os.stat("second").st_nlink == 2 and os.path.samefile("second", "link"))
for number in range(500): open(f"d/{number}", "w").close()
claim(sorted(os.listdir("d")) == sorted(["b", *map(str, range(500))]))
claim(all(each.is_file() for each in os.scandir("d")))
claim([sorted(name for _, _, names in os.walk(".") for name in names)][0][-1] == "second")
shutil.rmtree("d"); os.unlink("link"); os.unlink("second")
claim(os.listdir(".") in (["main.py"], []) or os.listdir("."))
with tempfile.NamedTemporaryFile() as file: claim(file.name.startswith("/tmp/"))
"""

REFUSED = r"""
import os
def fails(what):
    try: what()
    except OSError as error: return type(error).__name__
    return "done"
os.mkdir("here")
os.symlink("../..", "here/up")
for what in (lambda: open("missing"), lambda: open("here"), lambda: os.mkdir("here"),
             lambda: os.rmdir("missing/at/all"), lambda: os.listdir("main.py"),
             lambda: os.open("main.py", os.O_RDONLY | os.O_CREAT | os.O_EXCL), lambda: os.unlink("here")):
    print(fails(what))
for path in ("../etc/passwd", "here/up/etc/passwd", "here/../../etc/passwd", "here/up/..",
             "/workspace/../etc/passwd", "/etc/passwd"):
    for what in (lambda: open(path), lambda: open(path, "w"), lambda: os.stat(path), lambda: os.listdir(path),
                 lambda: os.mkdir(path + "/x"), lambda: os.unlink(path), lambda: os.rename("main.py", path),
                 lambda: os.link("main.py", path), lambda: os.utime(path), lambda: os.rmdir(path)):
        assert fails(what) != "done", path
print(fails(lambda: os.symlink("/etc/passwd", "absolute")), os.path.exists("main.py"))
"""


class Files(WasmCase):
    def test_are_what_a_program_expects_of_them(self):
        answer = self.run_python(USING)
        self.assertEqual((answer.status, set(answer.out.split())), (0, {b"True"}), str(answer))

    def test_that_cannot_be_had_are_refused_for_the_reason_that_a_program_would_get(self):
        answer = self.run_python(REFUSED)
        self.assertEqual(answer.out.decode().splitlines(), [
            "FileNotFoundError", "IsADirectoryError", "FileExistsError", "FileNotFoundError",
            "NotADirectoryError", "FileExistsError", "IsADirectoryError",
            "PermissionError True"], str(answer))

    def test_that_are_open_are_as_many_as_the_limit_says(self):
        answer = self.run_python("files = []\ntry:\n  while True: files.append(open('x', 'w'))\n"
                                 "except OSError as error: print(error.errno, len(files) < 4096)",
                                 "--open-files", "64")
        self.assertIn(b"True", answer.out, str(answer))
