"""Writes values.json and block.json: what the ClickHouse engine itself makes of
values, so that this package's tests need no engine.

    python -m venv v && v/bin/pip install chdb==4.4.0
    v/bin/python testdata/generate.py        # in pkg/clickhouse; engine 26.9

A case is a type, a value as JSON, and the same value as SQL, which the engine
reads by rules of its own. What comes out is the row in RowBinary.
"""

import json
import os

from chdb import session

HERE = os.path.dirname(os.path.abspath(__file__))
s = session.Session()
for setting in [
    "enable_time_time64_type = 1",
    "allow_experimental_nullable_tuple_type = 1",
    "session_timezone = 'UTC'",
    "allow_suspicious_low_cardinality_types = 1",
    "output_format_binary_write_json_as_string = 1",
]:
    s.query("SET " + setting)


def cast(t, text):
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST('{text}' AS {t})"


CASES = []


def add(t, value, sql=None):
    """value is JSON text; sql defaults to the text of the value, cast."""
    if sql is None:
        text = value
        if value.startswith('"'):
            text = json.loads(value)
        sql = cast(t, text)
    CASES.append((t, value, sql))


for bits in [8, 16, 32, 64, 128, 256]:
    for t, values in [
        (f"Int{bits}", [-(2 ** (bits - 1)), -1, 0, 1, 2 ** (bits - 1) - 1]),
        (f"UInt{bits}", [0, 1, 2**bits - 1]),
    ]:
        for v in values:
            add(t, str(v))
            add(t, f'"{v}"')
add("UInt16", "1.0", cast("UInt16", "1"))
add("UInt16", "1e3", cast("UInt16", "1000"))
add("Int64", "-12.5e1", cast("Int64", "-125"))
add("UInt8", "true", cast("UInt8", "1"))
add("UInt64", "9007199254740993")
add("Int128", "1e30", cast("Int128", str(10**30)))

for t in ["Float32", "Float64"]:
    for v in ["0", "1", "-1.5", "0.1", "3.14159265358979", "16777217", "1e-30", "-2.5e30", "123456789.123456789", "0.30000000000000004"]:
        add(t, v)
    for v in ["nan", "inf", "-inf"]:
        add(t, f'"{v}"')
for v in ["1.7976931348623157e308", "5e-324", "9007199254740993", "2.2250738585072011e-308"]:
    add("Float64", v)
add("Float32", "3.4028234663852886e38")
add("Float32", "1e-45")

add("Bool", "true")
add("Bool", "false")
add("Bool", "1", "true")
add("Bool", "0", "false")

for v in ['""', '"a"', '"' + "x" * 300 + '"', '"ü€😀"', '"a\\u0000b\\n\\"\\\\\\/\\t"', '"\\ud83d\\ude00\\u00e9"']:
    add("String", v)
add("String", '"\\ud83d\\u0041\\udc00\\ud83d"', "'\ufffdA\ufffd\ufffd'")
add("String", "12.50", "'12.50'")
add("String", "true", "'true'")
add("String", '{"a": [1, 2]}', "'{\"a\": [1, 2]}'")
add("String", "[1,null]", "'[1,null]'")
add("FixedString(3)", '"ab"')
add("FixedString(3)", '"abc"')
add("FixedString(4)", '"€"')
add("FixedString(100)", '"x"')

for v in ["1970-01-01", "2149-06-06", "2000-02-29", "2026-11-30"]:
    add("Date", f'"{v}"')
add("Date", '"2026-11-30 00:00:00"', cast("Date", "2026-11-30"))
for v in ["1900-01-01", "1969-12-31", "1970-01-01", "2299-12-31", "2100-03-01"]:
    add("Date32", f'"{v}"')

for v in ["1970-01-01 00:00:00", "2106-02-07 06:28:15", "2026-11-30 12:34:56"]:
    add("DateTime", f'"{v}"')
