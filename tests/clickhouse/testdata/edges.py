"""Prints, as JSON, values at the edges of every type and what they are, by this
program's own reckoning: [{type, expression, values: [[json, text]...]}]. The
expression of the column c is the text that the engine is asked for."""

import ipaddress
import json
import struct
import uuid
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, getcontext

getcontext().prec = 100
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
out = []


def column(type_, values, expression="toString(c)"):
    out.append({"type": type_, "expression": expression, "values": values})




for bits in (8, 16, 32, 64, 128, 256):
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    column(f"Int{bits}", [[str(v), str(v)] for v in (low, high, 0, -1, low + 1)] + [[json.dumps(str(low)), str(low)]])
    column(f"UInt{bits}", [[str(v), str(v)] for v in (0, (1 << bits) - 1, 1 << (bits - 1))])


def bits64(x):
    return str(struct.unpack("<Q", struct.pack("<d", x))[0])


def bits32(x):
    return str(struct.unpack("<I", struct.pack("<f", x))[0])


column("Float64", [[repr(x), bits64(x)] for x in (0.0, 0.1, -1.5, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 123456789.125)]
       + [["9007199254740993", bits64(9007199254740993)]], "toString(reinterpretAsUInt64(c))")
column("Float32", [[repr(x), bits32(x)] for x in (0.0, 0.1, -1.5, 3.4028234663852886e38, 1.401298464324817e-45, 16777216.0)],
       "toString(reinterpretAsUInt32(c))")
column("Bool", [["true", "true"], ["false", "false"]])

TEXTS = ["", "plain", "tab\tand \"quotes\" 'and' \\", "nul\0in it", "Zürich 東京 🙂", "x" * 300]
column("String", [[json.dumps(s), s.encode().hex().upper()] for s in TEXTS], "hex(c)")
column("LowCardinality(String)", [[json.dumps(s), s.encode().hex().upper()] for s in TEXTS + TEXTS[:2]], "hex(c)")
column("FixedString(8)", [[json.dumps(s), s.encode().ljust(8, b"\0").hex().upper()] for s in ("", "ab", "12345678", "éé")], "hex(c)")

column("Date", [[json.dumps(str(d)), str(d)] for d in (date(1970, 1, 1), date(2149, 6, 6), date(2000, 2, 29))])
column("Date32", [[json.dumps(str(d)), str(d)] for d in (date(1900, 1, 1), date(2299, 12, 31), date(1969, 12, 31))])


def seconds(t):
    return str((t - EPOCH) // timedelta(seconds=1))


east, west = timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=9, minutes=30))
column("DateTime('UTC')", [
    ['"1970-01-01 00:00:00"', "0"],
    ['"2106-02-07T06:28:15Z"', str((1 << 32) - 1)],
    ['"2026-03-29T02:30:00+05:30"', seconds(datetime(2026, 3, 29, 2, 30, tzinfo=east))],
    ['"2026-03-29T02:30:00-09:30"', seconds(datetime(2026, 3, 29, 2, 30, tzinfo=west))],
    ["1774747800", "1774747800"],
], "toString(toUnixTimestamp(c))")
column("DateTime('Asia/Kolkata')", [
    ['"2026-03-29 02:30:00"', seconds(datetime(2026, 3, 29, 2, 30, tzinfo=east))],
    ['"2026-03-29T02:30:00Z"', seconds(datetime(2026, 3, 29, 2, 30, tzinfo=timezone.utc))],
], "toString(toUnixTimestamp(c))")

for digits in range(10):
    first, last = "1900-01-01 00:00:00", "2299-12-31 23:59:59"
    if digits == 9:
        last = "2262-04-11 23:47:15"
    fraction = "." + "987654321"[:digits] if digits else ""
    zeros = "." + "0" * digits if digits else ""
    column(f"DateTime64({digits}, 'UTC')", [
        [json.dumps(first), first + zeros],
        [json.dumps(last + fraction), last + fraction],
        [json.dumps("2026-11-30T12:00:00" + fraction + "Z"), "2026-11-30 12:00:00" + fraction],
        [json.dumps("1969-12-31T23:59:59" + fraction + "Z"), "1969-12-31 23:59:59" + fraction],
    ])

