"""The ClickHouse engine in this process, behind as much of its HTTP interface
as a writer needs: statements and their answers, INSERT in any input format,
bodies compressed as HTTP has it and as the server has it, settings, users, and
errors with their codes.

It is for one machine and for trying things. Statements run one after the other,
there is no native protocol, and what it holds is gone when `engine stop` says so.

    engine.py --listen 127.0.0.1:8123 --data DIR [--user NAME:PASSWORD]...
"""

import argparse
import base64
import contextlib
import hmac
import json
import os
import re
import signal
import threading
import urllib.parse
import uuid
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import lz4.block
import lz4.frame
import zstandard
from chdb import session
from clickhouse_cityhash.cityhash import CityHash128

# Parameters of a request that are about HTTP; all others but param_* are settings
# of the statement.
OF_HTTP = {
    "query", "database", "query_id", "default_format", "compress", "decompress", "user", "password",
    "wait_end_of_query", "session_id", "session_timeout", "buffer_size", "quota_key",
    "client_protocol_version", "send_progress_in_http_headers", "http_write_exception_in_output_format",
}

# The answer's status by the error's code, where it is not 500.
STATUS = {
    194: 401, 192: 403, 193: 403, 516: 403, 497: 403,
    6: 400, 26: 400, 27: 400, 36: 400, 38: 400, 41: 400, 43: 400, 53: 400, 62: 400, 72: 400, 117: 400,
    46: 404, 47: 404, 50: 404, 56: 404, 60: 404, 63: 404, 73: 404, 81: 404, 115: 404,
    48: 501,
}

WORD = re.compile(r"[A-Za-z_]\w*|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/|[()]|.", re.S)


class Refused(Exception):
    """An error that the engine would have raised, had it been a server."""

    def __init__(self, code, name, text):
        super().__init__(f"Code: {code}. DB::Exception: {text}. ({name})")


def outer_words(sql):
    """The words of a statement outside quotes, comments and parentheses, with
    where each begins and ends. After FORMAT X comes data, which is no SQL."""
    depth = 0
    after = 0
    for token in WORD.finditer(sql):
        text = token.group()
        depth += (text == "(") - (text == ")")
        if depth == 0 and (text[0].isalpha() or text[0] == "_"):
            yield text.upper(), token.start(), token.end()
            after += (after > 0) or text.upper() == "FORMAT"
            if after == 2:
                return


class Insert:
    """INSERT INTO table (columns) [SETTINGS …] FORMAT name, and data behind it."""

    def __init__(self, sql, words):
        settings = next((w for w in words if w[0] == "SETTINGS"), None)
        form = next(w for w in words if w[0] == "FORMAT")
        name = words[words.index(form) + 1]
        self.into = sql[: (settings or form)[1]].strip()
        self.settings = sql[settings[2] : form[1]].strip() if settings else ""
        self.format = sql[name[1] : name[2]]
        self.data = re.sub(r"\A[ \t\f]*;?[ \t\f]*\r?\n?", "", sql[name[2] :])


def parsed(sql):
    """The statement as an Insert, None if it is another."""
    words = list(outer_words(sql))
    names = [w[0] for w in words]
    if names[:2] == ["INSERT", "INTO"] and "FORMAT" in names[:-1] and not {"SELECT", "VALUES", "INFILE"} & set(names):
        return Insert(sql, words)
    return None


def quoted(value):
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def settled(settings):
    for name in settings:
        if not re.fullmatch(r"\w+", name):
            raise Refused(115, "UNKNOWN_SETTING", f"Unknown setting {quoted(name)}")
    return ", ".join(f"{name} = {quoted(value)}" for name, value in settings.items())


