# SPDX-License-Identifier: Apache-2.0
"""One SQLite database and what may be done with it: statements and dot commands."""

import csv
import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path

import statements
import tables

# Virtual machine steps of SQLite between two looks for an interrupt: some tenths of a millisecond.
_STEPS = 20_000
_MAX_VALUE = 64 << 20
_SCHEMA = ("select name, type, sql from sqlite_schema "
           "where name not like 'sqlite\\_%' escape '\\' {} order by name")

HELP = """\
.databases             files that are open
.dump [TABLE]          SQL that makes the database again
.help                  this text
.import FILE TABLE     rows of a CSV file; its first line names the columns of a new table
.indexes [TABLE]       names of indexes
.mode MODE             how tables are written: {modes}
.open [FILE]           another database; without a file one in memory
.read FILE             runs the statements of a file
.schema [TABLE]        the statements that made the tables
.tables [PATTERN]      names of tables and views""".format(modes=", ".join(tables.MODES))


class CommandError(Exception):
    """A dot command that cannot be done."""


class Database:
    """`write` takes text for standard output, `show` a table for which the text is made later."""

    def __init__(self, write: Callable[[str], None], show: Callable[[tables.Table], None]) -> None:
        self.mode = "table"
        self.interrupted = False
        self._write = write
        self._show = show
        self._connection = self._connect(":memory:")
        self._commands = {
            "databases": self._databases, "dump": self._dump, "help": self._help,
            "import": self._import, "indexes": self._indexes, "mode": self._mode,
            "open": self._open, "read": self._read, "schema": self._schema, "tables": self._tables,
        }

    def run(self, statement: str, depth: int = 0) -> None:
        if statements.is_dot_command(statement):
            self._command(statement, depth)
            return
        cursor = self._connection.execute(statement)
        if cursor.description is not None:
            rows = cursor.fetchmany(tables.MAX_ROWS)
            truncated = len(rows) == tables.MAX_ROWS and cursor.fetchone() is not None
            self._show(tables.Table([name for name, *_ in cursor.description], rows, truncated))
        cursor.close()

    def objects(self) -> list[tuple[str, str, str]]:
        """(name, type, SQL) of tables, views, indexes and triggers."""
        return self._connection.execute(_SCHEMA.format("")).fetchmany(1000)

    def column_names(self) -> list[str]:
        found = self._connection.execute(
            "select distinct c.name from sqlite_schema s, pragma_table_info(s.name) c "
            "where s.type in ('table', 'view')")
        return [name for name, in found.fetchmany(1000)]

    def _connect(self, path: str) -> sqlite3.Connection:
        # Autocommit: a transaction is what the user begins, and nothing else.
        connection = sqlite3.connect(path, isolation_level=None, timeout=5)
        connection.text_factory = lambda value: value.decode(errors="replace")
        # The handler is Python code, so that a signal is answered within a long query.
        connection.set_progress_handler(lambda: self.interrupted, _STEPS)
        if hasattr(connection, "setlimit"):
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
        return connection

    def _command(self, line: str, depth: int) -> None:
        try:
            name, *arguments = shlex.split(line[1:])
        except ValueError as problem:
            raise CommandError(f"{line}: {problem}") from None
        found = [command for command in self._commands if command.startswith(name)]
        command = self._commands.get(name) or (
            self._commands[found[0]] if name and len(found) == 1 else None)
        if command is None:
            raise CommandError(f"unknown command .{name}; type .help for a list")
        if command == self._read:
            self._read(arguments, depth)
        else:
            command(arguments)

    def _help(self, _: list[str]) -> None:
        self._write(HELP + "\n")

    def _databases(self, _: list[str]) -> None:
        for _number, name, path in self._connection.execute("pragma database_list"):
            self._write(f"{name}: {path or '(in memory)'}\n")

    def _dump(self, arguments: list[str]) -> None:
        for line in self._connection.iterdump():
            if not arguments or f'"{arguments[0]}"' in line.split("(", 1)[0] \
                    or f" {arguments[0]}" in line.split("(", 1)[0]:
                self._write(line + "\n")

    def _mode(self, arguments: list[str]) -> None:
        if len(arguments) != 1 or arguments[0] not in tables.MODES:
            raise CommandError(f".mode takes one of {', '.join(tables.MODES)}")
        self.mode = arguments[0]

    def _open(self, arguments: list[str]) -> None:
        if len(arguments) > 1:
            raise CommandError(".open takes one file")
        fresh = self._connect(arguments[0] if arguments else ":memory:")
        try:
            fresh.execute("select 1 from sqlite_schema").fetchone()
        except sqlite3.Error:
            fresh.close()
            raise
        self._connection.close()
        self._connection = fresh

    def _read(self, arguments: list[str], depth: int = 0) -> None:
        if len(arguments) != 1:
            raise CommandError(".read takes one file")
        if depth >= 8:
            raise CommandError("nested .read commands are too deep")
        for statement in statements.split(Path(arguments[0]).read_text()):
            self.run(statement.text, depth + 1)

    def _tables(self, arguments: list[str]) -> None:
        pattern = arguments[0] if arguments else "%"
        found = self._connection.execute(
            _SCHEMA.format("and type in ('table', 'view') and name like ?"), (pattern,))
        self._write("".join(f"{name}\n" for name, *_ in found))

    def _indexes(self, arguments: list[str]) -> None:
        found = self._connection.execute(
            _SCHEMA.format("and type = 'index' and tbl_name like ?"),
            (arguments[0] if arguments else "%",))
        self._write("".join(f"{name}\n" for name, *_ in found))

    def _schema(self, arguments: list[str]) -> None:
        found = self._connection.execute(_SCHEMA.format("and tbl_name like ? and sql is not null"),
                                         (arguments[0] if arguments else "%",))
        self._write("".join(f"{sql};\n" for *_, sql in found))

    def _import(self, arguments: list[str]) -> None:
        arguments = [word for word in arguments if word not in ("--csv", "-csv")]
        if len(arguments) != 2:
            raise CommandError(".import takes a CSV file and a table")
        path, table = arguments
        quoted = _quote(table)
        exists = self._connection.execute(
            "select 1 from sqlite_schema where name = ? collate nocase", (table,)).fetchone()
        with open(path, newline="", encoding="utf-8-sig") as file:
            names, types = _guess_columns(csv.reader(file))
            file.seek(0)
            rows = csv.reader(file)
            if not exists:
                next(rows)
                columns = ", ".join(f"{_quote(name)} {kind}" for name, kind in zip(names, types))
                self._connection.execute(f"create table {quoted} ({columns})")
            marks = ", ".join("?" * len(names))
            self._connection.execute("savepoint glovebox_import")
            try:
                self._connection.executemany(
                    f"insert into {quoted} values ({marks})",
                    ((row + [None] * len(names))[:len(names)] for row in rows if row))
            except BaseException:
                self._connection.execute("rollback to glovebox_import")
                raise
            finally:
                self._connection.execute("release glovebox_import")


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _guess_columns(rows: "csv._reader") -> tuple[list[str], list[str]]:
    """Names and types by all values, since text in a column of numbers would compare as text."""
    names = next(rows, None)
    if not names:
        raise CommandError("the CSV file is empty")
    rank = [0] * len(names)
    kinds = [int, float]
    for row in rows:
        for index, value in enumerate(row[:len(names)]):
            while value and rank[index] < len(kinds):
                try:
                    kinds[rank[index]](value)
                    break
                except ValueError:
                    rank[index] += 1
    return names, [("integer", "real", "text")[number] for number in rank]