column("Time", [[json.dumps(s), s] for s in ("00:00:00", "999:59:59", "-999:59:59", "12:34:56")])
column("Time64(3)", [[json.dumps(s), s] for s in ("00:00:00.000", "999:59:59.999", "-999:59:59.999", "12:34:56.789")])


def shown(d):
    text = format(d, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


for digits, scale in ((9, 0), (9, 2), (9, 9), (18, 6), (38, 10), (38, 38), (76, 0), (76, 30), (76, 76)):
    top = Decimal(10**digits - 1).scaleb(-scale)
    least = Decimal(1).scaleb(-scale)
    column(f"Decimal({digits}, {scale})", [[format(v, "f"), shown(v)] for v in (top, -top, least, Decimal(0))]
           + [[json.dumps(format(-top, "f")), shown(-top)]])

column("Enum8('low' = -128, 'high' = 127)", [['"low"', "low/-128"], ['"high"', "high/127"]], "concat(toString(c), '/', toString(toInt8(c)))")
column("Enum16('low' = -32768, 'it\\'s' = 0, 'high' = 32767)", [['"low"', "low/-32768"], ['"it\'s"', "it's/0"], ['"high"', "high/32767"]],
       "concat(toString(c), '/', toString(toInt16(c)))")

UUIDS = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"]
column("UUID", [[json.dumps(u), str(uuid.UUID(u))] for u in UUIDS])
column("IPv4", [[json.dumps(a), str(int(ipaddress.ip_address(a)))] for a in ("0.0.0.0", "255.255.255.255", "192.0.2.1")], "toString(toUInt32(c))")
column("IPv6", [[json.dumps(a), ipaddress.ip_address(a).packed.hex().upper()] for a in
                ("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:0DB8:0:0::1", "::ffff:192.0.2.1")], "hex(c)")

column("Nullable(Int64)", [["null", "NULL"], ["-5", "-5"]], "ifNull(toString(c), 'NULL')")
column("Nullable(String)", [["null", "NULL"], ['""', ""], ['"NULL"', "NULL"]], "ifNull(toString(c), 'NULL')")
column("LowCardinality(Nullable(String))", [["null", "NULL"], ['"a"', "a"], ['"a"', "a"], ['""', ""]], "ifNull(toString(c), 'NULL')")
column("LowCardinality(UInt64)", [[str(v), str(v)] for v in (0, (1 << 64) - 1, 0)])
column("Array(UInt8)", [["[]", "[]"], ["[0,255]", "[0,255]"]])
column("Array(Array(Nullable(Int32)))", [["[[],[null,-1]]", "[[],[NULL,-1]]"], ["[]", "[]"]])
column("Array(LowCardinality(String))", [['["a","b","a"]', "['a','b','a']"], ["[]", "[]"]])
column("Tuple(Int8, String)", [['[-1,"x"]', "(-1,'x')"]])
column("Tuple(a UInt8, b Nullable(String))", [['{"b":"x","a":1}', "(1,'x')"], ['{"a":2}', "(2,NULL)"], ["{}", "(0,NULL)"]])
column("Map(String, UInt64)", [["{}", "{}"], ['{"a":1,"b":18446744073709551615}', "{'a':1,'b':18446744073709551615}"]])
column("Map(LowCardinality(String), Array(UInt8))", [['{"k":[1,2]}', "{'k':[1,2]}"]])
column("Point", [["[1.5,-2.25]", "(1.5,-2.25)"]])
column("SimpleAggregateFunction(sum, UInt64)", [["7", "7"]])
for text in ('{"a":1,"b":{"c":"x"}}',):
    column("JSON", [[text, json.dumps(json.loads(text), separators=(",", ":"))]])

print(json.dumps(out))
