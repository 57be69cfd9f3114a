"""Poolers for deploy/checks/poolers: PgBouncer, a proxy that drops notifications, and a switch before PostgreSQL."""
import asyncio, os, shutil, socket, struct, subprocess, tempfile, threading, time


def message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


async def read_message(reader):
    head = await reader.readexactly(5)
    return head[:1], await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)


class Loop:
    """Runs on a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        listening = asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.server = asyncio.run_coroutine_threadsafe(listening, self.loop).result(5)
        self.port = self.server.sockets[0].getsockname()[1]

    async def accept(self, reader, writer):
        try:
            await self.serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


class Switch(Loop):
    """Passes bytes on to where it points; when it is turned, open connections are cut."""

    def __init__(self, target):
        self.target, self.open = target, set()
        super().__init__()

    def turn(self, target):
        self.target = target
        for writer in list(self.open):
            self.loop.call_soon_threadsafe(writer.close)

    async def serve(self, reader, writer):
        where = self.target
        far = await (asyncio.open_connection(*where) if isinstance(where, tuple)
                     else asyncio.open_unix_connection(where))
        ends = [(reader, far[1]), (far[0], writer)]
        self.open |= {writer, far[1]}

        async def pump(source, sink):
            try:
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            except OSError:
                pass
            sink.close()

        await asyncio.gather(*(pump(*each) for each in ends))
        self.open -= {writer, far[1]}


class HalfDeaf(Loop):
    """Passes a connection on whole, but for the notifications that come while no statement is open on it."""

    def __init__(self, socket):
        self.socket, self.dropped = socket, 0
        super().__init__()

    async def serve(self, reader, writer):
        while True:
            size, code = struct.unpack("!ii", await reader.readexactly(8))
            if code not in (80877103, 80877104):  # neither TLS nor GSSAPI
                break
            writer.write(b"N")
        far_reader, far_writer = await asyncio.open_unix_connection(self.socket)
        far_writer.write(struct.pack("!ii", size, code) + await reader.readexactly(size - 8))
        # Each Sync and each simple query is answered by one ReadyForQuery; so is the start.
        open_statements = 1

        async def questions():
            nonlocal open_statements
            while True:
                kind, body = await read_message(reader)
                open_statements += kind in b"SQ"
                far_writer.write(message(kind, body))
                await far_writer.drain()

        async def answers():
            nonlocal open_statements
            while True:
                kind, body = await read_message(far_reader)
                if kind == b"A" and open_statements == 0:
                    self.dropped += 1
                    continue
                open_statements -= kind == b"Z"
                writer.write(message(kind, body))
                await writer.drain()

        tasks = [asyncio.ensure_future(each()) for each in (questions, answers)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        far_writer.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.server.close)


class PgBouncer:
    """`program`, as the user `postgres` if root starts it: it refuses to run as root."""

    def __init__(self, program, cluster, mode, size, port):
        self.port, self.folder = port, tempfile.mkdtemp(prefix="gh.bouncer.", dir="/tmp")
        users = [f"gatehouse_{role}" for role in ("app", "platform", "owner")]
        self.write("users", "".join(f'"{user}" ""\n' for user in users))
        self.write("ini", f"""
[databases]
gatehouse = host={cluster} port=5432 dbname=gatehouse
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {self.folder}/users
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 500
ignore_startup_parameters = options,extra_float_digits
""")
        drop = {}
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
            drop = {"user": "postgres", "group": "postgres", "extra_groups": []}
        self.process = subprocess.Popen(
            [program, "-q", self.folder + "/ini"], cwd="/", stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **drop)
        for _ in range(100):
            try:
                return socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                time.sleep(0.05)
        raise SystemExit("PgBouncer does not start")

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)
        os.chmod(file.name, 0o644)

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)