class Engine:
    """One session of the engine. What it is asked it does one by one."""

    def __init__(self, directory):
        self.session = session.Session(directory)
        self.lock = threading.Lock()
        self.database = "default"
        self.version = self.session.query("SELECT version()", "TabSeparated").bytes().decode().strip()

    def use(self, database):
        if database != self.database:
            self.session.query("USE `" + database.replace("\\", "\\\\").replace("`", "\\`") + "`")
            self.database = database

    def insert(self, statement, body, database, settings):
        """Runs an Insert of body, and returns how many rows it wrote."""
        # The engine reads a file by itself and then tells of errors that come
        # from behind the parser too, such as those of constraints and views.
        with memory_file(body) as path, self.lock:
            self.use(database)
            options = ", ".join(filter(None, [statement.settings, settled(settings)]))
            sql = f"{statement.into} FROM INFILE '{path}'" + (f" SETTINGS {options}" if options else "")
            return self.session.query(f"{sql} FORMAT {statement.format}", "TabSeparated").rows_written()

    def run(self, sql, form, database, settings, params):
        """Runs any other statement, and returns its answer."""
        with self.lock:
            self.use(database)
            try:
                if settings:
                    self.session.query("SET " + settled(settings))
                answer = self.session.query(sql, form, params=params or None)
                return bytes(answer.bytes()) if answer is not None else b""
            finally:
                for name in settings:
                    with contextlib.suppress(Exception):
                        self.session.query(f"SET {name} = DEFAULT")


@contextlib.contextmanager
def memory_file(body):
    fd = os.memfd_create("insert")
    try:
        rest = memoryview(body)
        while rest:
            rest = rest[os.write(fd, rest) :]
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def unblocked(body):
    """Undoes the server's own compression: blocks, each behind its checksum."""
    rest, out = memoryview(body), []
    while rest:
        size = int.from_bytes(rest[17:21], "little")
        block = rest[16 : 16 + size]
        if len(rest) < 25 or size < 9 or len(block) < size:
            raise Refused(33, "CANNOT_READ_ALL_DATA", f"Cannot read all data. Bytes read: {len(rest)}. Bytes expected: {16 + max(size, 9)}")
        first, second = divmod(CityHash128(bytes(block)), 1 << 64)
        actual = first.to_bytes(8, "little") + second.to_bytes(8, "little")
        if actual != rest[:16]:
            raise Refused(40, "CHECKSUM_DOESNT_MATCH", f"Checksum doesn't match: corrupted data. Reference: {bytes(rest[:16]).hex()}. Actual: {actual.hex()}")
        out.append(unpacked(block[0], bytes(block[9:]), int.from_bytes(block[5:9], "little")))
        rest = rest[16 + size :]
    return b"".join(out)


def unpacked(method, data, size):
    try:
        if method == 0x82:
            return lz4.block.decompress(data, uncompressed_size=size)
        if method == 0x90:
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
        if method == 0x02 and len(data) == size:
            return data
    except (lz4.block.LZ4BlockError, zstandard.ZstdError) as e:
        raise Refused(271, "CANNOT_DECOMPRESS", f"Cannot decompress: {e}") from e
    raise Refused(89, "UNKNOWN_COMPRESSION_METHOD", f"Unknown compression method: 0x{method:02x}")


def decoded(body, encoding):
    """Undoes Content-Encoding."""
    try:
        if encoding == "gzip":
            return gunzipped(body)
        if encoding == "zstd":
            return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(body)
        if encoding == "lz4":
            return lz4.frame.decompress(body)
    except (zlib.error, zstandard.ZstdError, RuntimeError, EOFError) as e:
        raise Refused(354, "ZLIB_INFLATE_FAILED", f"Cannot decode the body: {e}") from e
    if encoding in ("", "identity"):
        return body
    raise Refused(48, "NOT_IMPLEMENTED", f"Unknown Content-Encoding {encoding}")


