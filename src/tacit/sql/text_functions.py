"""Functions of text in expressions over values, by their syntax nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
from sqlglot import exp

from tacit.sql.date_functions import Maker, Read
from tacit.sql.scalars import Function, NotScalar, strict
from tacit.tables.compute import pc

__all__ = ["TEXT_FUNCTIONS", "as_text", "is_like"]

LONGEST_TEXT = 1_000
"""Maximum characters of a text that a function lengthens."""

LONGEST_PATTERN = 200
"""Maximum characters of a regular expression."""

ANY, ONE = "any text", "any character"
"""What % and _ match in a LIKE pattern."""


def _unary(function: Callable[[Any], Any]) -> Maker:
    return lambda node, read: strict(function, read(node.this))


def _binary(function: Callable[[Any, Any], Any]) -> Maker:
    return lambda node, read: strict(function, read(node.this), read(node.expression))


def is_like(text: str, pattern: str, escape: str = "") -> bool:
    """Return whether a text matches a LIKE pattern, in time at most proportional to the product of their lengths.

    Examples
    --------
    >>> is_like("teacher", "t%_er"), is_like("teacher", "%each"), is_like("", "%")
    (True, False, True)
    >>> is_like("50%", "%!%", escape="!"), is_like("500", "50!%", escape="!")
    (True, False)
    """
    marks = _marks(pattern, escape)
    place = mark = start = 0
    after = -1
    while place < len(text):
        if mark < len(marks) and marks[mark] == ANY:
            after, start, mark = mark, place, mark + 1
        elif mark < len(marks) and marks[mark] in (ONE, text[place]):
            place, mark = place + 1, mark + 1
        elif after >= 0:  # the last % matches one more character
            start += 1
            place, mark = start, after + 1
        else:
            return False
    return all(left == ANY for left in marks[mark:])


def _marks(pattern: str, escape: str) -> list[str]:
    """Return a LIKE pattern's characters, with names for those that match others."""
    marks, letters = [], iter(pattern)
    for letter in letters:
        if letter == escape:
            marks.append(next(letters))
        else:
            marks.append({"%": ANY, "_": ONE}.get(letter, letter))
    return marks


def _like(node: exp.Expr, read: Read, escape: str = "") -> Function:
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise NotScalar(pattern)
    wanted, lower = str(pattern.this), isinstance(node, exp.ILike)
    wanted = wanted.lower() if lower else wanted
    negated = bool(node.args.get("negate"))
    try:
        _marks(wanted, escape)
    except StopIteration:  # the escape character is the last one
        raise NotScalar(pattern) from None

    def matches(value: Any) -> bool:
        if not isinstance(value, str):
            raise TypeError
        return is_like(value.lower() if lower else value, wanted, escape) is not negated

    return strict(matches, read(node.this))


def _like_escape(node: exp.Escape, read: Read) -> Function:
    """Return LIKE … ESCAPE."""
    mark = node.expression
    is_mark = isinstance(mark, exp.Literal) and mark.is_string and len(str(mark.this)) <= 1
    if not is_mark or not isinstance(node.this, exp.Like | exp.ILike):
        raise NotScalar(node)
    return _like(node.this, read, str(mark.this))


def _matching(node: exp.Expr, read: Read) -> Function:
    """Return whether a regular expression matches a text."""
    is_full_match = not isinstance(node, exp.RegexpLike)
    pattern = _pattern_of(node)
    wanted = f"^(?:{pattern})$" if is_full_match else pattern
    return strict(lambda value: _matches(value, wanted), read(node.this))


