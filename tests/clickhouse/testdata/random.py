"""Makes a random table and records for it, and judges what became of them by
docs/CLICKHOUSE.md, without a look at the code.

    random.py make SEED FORMAT DIR    writes DIR/table.sql and DIR/in/a.ndjson
    random.py judge SEED FORMAT DIR   compares DIR/rows, the table in RowBinary with a 0 behind
                                      each row, and DIR/rejects/*.ndjson with what they have to be
"""

import datetime
import glob
import ipaddress
import json
import os
import random
import re
import struct
import sys
import uuid
import zoneinfo
from fractions import Fraction

RECORDS = 80
NUMBER = re.compile(r"(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?\Z", re.A)
MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?)?\Z", re.A)
EPOCH = datetime.datetime(1970, 1, 1)


class Refused(Exception):
    pass


class Value:
    """A JSON value: its kind, what it is, and how it is written."""

    def __init__(self, kind, value, raw):
        self.kind, self.value, self.raw = kind, value, raw


def number(text):
    return Value("number", text, text)


def string(rng, text):
    raw = "".join(
        f"\\u{ord(c):04x}" if ord(c) < 32 or c in '"\\' or ord(c) < 0x10000 and rng.random() < 0.1 else c for c in text
    )
    return Value("string", text, f'"{raw}"')


def array(rng, values):
    gap = rng.choice(["", " ", "\t"])
    return Value("array", values, "[" + gap + ("," + gap).join(v.raw for v in values) + gap + "]")


def record(rng, members):
    gap = rng.choice(["", " ", "  "])
    return Value("object", members, "{" + ",".join(f"{string(rng, k).raw}{gap}:{gap}{v.raw}" for k, v in members) + gap + "}")


def scaled(value, digits):
    """A number times 10**digits, which has to be whole."""
    if value.kind not in ("number", "string") or not (m := NUMBER.match(value.value)):
        raise Refused("no number")
    sign, whole, fraction, exponent = m.groups(default="")
    mantissa = int(whole + fraction)
    shift = int(exponent or 0) - len(fraction) + digits
    if mantissa == 0:
        return 0
    if abs(shift) > 400:
        raise Refused("too large, or too small")
    exact = mantissa * Fraction(10) ** shift
    if exact.denominator != 1:
        raise Refused("decimals")
    return -int(exact) if sign else int(exact)


def bounded(value, low, high):
    if not low <= value <= high:
        raise Refused("range")
    return value


class Integer:
    def __init__(self, bits, signed):
        self.bytes, self.signed, self.name = bits // 8, signed, f"{'' if signed else 'U'}Int{bits}"
        self.low, self.high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def draw(self, rng):
        v = rng.choice([self.low, self.high, 0, 1, rng.randint(self.low, self.high), self.high + 1, self.low - 1])
        text = rng.choice([f"{v}", f"{v}", f"{v}.0", f"{v}e0", f"{v}000E-3" if v else "0e5"])
        return number(text) if rng.random() < 0.7 else string(rng, text)

    def zero(self):
        return 0

    def of(self, value):
        if value.kind == "bool":
            return int(value.value)
        return bounded(scaled(value, 0), self.low, self.high)

    def read(self, data):
        return int.from_bytes(data.take(self.bytes), "little", signed=self.signed)


class Decimal(Integer):
    def __init__(self, digits, scale):
        super().__init__(32 if digits < 10 else 64 if digits < 19 else 128 if digits < 39 else 256, True)
        self.scale, self.name = scale, f"Decimal({digits}, {scale})"
        self.low, self.high = 1 - 10**digits, 10**digits - 1

    def draw(self, rng):
        v = rng.choice([self.low, self.high, 1, rng.randint(self.low, self.high), self.high + 1])
        text = f"{v}{rng.choice('eE')}{rng.choice([-self.scale, -self.scale, -self.scale, -self.scale - 1])}"
        return number(text) if rng.random() < 0.7 else string(rng, text)

    def of(self, value):
        return bounded(scaled(value, self.scale), self.low, self.high)