add("DateTime", '"2026-11-30"', cast("DateTime", "2026-11-30 00:00:00"))
add("DateTime", '"2026-11-30T12:34:56Z"', cast("DateTime", "2026-11-30 12:34:56"))
add("DateTime", '"2026-11-30T12:34:56.000+05:30"', cast("DateTime", "2026-11-30 07:04:56"))
add("DateTime", "1700000000", "toDateTime(1700000000)")
add("DateTime", "1.7e9", "toDateTime(1700000000)")
for zone, local in [
    ("Europe/Berlin", "2026-07-01 12:00:00"),
    ("Europe/Berlin", "2026-01-01 12:00:00"),
    ("America/New_York", "2026-03-08 03:00:00"),
    ("Asia/Kolkata", "1970-01-02 00:00:00"),
    ("Australia/Lord_Howe", "2026-12-01 00:30:00"),
]:
    add(f"DateTime('{zone}')", f'"{local}"')
    add(f"DateTime64(3, '{zone}')", f'"{local}.5"')
add("DateTime('Europe/Berlin')", '"2026-07-01T12:00:00Z"', "toDateTime('2026-07-01 12:00:00', 'UTC')::DateTime('Europe/Berlin')")
for p, v in [
    (0, "2026-11-30 12:34:56"),
    (3, "2026-11-30 12:34:56.789"),
    (3, "1900-01-01 00:00:00.000"),
    (3, "1969-12-31 23:59:59.999"),
    (3, "2299-12-31 23:59:59.999"),
    (6, "1901-05-06 07:08:09.000001"),
    (9, "2262-04-11 23:47:16.854775807"),
    (9, "1970-01-01 00:00:00.000000001"),
]:
    add(f"DateTime64({p})", f'"{v}"')
add("DateTime64(3)", "1700000000.25", "toDateTime64('2023-11-14 22:13:20.250', 3)")
add("DateTime64(3)", "-1.5", "toDateTime64('1969-12-31 23:59:58.500', 3)")
add("DateTime64(3)", '"2026-11-30T12:34:56.120000Z"', "toDateTime64('2026-11-30 12:34:56.120', 3)")

for v in ["00:00:00", "12:34:56", "-00:00:01", "999:59:59", "-999:59:59"]:
    add("Time", f'"{v}"')
    add("Time64(3)", f'"{v}.250"', f"CAST('{v}.250' AS Time64(3))")
add("Time", "3661", cast("Time", "01:01:01"))
add("Time64(9)", '"12:34:56.123456789"')

for p, sc in [(9, 2), (18, 4), (38, 10), (76, 0), (76, 76), (76, 38), (1, 0), (9, 9)]:
    t = f"Decimal({p}, {sc})"
    top = "9" * p
    text = (top[: p - sc] or "0") + ("." + top[p - sc :] if sc else "")
    for v in [text, "-" + text, "0"]:
        add(t, v)
        add(t, f'"{v}"')
for t, v in [("Decimal32(3)", "1.5"), ("Decimal64(3)", "-0.001"), ("Decimal128(3)", "12345678901234567890.125"), ("Decimal256(3)", "1e20")]:
    add(t, v, cast(t, {"1e20": "100000000000000000000"}.get(v, v)))
add("Decimal(9, 2)", "1.500", cast("Decimal(9, 2)", "1.5"))

E = "Enum8('a' = -128, 'b\\'c' = 1, 'ü' = 127)"
add(E, '"a"', f"CAST('a' AS {E})")
add(E, '"b\'c"', f"CAST('b\\'c' AS {E})")
add(E, "127", f"CAST(127 AS {E})")
add("Enum16('x' = -32768, 'y' = 32767)", '"y"')
add("Enum16('x' = -32768, 'y' = 32767)", "-32768", "CAST(-32768 AS Enum16('x' = -32768, 'y' = 32767))")

add("UUID", '"01234567-89ab-cdef-0123-456789ABCDEF"')
add("UUID", '"ffffffff-ffff-ffff-ffff-ffffffffffff"')
add("UUID", '"0123456789abcdef0123456789abcdef"', cast("UUID", "01234567-89ab-cdef-0123-456789abcdef"))
for v in ["0.0.0.0", "1.2.3.4", "255.255.255.255"]:
    add("IPv4", f'"{v}"')
for v in ["::", "2001:db8::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::ffff:1.2.3.4", "1:2:3:4:5:6:7.8.9.10"]:
    add("IPv6", f'"{v}"')