def gunzipped(body):
    out = []
    while body:
        member = zlib.decompressobj(31)
        out.append(member.decompress(body))
        if not member.eof:
            raise EOFError("it is cut off")
        body = member.unused_data
    return b"".join(out)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece
    engine = users = None  # set by main

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.answer()

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path in ("/ping", "/replicas_status"):
            return self.send(200, b"Ok.\n", {})
        try:
            body = self.body()
        except (EOFError, ValueError, OSError):
            self.close_connection = True  # the writer went away in the middle: nothing of it counts
            return None
        asked = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        headers = {"X-ClickHouse-Query-Id": asked.get("query_id") or str(uuid.uuid4()), "X-ClickHouse-Timezone": "UTC"}
        try:
            self.allow(asked)
            out, more = self.statement(asked, body)
            self.send(200, out, headers | more)
        except Exception as e:
            text = str(e).removeprefix("Streaming insert finish failed: ")
            found = re.search(r"Code: (\d+)", text)
            code = int(found.group(1)) if found else 1002
            if "(version " not in text:
                text += f" (version {self.engine.version})"
            self.send(STATUS.get(code, 500), text.encode() + b"\n", headers | {"X-ClickHouse-Exception-Code": str(code)})

    def statement(self, asked, body):
        """Runs what is asked and returns the answer's body and headers."""
        body = decoded(body, self.headers.get("Content-Encoding", ""))
        if asked.get("decompress") == "1":
            body = unblocked(body)
        sql = asked.get("query", "")
        if not sql:
            sql, body = body.decode("utf-8", "surrogateescape"), b""
        database = asked.get("database") or self.headers.get("X-ClickHouse-Database") or "default"
        settings = {k: v for k, v in asked.items() if k not in OF_HTTP and not k.startswith("param_")}
        if insert := parsed(sql):
            rows = self.engine.insert(insert, insert.data.encode("utf-8", "surrogateescape") + body, database, settings)
            return b"", {"X-ClickHouse-Summary": json.dumps({"read_rows": "0", "written_rows": str(rows)})}
        if body:
            sql += "\n" + body.decode()
        form = asked.get("default_format") or self.headers.get("X-ClickHouse-Format") or "TabSeparated"
        if last := re.search(r"\sFORMAT\s+(\w+)[\s;]*\Z", sql, re.I):
            sql, form = sql[: last.start()], last.group(1)
        params = {k.removeprefix("param_"): v for k, v in asked.items() if k.startswith("param_")}
        return self.engine.run(sql, form, database, settings, params), {"X-ClickHouse-Format": form}

    def allow(self, asked):
        name, password = asked.get("user"), asked.get("password", "")
        if basic := self.headers.get("Authorization", "").removeprefix("Basic ").strip():
            name, _, password = base64.b64decode(basic).decode().partition(":")
        elif "X-ClickHouse-User" in self.headers or "X-ClickHouse-Key" in self.headers:
            name, password = self.headers.get("X-ClickHouse-User"), self.headers.get("X-ClickHouse-Key", "")
        name = name or "default"
        if name not in self.users or not hmac.compare_digest(self.users[name].encode(), password.encode()):
            raise Refused(516, "AUTHENTICATION_FAILED", f"{name}: Authentication failed: password is incorrect, or there is no user with such name")

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.exactly(int(self.headers.get("Content-Length") or 0))
        out = bytearray()
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            out += self.exactly(size)
            self.exactly(2)
        while self.rfile.readline().strip():
            pass
        return bytes(out)

    def exactly(self, size):
        data = self.rfile.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def send(self, status, body, headers):
        with contextlib.suppress(OSError):  # whoever asked may have left
            self.send_response(status)
            for name, value in ({"Content-Type": "text/plain; charset=UTF-8"} | headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--listen", default="127.0.0.1:8123")
    args.add_argument("--data", required=True, help="directory of the tables")
    args.add_argument("--user", action="append", default=[], help="NAME:PASSWORD; without any, default has no password")
    given = args.parse_args()
    host, _, port = given.listen.rpartition(":")
    Handler.users = dict(u.split(":", 1) for u in given.user) or {"default": ""}
    Handler.engine = Engine(given.data)
    server = Server((host, int(port)), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"engine {Handler.engine.version} on http://{given.listen}", flush=True)
    server.serve_forever()
    with Handler.engine.lock:  # what runs, ends
        Handler.engine.session.close()


if __name__ == "__main__":
    main()