def _pattern_of(node: exp.Expr) -> str:
    """Return a constant regular expression; the library takes time proportional to the text."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or len(str(pattern.this)) > LONGEST_PATTERN:
        raise NotScalar(node)
    try:
        _matches("", str(pattern.this))
    except pa.ArrowInvalid:
        raise NotScalar(node) from None
    return str(pattern.this)


def _matches(value: Any, pattern: str) -> bool:
    if not isinstance(value, str):
        raise TypeError
    return bool(pc.match_substring_regex(pa.scalar(value), pattern).as_py())


def _regexp_substitute(value: Any, pattern: str, replacement: str, most: int | None) -> str:
    if not isinstance(value, str):
        raise TypeError
    result = pc.replace_substring_regex(
        pa.scalar(value), pattern=pattern, replacement=replacement, max_replacements=most
    )
    return str(result.as_py())[:LONGEST_TEXT]


def _regexp_replace(node: exp.RegexpReplace, read: Read) -> Function:
    pattern, replacement, options = _pattern_of(node), node.args["replacement"], node.args.get("modifiers")
    is_known = isinstance(replacement, exp.Literal) and replacement.is_string and (not options or options.name == "g")
    if not is_known:
        raise NotScalar(node)
    most = None if options else 1
    try:
        _regexp_substitute("", pattern, str(replacement.this), most)
    except pa.ArrowInvalid:
        raise NotScalar(node) from None
    return strict(lambda value: _regexp_substitute(value, pattern, str(replacement.this), most), read(node.this))


def _regexp_extract(node: exp.RegexpExtract, read: Read) -> Function:
    """Return the first match of a regular expression or of a group in it; an empty text where there is none."""
    pattern, group = _pattern_of(node), node.args.get("group")
    place = group.name if isinstance(group, exp.Literal) and not group.is_string else "0" if group is None else ""
    if not place.isdigit() or int(place) > 8:
        raise NotScalar(node)
    around, wanted = f"^(?s:.*?)({pattern})(?s:.*)$", f"\\{int(place) + 1}"
    try:
        _regexp_substitute("", around, wanted, 1)
    except pa.ArrowInvalid:
        raise NotScalar(node) from None
    return strict(
        lambda value: _regexp_substitute(value, around, wanted, 1) if _matches(value, pattern) else "", read(node.this)
    )


def _trim(node: exp.Trim, read: Read) -> Function:
    """Return TRIM, LTRIM or RTRIM, of spaces or of the given characters."""
    sides = {"LEADING": str.lstrip, "TRAILING": str.rstrip}
    trim = sides.get(str(node.args.get("position") or "").upper(), str.strip)
    marks = node.args.get("expression") or exp.Literal.string(" ")
    return strict(
        lambda text, letters: trim(str(text), letters or None) if letters else text, read(node.this), read(marks)
    )


def _position(node: exp.StrPosition, read: Read) -> Function:
    """Return the place of a text in another one, from 1; 0 where it is not in it."""
    return strict(lambda text, part: str(text).find(part) + 1, read(node.this), read(node.args["substr"]))


def _translate(node: exp.Translate, read: Read) -> Function:
    """Return a text with characters replaced by those at the same place; those without one are left out."""

    def translate(text: Any, before: str, after: str) -> str:
        pairs = {letter: after[place : place + 1] for place, letter in reversed([*enumerate(before)])}
        return "".join(pairs.get(letter, letter) for letter in str(text))

    return strict(translate, read(node.this), read(node.args["from_"]), read(node.args["to"]))


def _repeat(node: exp.Repeat, read: Read) -> Function:
    return strict(
        lambda text, times: (str(text) * min(int(times), LONGEST_TEXT))[:LONGEST_TEXT],
        read(node.this),
        read(node.args["times"]),
    )


def _substring(node: exp.Substring, read: Read) -> Function:
    start, length = node.args.get("start"), node.args.get("length")
    if start is None:
        raise NotScalar(node)

    def cut(text: Any, start: Any, count: Any) -> str:
        first = int(start) - 1 if start >= 0 else len(str(text)) + int(start)  # negative: from the end
        ends = sorted((first, first + int(count)))
        return str(text)[max(0, ends[0]) : max(0, ends[1])]

    return strict(cut, read(node.this), read(start), read(length) if length else lambda _: 2**31)


def _side(node: exp.Left | exp.Right, read: Read) -> Function:
    left = isinstance(node, exp.Left)

    def cut(text: str, count: int) -> str:
        length = count if count >= 0 else max(0, len(text) + count)
        return text[:length] if left else text[len(text) - min(length, len(text)) :]

    return strict(cut, read(node.this), read(node.expression))


def _replace(node: exp.Replace, read: Read) -> Function:
    after = node.args.get("replacement") or exp.Literal.string("")
    arguments = (read(node.this), read(node.expression), read(after))
    return strict(lambda text, old, new: str(text).replace(old, new) if old else str(text), *arguments)


def _split(node: exp.SplitPart, read: Read) -> Function:
    def part(text: Any, mark: Any, place: Any) -> str:
        parts = str(text).split(mark) if mark else [str(text)]
        index = int(place) - 1 if place > 0 else len(parts) + int(place)
        return parts[index] if 0 <= index < len(parts) else ""

    mark, place = node.args.get("delimiter"), node.args.get("part_index")
    if mark is None or place is None:
        raise NotScalar(node)
    return strict(part, read(node.this), read(mark), read(place))


def _pad(node: exp.Pad, read: Read) -> Function:
    left, filling = bool(node.args.get("is_left")), node.args.get("fill_pattern")
    if filling is None:
        raise NotScalar(node)

    def pad(text: Any, count: Any, mark: Any) -> str:
        missing = max(0, min(int(count), LONGEST_TEXT) - len(str(text)))
        more = (str(mark) * (missing + 1))[:missing]
        return (more + str(text) if left else str(text) + more)[: int(count)]

    return strict(pad, read(node.this), read(node.expression), read(filling))


def _concat(node: exp.Concat, read: Read) -> Function:
    parts = [read(item) for item in node.expressions]
    return lambda row: "".join(as_text(value) for part in parts if (value := part(row)) is not None)


def _concat_with(node: exp.ConcatWs, read: Read) -> Function:
    mark, *parts = [read(item) for item in node.expressions]
    return strict(lambda separator, texts: str(separator).join(texts), mark, _texts(parts))


def _texts(parts: list[Function]) -> Function:
    return lambda row: [as_text(value) for part in parts if (value := part(row)) is not None]


def as_text(value: Any) -> str:
    """Return a value as text."""
    text = str(float(value) if isinstance(value, Fraction) else value)
    return text.lower() if isinstance(value, bool) else text


TEXT_FUNCTIONS: dict[type[exp.Expr], Maker] = {
    exp.Escape: _like_escape,
    exp.RegexpReplace: _regexp_replace,
    exp.RegexpExtract: _regexp_extract,
    exp.StrPosition: _position,
    exp.Translate: _translate,
    exp.Repeat: _repeat,
    exp.ConcatWs: _concat_with,
    exp.Like: _like,
    exp.ILike: _like,
    exp.RegexpLike: _matching,
    exp.RegexpFullMatch: _matching,
    exp.SimilarTo: _matching,
    exp.Upper: _unary(lambda text: str(text).upper()),
    exp.Lower: _unary(lambda text: str(text).lower()),
    exp.Length: _unary(len),
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.Left: _side,
    exp.Right: _side,
    exp.Replace: _replace,
    exp.SplitPart: _split,
    exp.Pad: _pad,
    exp.Initcap: _unary(lambda text: re.sub(r"[^\W_]+", lambda word: word[0].capitalize(), str(text))),
    exp.Reverse: _unary(lambda text: str(text)[::-1]),
    exp.Concat: _concat,
    exp.DPipe: _binary(lambda left, right: as_text(left) + as_text(right)),
    exp.EndsWith: _binary(lambda text, end: str(text).endswith(end)),
    exp.StartsWith: _binary(lambda text, start: str(text).startswith(start)),
    exp.Contains: _binary(lambda text, part: part in str(text)),
}