add("IPv6", '"1.2.3.4"', cast("IPv6", "::ffff:1.2.3.4"))

add("Nullable(UInt8)", "null", "NULL::Nullable(UInt8)")
add("Nullable(UInt8)", "7")
add("Nullable(String)", '""')
add("Nullable(DateTime64(3))", '"2026-11-30 12:34:56.789"')
add("Nullable(Tuple(a UInt8))", '{"a":1}', "CAST(tuple(1) AS Nullable(Tuple(a UInt8)))")
add("LowCardinality(String)", '"x"')
add("LowCardinality(Nullable(String))", "null", "NULL::LowCardinality(Nullable(String))")
add("LowCardinality(Nullable(String))", '"x"')
add("LowCardinality(UInt64)", "5")
add("SimpleAggregateFunction(sum, UInt64)", "5", "CAST(5 AS SimpleAggregateFunction(sum, UInt64))")
add("SimpleAggregateFunction(groupArrayArray, Array(UInt8))", "[1]", "CAST([1] AS SimpleAggregateFunction(groupArrayArray, Array(UInt8)))")

add("Array(UInt8)", "[]")
add("Array(UInt32)", "[1, 2 ,3]")
add("Array(Nullable(String))", '["a",null,""]', "['a', NULL, '']::Array(Nullable(String))")
add("Array(Array(Int16))", "[[1,-2],[],[3]]")
add("Array(UInt8)", json.dumps([i % 256 for i in range(300)]))
add("Array(UInt8)", json.dumps([i % 256 for i in range(200)]))
add("Array(String)", '["\\\\","\\\"]","x"]', """['\\\\','"]','x']::Array(String)""")
add("Array(LowCardinality(String))", '["a","b","a"]', "['a','b','a']::Array(LowCardinality(String))")
add("Tuple(UInt8, String)", '[1,"x"]', "(1, 'x')::Tuple(UInt8, String)")
add("Tuple(a UInt8, b Nullable(String))", '{"b":"x","a":1}', "(1, 'x')::Tuple(a UInt8, b Nullable(String))")
add("Tuple(a UInt8, b Nullable(String))", '{"a":2,"\\u0061":1,"b":"x"}', "(1, 'x')::Tuple(a UInt8, b Nullable(String))")
add("Tuple(a UInt8, b Nullable(String))", '{}', "(0, NULL)::Tuple(a UInt8, b Nullable(String))")
add("Tuple(a UInt8, b Nullable(String))", '[1,null]', "(1, NULL)::Tuple(a UInt8, b Nullable(String))")
add("Map(String, UInt64)", '{"a":1,"b":2}', "map('a', 1, 'b', 2)::Map(String, UInt64)")
add("Map(UInt8, Array(String))", '{"1":["x"],"2":[]}', "map(1, ['x'], 2, [])::Map(UInt8, Array(String))")
add("Map(LowCardinality(String), Nullable(Float64))", '{"k":null}', "map('k', NULL)::Map(LowCardinality(String), Nullable(Float64))")
add("Nested(a UInt8, b String)", '[{"a":1,"b":"x"},{"a":2,"b":"y"}]', "[(1,'x'),(2,'y')]::Nested(a UInt8, b String)")
add("JSON", '{"a":1,"b":{"c":["x"]}}', """'{"a":1,"b":{"c":["x"]}}'""")  # as text, which is what the server is told to read
add("Point", "[1.5,-2]", "(1.5, -2)::Point")
add("Ring", "[[0,0],[1,0],[1,1]]", "[(0,0),(1,0),(1,1)]::Ring")
add("LineString", "[[0,0],[1,0]]", "[(0,0),(1,0)]::LineString")
add("Polygon", "[[[0,0],[1,0],[1,1]]]", "[[(0,0),(1,0),(1,1)]]::Polygon")
add("MultiLineString", "[[[0,0],[1,0]]]", "[[(0,0),(1,0)]]::MultiLineString")
add("MultiPoint", "[[0,0],[1,0]]", "[(0,0),(1,0)]::MultiPoint")
add("MultiPolygon", "[[[[0,0],[1,0],[1,1]]]]", "[[[(0,0),(1,0),(1,1)]]]::MultiPolygon")


