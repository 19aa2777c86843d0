"""Numbers, strings and containers in blocks."""

from __future__ import annotations

import struct
import sys
from array import array
from typing import Any

from drapps.attributes import attribute_of
from drapps.item_cache.blocks import (
    DamagedBlockError,
    NotKept,
    Reader,
    ReadOne,
    UnknownHere,
    WriteOne,
    Writer,
)

_SMALL_BYTES = 256  # up to here, bytes stand in the structure
_FEW = 4  # elements from which on numbers are packed
_INT, _FLOAT, _COMPLEX = struct.Struct("<q"), struct.Struct("<d"), struct.Struct("<dd")
_WIDE = 1 << 63
_KEYS = (str, bytes, int, float, complex, bool, type(None))
_ANY, _FLOATS, _INTS = b"\0", b"d", b"q"  # how the elements of a list are written


def _none(writer: Writer, value: None) -> None:  # noqa: ARG001
    writer.tag(b"N")


def _bool(writer: Writer, value: bool) -> None:
    writer.tag(b"T" if value else b"F")


def _int(writer: Writer, value: int) -> None:
    if -_WIDE <= value < _WIDE:
        writer.tag(b"i", _INT.pack(value))
    else:
        writer.tag(b"I")
        writer.data(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))


def _float(writer: Writer, value: float) -> None:
    writer.tag(b"f", _FLOAT.pack(value))


def _complex(writer: Writer, value: complex) -> None:
    writer.tag(b"c", _COMPLEX.pack(value.real, value.imag))


def _str(writer: Writer, value: str) -> None:
    writer.tag(b"s")
    writer.text(value)


def _bytes(writer: Writer, value: bytes) -> None:
    if len(value) > _SMALL_BYTES:
        writer.tag(b"B")
        writer.data(value)
    else:
        writer.tag(b"b")
        writer.size(len(value))
        writer.tag(value)


def _elements(writer: Writer, value: Any) -> None:
    writer.size(len(value))
    kinds = set(map(type, value)) if len(value) >= _FEW else set()
    form = _FLOATS if kinds == {float} else _INTS if kinds == {int} else _ANY
    if form != _ANY:
        try:
            packed = array(form.decode(), value).tobytes()
        except OverflowError:
            form = _ANY
        else:
            writer.tag(form)
            writer.data(packed)
            return
    writer.tag(form)
    writer.values(value, value)


def _tuple(writer: Writer, value: tuple[Any, ...]) -> None:
    writer.tag(b"t")
    _elements(writer, value)


def _list(writer: Writer, value: list[Any]) -> None:
    if not writer.again(value):
        writer.tag(b"l")
        _elements(writer, value)
        writer.written(value)


def _dict(writer: Writer, value: dict[Any, Any]) -> None:
    if writer.again(value):
        return
    writer.tag(b"d")
    writer.size(len(value))
    for key in value:
        require_plain(key)
        writer.value(key)
    writer.values(value, value.values())
    writer.written(value)


def require_plain(key: Any) -> None:
    """Makes sure that a key of a dict is a number, a string, or a tuple of those.

    Raises:
        NotKept: it is something else.
    """
    if type(key) is tuple:
        for part in key:
            require_plain(part)
    elif type(key) not in _KEYS:
        raise NotKept(f"it holds a dict with a {type(key).__qualname__} as a key")


def named_tuple(kind: type) -> WriteOne | None:
    """How tuples of the named class `kind` are written; None where it is none that others find."""
    fields = attribute_of(kind, "_fields")
    plain = issubclass(kind, tuple) and isinstance(fields, tuple) and kind.__dictoffset__ == 0
    module = "__main__" if kind.__module__ == "__mp_main__" else kind.__module__
    if not plain or _object_at(module, kind.__qualname__) is not kind:
        return None

    def write(writer: Writer, value: Any) -> None:
        writer.tag(b"n")
        writer.text(module)
        writer.text(kind.__qualname__)
        _elements(writer, value)

    return write


def _object_at(module: str, path: str) -> Any:
    value: Any = sys.modules.get(module)
    for name in path.split("."):
        value = attribute_of(value, name)
    return value


def _read_int(reader: Reader) -> int:
    return int.from_bytes(reader.data(), "little", signed=True)


def _read_elements(reader: Reader) -> list[Any]:
    size, form = reader.size(), reader.take(1)
    if form == _ANY:
        return [reader.value() for _ in range(size)]
    numbers = array(form.decode())
    numbers.frombytes(reader.data())
    if len(numbers) != size:
        raise DamagedBlockError("a list is not as long as it says")
    return numbers.tolist()


def _read_dict(reader: Reader) -> dict[Any, Any]:
    keys = [reader.value() for _ in range(reader.size())]
    return reader.register({key: reader.value() for key in keys})  # type: ignore[no-any-return]


def _read_named(reader: Reader) -> Any:
    module, path = reader.text(), reader.text()
    kind = _object_at(module, path)
    values = _read_elements(reader)
    if not isinstance(kind, type) or named_tuple(kind) is None:
        raise UnknownHere(f"{module}.{path}")
    return tuple.__new__(kind, values)


WRITERS: dict[type, WriteOne] = {
    type(None): _none,
    bool: _bool,
    int: _int,
    float: _float,
    complex: _complex,
    str: _str,
    bytes: _bytes,
    tuple: _tuple,
    list: _list,
    dict: _dict,
}
READERS: dict[bytes, ReadOne] = {
    b"N": lambda reader: None,  # noqa: ARG005
    b"T": lambda reader: True,  # noqa: ARG005
    b"F": lambda reader: False,  # noqa: ARG005
    b"i": lambda reader: reader.unpack(_INT)[0],
    b"I": _read_int,
    b"f": lambda reader: reader.unpack(_FLOAT)[0],
    b"c": lambda reader: complex(*reader.unpack(_COMPLEX)),
    b"s": Reader.text,
    b"b": lambda reader: reader.take(reader.size()),
    b"B": lambda reader: bytes(reader.data()),
    b"t": lambda reader: tuple(_read_elements(reader)),
    b"l": lambda reader: reader.register(_read_elements(reader)),
    b"d": _read_dict,
    b"n": _read_named,
    b"r": Reader.known,
}