class Double:
    name = "Float64"

    def draw(self, rng):
        x = struct.unpack("<d", rng.randbytes(8))[0]
        text = repr(x) if abs(x) < float("inf") else "0.1"
        return number(rng.choice([text, text, "1e400", "-0.0", "9007199254740993", "5e-324", "1.7976931348623157e308"]))

    def zero(self):
        return struct.pack("<d", 0)

    def of(self, value):
        if value.kind not in ("number", "string") or not NUMBER.match(value.value):
            raise Refused("no number")
        x = float(value.value)
        if abs(x) == float("inf") or x == 0 and re.match(r"-?[0.]*[1-9]", value.value):
            raise Refused("range")
        return struct.pack("<d", x)

    def read(self, data):
        return data.take(8)


class Bool:
    name = "Bool"

    def draw(self, rng):
        return rng.choice([Value("bool", True, "true"), Value("bool", False, "false"), number("0"), number("1"), number("2")])

    def zero(self):
        return 0

    def of(self, value):
        if value.kind == "bool":
            return int(value.value)
        if value.kind != "number" or value.value not in ("0", "1"):
            raise Refused("no bool")
        return int(value.value)

    def read(self, data):
        return data.take(1)[0]


class String:
    def __init__(self, size=0):
        self.size, self.name = size, f"FixedString({size})" if size else "String"

    def draw(self, rng):
        length = rng.randint(0, self.size // 2 + 1) if self.size else rng.choice([0, 1, 9, 127, 128])
        return string(rng, "".join(rng.choice("ab\0\n\"\\/'é東🙂\u2028") for _ in range(length)))

    def zero(self):
        return b"\0" * self.size

    def of(self, value):
        text = (value.value if value.kind == "string" else value.raw).encode()
        if self.size and len(text) > self.size:
            raise Refused("too long")
        return text.ljust(self.size, b"\0")

    def read(self, data):
        return data.take(self.size or data.count())


class Date(Integer):
    def __init__(self):
        super().__init__(16, False)
        self.name = "Date"

    def draw(self, rng):
        day = datetime.date(1970, 1, 1) + datetime.timedelta(rng.choice([0, 65535, 65536, -1, rng.randint(0, 65535)]))
        return string(rng, rng.choice([str(day), str(day), f"{day} 12:00:00", "2026-02-30"]))

    def of(self, value):
        try:
            day = datetime.date(*map(int, re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", value.value, re.A).groups()))
        except (AttributeError, TypeError, ValueError):
            raise Refused("no date") from None
        return bounded((day - datetime.date(1970, 1, 1)).days, 0, 65535)


class Moment(Integer):
    def __init__(self, digits, zone):
        super().__init__(64, True)
        self.digits, self.zone, self.name = digits, zoneinfo.ZoneInfo(zone), f"DateTime64({digits}, '{zone}')"

    def draw(self, rng):
        seconds = rng.choice([rng.randint(0, 1 << 32), 1774746000 + rng.randint(-7200, 7200), 1792890000 + rng.randint(-7200, 7200)])
        fraction = rng.choice(["", "." + "7" * self.digits, ".5", ".1234567"]).removesuffix(".")
        if rng.random() < 0.2:
            return number(f"{seconds}{fraction}")
        offset = rng.choice([None, None, 0, 330, -570])
        at = EPOCH + datetime.timedelta(seconds=seconds, minutes=offset or 0)
        behind = "" if offset is None else f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}" if offset else "Z"
        return string(rng, at.strftime(f"%Y-%m-%d{rng.choice('T ')}%H:%M:%S") + fraction + behind)

    def of(self, value):
        unit = 10**self.digits
        return bounded(self.ticks(value), -2208988800 * unit, min(10413792000 * unit, 1 << 63) - 1)

    def ticks(self, value):
        if value.kind == "number":
            return scaled(value, self.digits)
        if value.kind != "string" or not (m := MOMENT.match(value.value)):
            raise Refused("no time")
        *clock, fraction, behind = m.groups(default="")
        try:
            at = datetime.datetime(*(int(c or 0) for c in clock))
        except ValueError:
            raise Refused("no time") from None
        fraction = fraction.rstrip("0")
        if len(fraction) > self.digits:
            raise Refused("decimals")
        if behind:
            offset = datetime.datetime.strptime(behind, "%z").utcoffset()
        else:
            offset = at.replace(tzinfo=self.zone).utcoffset()
            if offset != at.replace(tzinfo=self.zone, fold=1).utcoffset():
                raise Refused("skipped, or shown twice")
        return (at - EPOCH - offset) // datetime.timedelta(seconds=1) * 10**self.digits + int(fraction.ljust(self.digits, "0") or 0)


class Enum(Integer):
    names = {"low": -2, "it's": 3, "high": 100}

    def __init__(self):
        super().__init__(8, True)
        self.name = "Enum8('low' = -2, 'it\\'s' = 3, 'high' = 100)"

    def draw(self, rng):
        return rng.choice([string(rng, rng.choice([*self.names, "none"])), number(rng.choice(["-2", "3.0", "1e2", "0"]))])

    def zero(self):
        return -2

    def of(self, value):
        if value.kind == "string" and value.value in self.names:
            return self.names[value.value]
        if value.kind != "number" or (v := scaled(value, 0)) not in self.names.values():
            raise Refused("no such name")
        return v


class Address:
    """UUID or IPv6."""

    def __init__(self, name):
        self.name = name

    def draw(self, rng):
        bits = rng.getrandbits(128) >> rng.choice([0, 64, 100])
        text = str(uuid.UUID(int=bits) if self.name == "UUID" else ipaddress.IPv6Address(bits))
        return string(rng, rng.choice([text, text.upper(), text, "10.0.0.1", text[:-1] + "g"]))

    def zero(self):
        return 0

    def of(self, value):
        if value.kind != "string":
            raise Refused("no text")
        try:
            if self.name == "UUID":
                return uuid.UUID(value.value).int
            address = ipaddress.ip_address(value.value)
            return int(address) | (0xFFFF << 32 if address.version == 4 else 0)
        except ValueError:
            raise Refused("no address") from None

    def read(self, data):
        if self.name == "IPv6":
            return int.from_bytes(data.take(16), "big")
        return int.from_bytes(data.take(8), "little") << 64 | int.from_bytes(data.take(8), "little")


class Nullable:
    def __init__(self, inner):
        self.inner, self.name = inner, f"Nullable({inner.name})"

    def draw(self, rng):
        return Value("null", None, "null") if rng.random() < 0.3 else self.inner.draw(rng)

    def zero(self):
        return None

    def of(self, value):
        return None if value.kind == "null" else strictly(self.inner, value)

    def read(self, data):
        return None if data.take(1)[0] else self.inner.read(data)


class LowCardinality:
    def __init__(self, inner):
        self.draw, self.zero, self.of, self.read = inner.draw, inner.zero, inner.of, inner.read
        self.name = f"LowCardinality({inner.name})"


class List:
    def __init__(self, inner):
        self.inner, self.name = inner, f"Array({inner.name})"

    def draw(self, rng):
        return array(rng, [self.inner.draw(rng) for _ in range(rng.choice([0, 1, 3]))])

    def zero(self):
        return []

    def of(self, value):
        if value.kind != "array":
            raise Refused("no array")
        return [strictly(self.inner, v) for v in value.value]

    def read(self, data):
        return [self.inner.read(data) for _ in range(data.count())]


class Tuple:
    def __init__(self, inner):
        self.inner = dict(zip("abc", inner))
        self.name = f"Tuple({', '.join(f'{k} {t.name}' for k, t in self.inner.items())})"

    def draw(self, rng):
        if rng.random() < 0.3:
            return array(rng, [t.draw(rng) for t in self.inner.values()])
        names = [k for k in self.inner if rng.random() < 0.8] + (["more"] if rng.random() < 0.05 else [])
        rng.shuffle(names)
        return record(rng, [(k, self.inner[k].draw(rng) if k in self.inner else number("1")) for k in names])

    def zero(self):
        return [t.zero() for t in self.inner.values()]

    def of(self, value):
        if value.kind == "array" and len(value.value) == len(self.inner):
            return [strictly(t, v) for t, v in zip(self.inner.values(), value.value)]
        if value.kind != "object" or not (given := dict(value.value)).keys() <= self.inner.keys():
            raise Refused("no tuple")
        return [strictly(t, given[k]) if k in given else t.zero() for k, t in self.inner.items()]

    def read(self, data):
        return [t.read(data) for t in self.inner.values()]


class Map:
    def __init__(self, inner):
        self.inner, self.name = inner, f"Map(String, {inner.name})"

    def draw(self, rng):
        return record(rng, [(rng.choice(["", "k", "é", "a.b"]), self.inner.draw(rng)) for _ in range(rng.choice([0, 1, 3]))])

    def zero(self):
        return []

    def of(self, value):
        if value.kind != "object":
            raise Refused("no map")
        return [[k.encode(), strictly(self.inner, v)] for k, v in value.value]

    def read(self, data):
        return [[data.take(data.count()), self.inner.read(data)] for _ in range(data.count())]


def strictly(kind, value):
    if value.kind == "null" and not kind.name.removeprefix("LowCardinality(").startswith("Nullable("):
        raise Refused("null")
    return kind.of(value)


class Data:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        self.at += size
        return bytes(self.data[self.at - size : self.at])

    def count(self):
        size = shift = 0
        while (byte := self.take(1)[0]) > 127:
            size, shift = size | (byte & 127) << shift, shift + 7
        return size | byte << shift


def some(rng, depth=0):
    """A type."""
    scalar = rng.choice([
        Integer(rng.choice([8, 16, 32, 64, 128, 256]), rng.random() < 0.5), Decimal(9, 2), Decimal(38, 10), Decimal(76, 40), Double(), Bool(),
        String(), String(9), Date(), Moment(rng.choice([0, 3, 9]), rng.choice(["UTC", "Europe/Berlin"])), Enum(), Address("UUID"), Address("IPv6"),
    ])
    draw = rng.random()
    if draw < 0.5 or depth > 1:
        return scalar
    if draw < 0.65:
        return Nullable(scalar)
    if draw < 0.7:
        return LowCardinality(rng.choice([String(), Nullable(String())]))
    inner = [some(rng, depth + 1) for _ in range(3)]
    return rng.choice([List(inner[0]), Tuple(inner), Map(inner[0])])


def world(seed, form):
    """The table's columns, its statement, and (text, row or None) of each record."""
    rng = random.Random(seed)
    columns = {f"c{n}": some(rng) for n in range(12)} | {"with default": String()}
    given = "".join(f", `{k}` {t.name}{' DEFAULT ' + repr('given') if k == 'with default' else ''}" for k, t in columns.items())
    sql = f"CREATE TABLE t (i UInt32{given}, made UInt32 MATERIALIZED i + 1) ENGINE = MergeTree ORDER BY i"
    records = []
    for i in range(RECORDS):
        members, row = [("i", number(str(i)))], [i]
        for name, kind in columns.items():
            # All but one of a record's values fit, else hardly a record would.
            odd = rng.random() < 0.03
            value = rng.choice(list(columns.values())).draw(rng) if odd else kind.draw(rng)
            while not odd and outcome(kind, value) is Refused and rng.random() < 0.97:
                value = kind.draw(rng)
            if rng.random() < 0.1:
                row.append(b"given" if name == "with default" and form == "rowbinary" else kind.zero())
                continue
            members.append((name, value))
            row.append(outcome(kind, value))
        rng.shuffle(members)
        text = record(rng, members).raw
        if rng.random() < 0.02:
            text, row = text[:-1], [Refused]
        records.append((text, None if Refused in row else row))
    return columns, sql, records


def outcome(kind, value):
    try:
        return strictly(kind, value)
    except Refused:
        return Refused


def judge(columns, records, directory):
    with open(f"{directory}/rows", "rb") as f:
        data = Data(f.read())
    rows, refused = {}, {}
    while data.at < len(data.data):
        i = Integer(32, False).read(data)
        if i in rows:
            yield f"record {i} is in the table twice"
        rows[i] = [i] + [t.read(data) for t in columns.values()]
        data.take(1)  # each row ends with a byte of 0
    for name in glob.glob(f"{directory}/rejects/*.ndjson"):
        with open(name, encoding="utf-8") as f:
            for reject in map(json.loads, f):
                if reject["record"] in refused or reject["bytes"] != records[reject["record"]][0]:
                    yield f"reject {reject} is there twice, or is another record"
                refused[reject["record"]] = reject["detail"]
    for i, (text, row) in enumerate(records):
        if (i in rows) + (i in refused) != 1 or rows.get(i) != row:
            yield f"{text}\n  became {rows.get(i)}\n  and not {row}: {refused.get(i, 'not refused')}"


def main(what, seed, form, directory):
    columns, sql, records = world(int(seed), form)
    if what == "make":
        os.makedirs(f"{directory}/in")
        with open(f"{directory}/table.sql", "w", encoding="utf-8") as f:
            f.write(sql)
        with open(f"{directory}/in/a.ndjson", "w", encoding="utf-8", newline="") as f:
            f.writelines(text + "\n" for text, _ in records)
    else:
        for complaint in judge(columns, records, directory):
            print(complaint)
        print(sum(row is not None for _, row in records), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
