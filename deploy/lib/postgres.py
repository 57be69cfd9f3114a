"""A private PostgreSQL that also listens on loopback, for a server that cannot reach its socket."""
import os

from room import ROOT, run


class Postgres:
    def __init__(self, folder, port):
        self.folder, self.port = folder + "/postgres", port
        self.environment = {**os.environ, "PGPORT": str(port)}
        conninfo = self.control("start")
        self.sql(conninfo, "ALTER SYSTEM SET listen_addresses = '127.0.0.1'")
        self.stop()
        self.control("start")
        self.sql(conninfo, "CREATE DATABASE gatehouse OWNER gatehouse_owner")

    def control(self, command):
        return run(ROOT + "/deploy/tools/postgres", command, self.folder, env=self.environment).strip()

    def stop(self):
        self.control("stop")

    def sql(self, conninfo, text):
        run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-c", text, env=self.environment)

    def url(self, role):
        return f"postgresql://gatehouse_{role}@127.0.0.1:{self.port}/gatehouse"
