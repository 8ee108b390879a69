"""Damage valid files by small edits of bytes or rows, drawn by hypothesis."""

import re
import sqlite3
import zipfile

from hypothesis import strategies as st

from gz_testauto.results.schema import TABLES

NUMBERS = (
    "nan", "-nan", "inf", "-inf", "NaN", ".nan", ".inf", "1e308", "-1e308", "1e-320", "1e999", "0",
    "-0", "-1", "1e5", "1e12", "1000000", "99999999999999999999", "9" * 5000, "", "x", "0x10",
    "1_000", "1:30", "1,5", "1 1", "١", "-", "+", ".", "1e", "true", "null", "2001-99-99",
)  # fmt: skip
TOKENS = (
    b"\x00", b"\x01", b"\x1b[2J", b"\xff", b"\xe9", b"\xef\xbb\xbf", b"\r", b"\t", b"\xed\xa0\x80",
    b"<", b">", b"&", b"&amp;", b"&#0;", b"&x;", b"]]>", b"<!--", b"-->", b"<![CDATA[", b"<?x?>",
    b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hosts">]>', b"<a:b/>", b"</model>", b"<model>",
    b"<pose>nan 0 0 0 0 0</pose>", b"<pose>1 2</pose>", b"<scale>0 1 1</scale>", b"<include/>",
    b"<include><uri>model://ground_plane</uri></include>", b"<include><uri>.</uri></include>",
    b"<static>maybe</static>", b"<mass>nan</mass>", b"<mass>-5</mass>", b"<state world_name='x'/>",
    b"{}", b"[]", b"{}: 1\n", b"[a]: 1\n", b"? ", b": ", b"- ", b"*a", b"&a ", b"<<: ", b"!!int ",
    b"!!binary ", b"!!timestamp ", b"!!python/object:os.system ", b"!!set ", b"---\n", b"...\n",
    b"%YAML 9.9\n", b"|\n", b"'", b'"', b"#", b"null", b'"\\ud800"', b'"\\0"', b"../../x",
    b"/dev/zero", b"/etc/passwd", b"package://none/x", b"model://none", b"file://", b"~",
    b"$(arg x)",
    b"[red]", b"count: 30000\n", b"[[" * 40, b"\\", b"%s", b"1e", b"#\n", b" " * 40,
)  # fmt: skip
NESTS = (b"[", b"{", b"{a: ", b"- ", b"<model name='a'>", b"<link>", b"(", b'{"a":', b"[[", b" ")
CODECS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1252", "utf-7")

_WHERE = st.floats(0, 1, exclude_max=True)
byte_edits = st.one_of(
    st.tuples(st.just("byte"), _WHERE, st.integers(0, 255)),
    st.tuples(st.just("cut"), _WHERE, st.integers(1, 200)),
    st.tuples(st.just("truncate"), _WHERE, st.just(0)),
    st.tuples(st.just("repeat"), _WHERE, st.integers(1, 3000)),
)
text_edits = st.one_of(
    st.tuples(st.just("number"), _WHERE, st.sampled_from(NUMBERS)),
    st.tuples(st.just("number"), _WHERE, st.sampled_from(NUMBERS)),
    st.tuples(st.just("insert"), _WHERE, st.sampled_from(TOKENS)),
    st.tuples(st.just("word"), _WHERE, st.sampled_from(TOKENS)),
    st.tuples(st.just("word"), _WHERE, st.binary(max_size=4)),
    st.tuples(st.just("swap"), _WHERE, _WHERE),
    st.tuples(st.just("lines"), _WHERE, st.integers(1, 12)),
    st.tuples(st.just("nest"), _WHERE, st.tuples(st.sampled_from(NESTS), st.integers(20, 5000))),
    st.tuples(st.just("encode"), st.just(0.0), st.sampled_from(CODECS)),
    byte_edits,
)


def edited(content, edits):
    """Return the content after the edits."""
    for kind, where, parameter in edits:
        content = _EDITS[kind](content, where, parameter)
    return content


def _byte(content, where, value):
    place = int(where * len(content))
    return content[:place] + bytes([value]) + content[place + 1 :]


