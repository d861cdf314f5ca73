"""Where each key of a TOML text stands: key path to line number.

``tomllib`` reads values but keeps no lines. This scanner reads only keys and skips values; it
expects text that ``tomllib`` has already accepted.
"""

import contextlib
import re
from bisect import bisect_right
from dataclasses import dataclass, field

KeyPath = tuple[str, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRINGS = (
    re.compile(r'"""(?:[^\\"]|\\.|"(?!""))*"{3,5}', re.DOTALL),
    re.compile(r"'''(?:[^']|'(?!''))*'{3,5}", re.DOTALL),
    re.compile(r'"((?:[^\\"\n]|\\.)*)"'),
    re.compile(r"'([^'\n]*)'"),
)
_SCALAR = re.compile(r"[^,\]}\n#]+")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class KeyLines:
    """Line numbers, from 1, of the keys of one TOML text."""

    lines: dict[KeyPath, int]

    def line(self, path: KeyPath) -> int:
        """The line of a key, else of the nearest table around it, else 1.

        A member of an array has its index, in decimal, as the last part of its path.
        """
        for length in range(len(path), 0, -1):
            found = self.lines.get(path[:length])
            if found is not None:
                return found
        return 1


def key_lines(text: str) -> KeyLines:
    """Find the line of every key.

    Text that isn't TOML gives the lines found before the first place that isn't.
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    # Lines are a comfort: keys not found fall back to the table around them.
    with contextlib.suppress(_NotTomlError, RecursionError):
        scanner.scan()
    return KeyLines(scanner.found)


class _NotTomlError(Exception):
    """The scanner met something that it can't place."""


@dataclass(slots=True)
class _Scanner:
    text: str
    position: int = 0
    found: dict[KeyPath, int] = field(default_factory=dict)
    arrays: dict[KeyPath, int] = field(default_factory=dict)
    """Number of members so far of each array of tables."""
    starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def scan(self) -> None:
        table: KeyPath = ()
        self.space()
        while self.position < len(self.text):
            if self.text[self.position] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.space()

    def header(self) -> KeyPath:
        """A table header; returns the path that the following keys belong to."""
        double = self.text.startswith("[[", self.position)
        line = self.line()
        self.position += 2 if double else 1
        path = self.inside_arrays(self.dotted_key(), is_array=double)
        self.expect("]]" if double else "]")
        self.remember(path, line)
        return path

    def inside_arrays(self, key: KeyPath, *, is_array: bool) -> KeyPath:
        """The path of a header: a part that names an array of tables means its last member."""
        path: KeyPath = ()
        for part in key[:-1]:
            path = (*path, part)
            if path in self.arrays:
                path = (*path, str(self.arrays[path] - 1))
        path = (*path, key[-1])
        if not is_array:
            return path
        index = self.arrays.get(path, 0)
        self.arrays[path] = index + 1
        self.found.setdefault(path, self.line())
        return (*path, str(index))

    def pair(self, table: KeyPath) -> None:
        line = self.line()
        path = table + self.dotted_key()
        self.expect("=")
        self.remember(path, line)
        self.value(path)

    def remember(self, path: KeyPath, line: int) -> None:
        for length in range(1, len(path)):
            self.found.setdefault(path[:length], line)
        self.found[path] = line

    def dotted_key(self) -> KeyPath:
        parts = [self.simple_key()]
        while self.text.startswith(".", self.position):
            self.position += 1
            parts.append(self.simple_key())
        return tuple(parts)

    def simple_key(self) -> str:
        self.space()
        bare = _BARE_KEY.match(self.text, self.position)
        if bare:
            self.position = bare.end()
            key = bare.group()
        else:
            key = self.quoted_key()
        self.space()
        return key

    def quoted_key(self) -> str:
        basic, literal = (pattern.match(self.text, self.position) for pattern in _STRINGS[2:])
        match = basic or literal
        if match is None:
            raise _NotTomlError
        self.position = match.end()
        return _ESCAPE.sub(_unescape, match.group(1)) if basic else match.group(1)

    def value(self, path: KeyPath) -> None:
        self.space()
        start = self.text[self.position : self.position + 1]
        if start == "{":
            self.members("}", path, keyed=True)
        elif start == "[":
            self.members("]", path, keyed=False)
        else:
            self.skip_scalar()

    def members(self, end: str, path: KeyPath, *, keyed: bool) -> None:
        """An inline table or an array."""
        self.position += 1
        self.space()
        index = 0
        while not self.text.startswith(end, self.position):
            if keyed:
                self.pair(path)
            else:
                self.found[(*path, str(index))] = self.line()
                self.value((*path, str(index)))
            index += 1
            self.space()
            if self.text.startswith(",", self.position):
                self.position += 1
                self.space()
            elif not self.text.startswith(end, self.position):
                raise _NotTomlError
        self.position += 1

    def skip_scalar(self) -> None:
        for pattern in (*_STRINGS, _SCALAR):
            match = pattern.match(self.text, self.position)
            if match:
                self.position = match.end()
                return
        raise _NotTomlError

    def space(self) -> None:
        """Skip blanks, line ends and comments."""
        match = _SPACE.match(self.text, self.position)
        if match:
            self.position = match.end()

    def expect(self, text: str) -> None:
        self.space()
        if not self.text.startswith(text, self.position):
            raise _NotTomlError
        self.position += len(text)

    def line(self) -> int:
        return bisect_right(self.starts, self.position)


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] in "uU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)
