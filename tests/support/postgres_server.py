"""A real PostgreSQL for tests: a cluster of its own in a temporary folder, reached by a socket in it, gone afterwards.

PostgreSQL does not run as root: where the tests do, its programs run as another user, who owns the folder.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

MISSING = "PostgreSQL is missing: apt-get install postgresql (or any initdb and postgres on PATH)"
# What is written has to outlive the server's crash, not the machine's.
_SETTINGS = "listen_addresses='' fsync=off max_connections=60 shared_buffers=32MB log_min_messages=error".split()


def find_programs():
    """The folder with initdb and postgres, or None."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


class PostgresServer:
    """A cluster that may be stopped, killed and started again."""

    def __init__(self, *settings):
        programs = find_programs()
        assert programs is not None, MISSING
        self._programs = programs
        self._settings = [*_SETTINGS, *settings]
        self._user = _other_user() if os.geteuid() == 0 else None
        # A socket's path must be short, which pytest's folders are not.
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-pg-"))
        self._process = None
        if self._user:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        data = self._folder / "data"
        self._run("initdb", "-D", data, "-U", "headrace", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
        self.start()

    @property
    def folder(self):
        """Where its socket is."""
        return self._folder

    @property
    def url(self):
        return f"postgresql://headrace@/postgres?host={self._folder}"

    def start(self):
        options = [
            word for setting in [*self._settings, f"unix_socket_directories='{self._folder}'"] for word in ("-c", setting.replace("'", ""))
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", *options], stdout=log, stderr=log, **self._as_user()
            )
        for _ in range(600):
            if self._process.poll() is not None:
                raise AssertionError(f"postgres ended: {(self._folder / 'log').read_text()}")
            if self._answers():
                return
            time.sleep(0.05)
        raise AssertionError("postgres does not answer")

    def stop(self, how=signal.SIGINT):
        """SIGINT: connections are ended; SIGQUIT: as after a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None

    def remove(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self):
        import psycopg

        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program, *arguments):
        done = subprocess.run([self._programs / program, *arguments], check=False, capture_output=True, text=True, **self._as_user())
        assert done.returncode == 0, done.stderr

    def _as_user(self):
        if self._user is None:
            return {"cwd": self._folder}
        environ = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "LANG": "C.UTF-8"}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": [], "cwd": self._folder, "env": environ}


def _other_user():
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("there is no user postgres or nobody to run PostgreSQL as")