def binary(sql, form="RowBinary"):
    return bytes(s.query(sql, form).bytes())


out = []
for t, value, sql in CASES:
    try:
        row = binary(f"SELECT {sql} AS x")
    except Exception as e:
        raise SystemExit(f"{t} {value}: {sql}: {e}")
    out.append({"type": t, "json": value, "row": row.hex()})
with open(os.path.join(HERE, "values.json"), "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(o, ensure_ascii=False) for o in out) + "\n]\n")

# Defaults: what the engine makes of a field that is not there.
defaults = []
for t in sorted({c[0] for c in CASES}):
    if t.startswith("Nested"):
        continue
    s.query("DROP TABLE IF EXISTS d")
    s.query(f"CREATE TABLE d (k UInt8, x {t}) ENGINE = Memory")
    s.query('INSERT INTO d FORMAT JSONEachRow {"k":1}')
    # typeof the row without the key
    defaults.append({"type": t, "row": binary("SELECT x FROM d").hex(), "canonical": s.query("SELECT type FROM system.columns WHERE table = 'd' AND name = 'x'", "TSVRaw").bytes().decode().strip()})
with open(os.path.join(HERE, "defaults.json"), "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(o, ensure_ascii=False) for o in defaults) + "\n]\n")

# A block: the same rows in RowBinary and in Native.
# What lies under a NULL is nothing that counts: here it is the type's default.
COLUMNS = [
    ("id", "UInt64", "number"),
    ("small", "Int8", "toInt8(number % 100) - 50"),
    ("text", "String", "repeat('x', number * 7 % 200)"),
    ("maybe", "Nullable(String)", "nullIf(if(number % 3 = 0, '', toString(number)), '')"),
    ("at", "DateTime64(3, 'Europe/Berlin')", "toDateTime64(1700000000 + number, 3, 'Europe/Berlin')"),
    ("list", "Array(Nullable(UInt32))", "arrayMap(i -> nullIf(if(i % 2 = 0, 0, i), 0), range(number % 5))"),
    ("deep", "Array(Array(String))", "arrayMap(i -> arrayMap(j -> toString(j), range(i)), range(number % 4))"),
    ("pair", "Tuple(a UInt8, b Nullable(String))", "(number % 256, nullIf(if(number % 2 = 0, '', 'b'), ''))"),
    ("pairs", "Array(Tuple(a UInt8, b Map(String, Float64)))", "arrayMap(i -> (i, map(toString(i), i / 2)), range(number % 3))"),
    ("map", "Map(String, Array(UInt16))", "map('k', range(number % 3), 'l', [])"),
    ("kind", "Enum8('a' = 1, 'b' = 2)", "if(number % 2 = 0, 'a', 'b')"),
    ("kindless", "Nullable(Enum8('a' = 1, 'b' = 2))", "if(number % 2 = 0, NULL, 'b')"),
    ("key", "FixedString(5)", "toFixedString(toString(number % 1000), 5)"),
    ("id6", "IPv6", "toIPv6('2001:db8::1')"),
    ("uid", "UUID", "toUUID('01234567-89ab-cdef-0123-456789abcdef')"),
    ("big", "Decimal(76, 10)", "toDecimal256(number, 10)"),
    ("shape", "Polygon", "[[(number, 0), (1, 0)]]"),
]
s.query("DROP TABLE IF EXISTS b")
s.query("CREATE TABLE b (" + ", ".join(f"{n} {t}" for n, t, _ in COLUMNS) + ") ENGINE = Memory")
s.query("INSERT INTO b SELECT " + ", ".join(f"CAST({e} AS {t})" for _, t, e in COLUMNS) + " FROM numbers(70)")
with open(os.path.join(HERE, "block.json"), "w") as f:
    json.dump({
        "columns": [{"name": n, "type": t} for n, t, _ in COLUMNS],
        "count": 70,
        "rows": binary("SELECT * FROM b").hex(),
        "native": binary("SELECT * FROM b SETTINGS max_threads = 1, output_format_native_write_json_as_string = 1", "Native").hex(),
    }, f)
    f.write("\n")
print(len(out), "values,", len(defaults), "defaults")
