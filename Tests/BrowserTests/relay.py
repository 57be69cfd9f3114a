"""A relay before the server whose answers stop half way: what a network may do to any of them."""
import re
import socket
import threading


class Relay:
    """`stop(pattern)`: of the next request whose first line matches, the answer's body stops after its first byte;
    `stopped` is set once that has gone out, and `cut()` ends its connection."""

    def __init__(self, server):
        self.own = server.base
        self.port = int(re.search(r":(\d+)", server.base)[1])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://localhost:{self.listener.getsockname()[1]}"
        self.wanted = None
        self.stopped = threading.Event()
        self.sockets = []
        self.held = None
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in [self.listener, *self.sockets]:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def stop(self, pattern):
        self.stopped.clear()
        self.wanted = pattern

    def cut(self):
        self.held.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                browser, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            self.sockets += [browser, server]
            pair = {"asked": False}
            for one in (self._requests, self._answers):
                threading.Thread(target=one, args=(browser, server, pair), daemon=True).start()

    def _requests(self, browser, server, pair):
        self._copy(browser, server, lambda part: self._see(part, pair))

    def _see(self, part, pair):
        first = part.split(b"\r\n", 1)[0].decode(errors="replace")
        wanted = self.wanted
        if wanted and re.search(wanted, first):
            self.wanted, pair["asked"] = None, True
        # The server takes what comes from its own origin.
        return part.replace(b"rigin: " + self.base.encode(), b"rigin: " + self.own.encode())

    def _answers(self, browser, server, pair):
        def limit(part):
            if not pair["asked"]:
                return part
            head, _, body = part.partition(b"\r\n\r\n")
            browser.sendall(head + b"\r\n\r\n" + body[:1])
            self.held = browser
            self.stopped.set()
            return None
        self._copy(server, browser, limit)

    @staticmethod
    def _copy(source, target, seen):
        """Until either end is closed, or `seen` gives nothing to send."""
        try:
            while (part := source.recv(1 << 16)) and (part := seen(part)):
                target.sendall(part)
            if not part and part is not None:
                target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
