"""Public columns, which the server knows anyway, and the values that a contract allows."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tacit.contract.attributes import check_flag, check_name, is_text
from tacit.contract.categories import check_dictionary
from tacit.errors import SchemaError

__all__ = ["Public"]

PUBLIC_TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
"""Types of public columns by their name in files and contracts."""


@dataclass(frozen=True)
class Public:
    """A column that the server knows anyway: stored unperturbed, and not covered by the guarantee.

    Parameters
    ----------
    name : str
        Column name.
    values : sequence of str or int, optional
        The values that are allowed, all text or all whole numbers.
    type : int, float, str or bool, optional
        The type of all values, or its name as text. A ``float`` column takes whole numbers, too. Without values and
        type, any text, number or boolean is allowed, and NULL.
    null : bool
        With values or type: whether NULL is allowed as well.

    Examples
    --------
    >>> Public("os", values=["ios", "android"]).accepts("web")
    False
    """

    name: str
    values: tuple[str, ...] | tuple[int, ...] | None = None
    type: str | None = None
    null: bool = False

    def __init__(
        self,
        name: str,
        values: Sequence[str] | Sequence[int] | None = None,
        *,
        type: builtins.type | str | None = None,  # noqa: A002
        null: bool = False,
    ) -> None:
        check_name("attribute", name)
        check_flag(name, "null", null)
        if isinstance(values, str) or not isinstance(values, Iterable | None):
            message = f"{name}: values must be a list of texts or of whole numbers."
            raise SchemaError(message, code="bad-option")
        listed = None if values is None else tuple(values)
        if listed is not None:
            check_dictionary(name, listed)
            if any("\0" in value for value in listed if isinstance(value, str)):
                message = f"{name}: a listed value contains a NUL character, which databases cannot store."
                raise SchemaError(message, code="bad-option")
        named = next((word for word, kind in PUBLIC_TYPES.items() if type in (word, kind)), None)
        if type is not None and (named is None or listed is not None):
            problem = (
                "there are values and a type. Remove one of them" if named else "type must be int, float, str or bool"
            )
            message = f"{name}: {problem}."
            raise SchemaError(message, code="bad-option")
        if null and listed is None and named is None:
            message = f"{name}: without values or type the column allows NULL anyway. Remove null=True."
            raise SchemaError(message, code="bad-option")
        for field_name, value in (("name", name), ("values", listed), ("type", named), ("null", null)):
            object.__setattr__(self, field_name, value)

    @property
    def typed(self) -> bool:
        """Whether values or a type are declared."""
        return self.values is not None or self.type is not None

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.values is not None:
            shown = ", ".join(map(str, self.values[:8])) + (", …" if len(self.values) > 8 else "")
            words = f"one of: {shown}"
        else:
            words = PUBLIC_WORDS[self.type]
        return f"{words}; or NULL" if self.null else words

    def accepts(self, value: object) -> bool:
        """Return whether the column allows a value."""
        if value is None:
            return self.null or not self.typed
        if self.values is not None:
            return builtins.type(value) is builtins.type(self.values[0]) and value in self.values
        if isinstance(value, bool):
            return self.type in (None, "bool")
        if isinstance(value, str):
            return self.type in (None, "str") and "\0" not in value and is_text(value)
        if isinstance(value, int):
            return self.type in (None, "int", "float") and -(2**63) <= value < 2**63
        return isinstance(value, float) and self.type in (None, "float") and math.isfinite(value)


PUBLIC_WORDS = {
    None: "text, a number of 64 bits, true, false or NULL",
    "int": "a whole number of 64 bits",
    "float": "a finite number",
    "str": "text",
    "bool": "true or false",
}
"""The allowed values of each type, in words."""