def _cut(content, where, length):
    place = int(where * len(content))
    return content[:place] + content[place + length :]


def _truncate(content, where, _):
    return content[: int(where * len(content))]


def _repeat(content, where, times):
    place = int(where * len(content))
    return content[:place] + content[place : place + 40] * times + content[place:]


def _insert(content, where, token):
    place = int(where * len(content))
    return content[:place] + token + content[place:]


def _number(content, where, text):
    return _replaced(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?", content, where, text.encode())


def _word(content, where, token):
    return _replaced(rb"[A-Za-z_/][\w./:-]*", content, where, token)


def _replaced(pattern, content, where, text):
    matches = list(re.finditer(pattern, content))
    if not matches:
        return content
    match = matches[int(where * len(matches))]
    return content[: match.start()] + text + content[match.end() :]


def _swap(content, first, second):
    lines = content.splitlines(True)
    if lines:
        i, j = int(first * len(lines)), int(second * len(lines))
        lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def _lines(content, where, count):
    lines = content.splitlines(True)
    place = int(where * len(lines))
    again = lines[place : place + count] if count % 2 else []
    return b"".join([*lines[:place], *again, *lines[place + (0 if count % 2 else count) :]])


def _nest(content, where, nest):
    token, times = nest
    return _insert(content, where, token * times)


def _encode(content, _, codec):
    try:
        return content.decode("utf-8").encode(codec, "replace")
    except (UnicodeError, LookupError):
        return content


_EDITS = {
    "byte": _byte, "cut": _cut, "truncate": _truncate, "repeat": _repeat, "insert": _insert,
    "number": _number, "word": _word, "swap": _swap, "lines": _lines, "nest": _nest,
    "encode": _encode,
}  # fmt: skip

VALUES = (
    "NULL", "''", "'x'", "0", "-1", "1e999", "-1e999", "9223372036854775807", "x'00ff'", "1.5",
    "'[red]'", "char(27) || '[2J'", "'nan'", "'../../x'", "'[]'", "'{}'", "zeroblob(100000)",
)  # fmt: skip
COLUMNS = {table.name: table.columns for table in TABLES}
_CELLS = st.sampled_from([(table, name) for table in COLUMNS for name in COLUMNS[table]])
_TABLES = st.sampled_from(sorted(COLUMNS))
statements = st.one_of(
    st.builds("UPDATE {0[0]} SET {0[1]} = {1}".format, _CELLS, st.sampled_from(VALUES)),
    st.builds(
        "UPDATE {0[0]} SET {0[1]} = {1} WHERE rowid = (SELECT min(rowid) FROM {0[0]})".format,
        _CELLS,
        st.sampled_from(VALUES),
    ),
    st.builds("DELETE FROM {}".format, _TABLES),
    st.builds("DROP TABLE {}".format, _TABLES),
    st.builds("ALTER TABLE {0[0]} RENAME COLUMN {0[1]} TO other".format, _CELLS),
    st.just("CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n)"
            " SELECT x FROM n"),
    st.builds(
        "ALTER TABLE {0} RENAME TO old; CREATE VIEW {0} AS WITH RECURSIVE n(x) AS (SELECT 1 UNION "
        "ALL SELECT x+1 FROM n) SELECT x AS trial, x AS name, x AS value FROM n".format, _TABLES),
)  # fmt: skip


def execute(path, sql):
    """Apply edits to a database, and ignore edits that SQLite rejects."""
    connection = sqlite3.connect(str(path), isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        for statement in sql.split(";"):
            connection.execute(statement)
    except sqlite3.Error:
        pass
    finally:
        connection.close()


archive_edits = st.tuples(
    st.floats(0, 1, exclude_max=True),
    st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)),
    st.lists(text_edits, max_size=2),
    st.booleans(),
)


def edit_archive(path, edit):
    """Write an archive again with one member damaged, omitted or compressed."""
    where, method, edits, leaves_out = edit
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = sorted(members)[int(where * len(members))]
    members[chosen] = edited(members[chosen], edits)
    if leaves_out and not edits:
        del members[chosen]
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
