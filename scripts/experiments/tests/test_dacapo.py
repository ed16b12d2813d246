# SPDX-License-Identifier: MIT OR Apache-2.0
"""scripts/building/dacapo.sh against a local server that has the names of DaCapo's sites, by curl's own configuration."""

import fcntl
import hashlib
import http.server
import io
import os
import ssl
import subprocess
import threading
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "building" / "dacapo.sh"
HOSTS = ("sourceforge.net", "downloads.sourceforge.net", "download.dacapobench.org", "github.com")
BACH = "/project/dacapobench/9.12-bach-MR1/dacapo-9.12-MR1-bach.jar"
BACH_SUMS = "/projects/dacapobench/rss?path=/9.12-bach-MR1"
CHOPIN = "/chopin/dacapo-23.11-chopin.zip"
CHOPIN_SUMS = "/dacapobench/dacapobench/releases/download/v23.11-chopin/dacapo-23.11-chopin.zip.sha256sum"
JAR = b"a jar" * 1000
FEED = """\
<rss><channel>
<item><title><![CDATA[/9.12-bach-MR1/dacapo-9.12-MR1-bach-src.zip]]></title>
<media:content url="https://sourceforge.net/p/dacapo-9.12-MR1-bach-src.zip/download">
<media:hash algo="md5">{other}</media:hash></media:content></item>
<item><title><![CDATA[/9.12-bach-MR1/dacapo-9.12-MR1-bach.jar]]></title>
<media:content url="https://sourceforge.net/p/dacapo-9.12-MR1-bach.jar/download">
<media:hash algo="md5">{sum}</media:hash></media:content></item>
</channel></rss>
"""


def chopin_zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("dacapo-23.11-chopin.jar", JAR)
        archive.writestr("dacapo-23.11-chopin/dat/lusearch.txt", "data" * 5000)
    return packed.getvalue()


class Site(http.server.BaseHTTPRequestHandler):
    """Serves `server.files`, whole or from an offset; cuts off after `server.cut` bytes of a file if that is set."""

    def do_GET(self) -> None:
        body = self.server.files.get(self.path)
        self.server.asked.append((self.path, self.headers.get("Range")))
        if body is None:
            self.send_error(404)
            return
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start : self.server.cut.get(self.path)])

    def log_message(self, *_) -> None:
        """Says nothing."""


@pytest.fixture
def site(tmp_path):
    """The server, with both releases; `home` holds the configuration that sends curl to it, whatever the host."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=tests",
         "-addext", "subjectAltName=" + ",".join(f"DNS:{host}" for host in HOSTS), "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    (tmp_path / ".curlrc").write_text(
        f'connect-to = "::127.0.0.1:{server.server_port}"\ncacert = "{certificate}"\nnoproxy = "*"\n'
    )
    server.home, server.asked, server.cut = tmp_path, [], {}
    archive = chopin_zip()
    server.files = {
        BACH: JAR,
        BACH_SUMS: FEED.format(sum=hashlib.md5(JAR).hexdigest(), other="0" * 32).encode(),
        CHOPIN: archive,
        CHOPIN_SUMS: f"{hashlib.sha256(archive).hexdigest()}  dacapo-23.11-chopin.zip\n".encode(),
    }
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def environment(site) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DACAPO_")}
    return {**kept, "CURL_HOME": str(site.home), "SHARDSWEEP_CACHE": str(site.home / "cache")}


def run(site, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [SCRIPT], env={**environment(site), **variables}, capture_output=True, text=True, check=False, timeout=60
    )


def contents(site) -> set[str]:
    cache = site.home / "cache"
    return {str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"}


DONE = {
    "dacapo/dacapo-9.12-MR1-bach.jar",
    "dacapo/dacapo-23.11-chopin/dacapo-23.11-chopin.jar",
    "dacapo/dacapo-23.11-chopin/dacapo-23.11-chopin/dat/lusearch.txt",
}


def refused(done: subprocess.CompletedProcess, said: str) -> None:
    assert done.returncode == 1
    assert done.stdout == ""
    assert said in done.stderr.splitlines()[-1], done.stderr
    assert "export DACAPO_BACH=/path/to/dacapo-9.12-MR1-bach.jar DACAPO_CHOPIN=/path/to/" in done.stderr


def test_both_releases_are_got_checked_and_named_once(site):
    done = run(site)
    assert done.returncode == 0, done.stderr
    folder = site.home / "cache" / "dacapo"
    assert done.stdout.splitlines() == [
        f"export DACAPO_BACH={folder}/dacapo-9.12-MR1-bach.jar",
        f"export DACAPO_CHOPIN={folder}/dacapo-23.11-chopin/dacapo-23.11-chopin.jar",
    ]
    assert {name for name in contents(site) if name.startswith("dacapo/")} == DONE
    site.asked.clear()
    again = run(site)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert site.asked == []


def test_what_is_said_while_another_build_is_waited_for_is_no_part_of_the_two_lines(site):
    cache = site.home / "cache"
    cache.mkdir()
    with (cache / "dacapo.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        # Should the script say nothing there, neither waits for ever.
        release = threading.Timer(20, held.close)
        release.start()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen([SCRIPT], env=environment(site), **pipes) as script:
            said = script.stderr.readline()
            release.cancel()
            held.close()
            printed, _ = script.communicate(timeout=60)
    assert f"waiting for another process that holds {cache}/dacapo.lock" in said
    assert [line.partition("=")[0] for line in printed.splitlines()] == ["export DACAPO_BACH", "export DACAPO_CHOPIN"]


def test_an_interrupted_download_goes_on_where_it_stopped(site):
    site.cut = {CHOPIN: 700}
    refused(run(site), "cannot download dacapo-23.11-chopin.zip")
    assert (site.home / "cache" / "dacapo" / ".part" / "dacapo-23.11-chopin.zip").stat().st_size == 700
    site.cut = {}
    site.asked.clear()
    assert run(site).returncode == 0
    assert (CHOPIN, "bytes=700-") in site.asked
    assert BACH not in [path for path, _ in site.asked]
    assert contents(site) >= DONE


@pytest.mark.parametrize(("path", "kept"), [(BACH, set()), (CHOPIN, {"dacapo/dacapo-9.12-MR1-bach.jar"})])
def test_another_file_than_the_published_one_is_removed(site, path, kept):
    site.files[path] = site.files[path][:-1] + b"?"
    refused(run(site), "is removed: it has not the checksum that was published")
    assert contents(site) == kept


def test_a_checksum_of_the_users_own_takes_the_place_of_the_published_one(site):
    sums = {
        "DACAPO_BACH_SHA256": hashlib.sha256(JAR).hexdigest(),
        "DACAPO_CHOPIN_SHA256": hashlib.sha256(site.files[CHOPIN]).hexdigest(),
    }
    del site.files[BACH_SUMS], site.files[CHOPIN_SUMS]
    assert run(site, **sums).returncode == 0
    refused(run(site, SHARDSWEEP_CACHE=str(site.home / "other"), **{**sums, "DACAPO_BACH_SHA256": "0" * 64}), "0000;")


def test_nothing_is_got_without_a_checksum(site):
    site.files[BACH_SUMS] = b"<rss></rss>"
    refused(run(site), "has no checksum of dacapo-9.12-MR1-bach.jar: set DACAPO_BACH_SHA256")
    del site.files[BACH_SUMS]
    refused(run(site), "cannot get the checksum of dacapo-9.12-MR1-bach.jar (curl: (22)")
    done = run(site, DACAPO_BACH_SHA256="123")
    assert done.returncode == 1 and "DACAPO_BACH_SHA256=123 is no SHA-256" in done.stderr
    assert BACH not in [path for path, _ in site.asked]
    assert not (site.home / "cache").exists()


def test_without_a_network_one_line_says_how_to_point_at_a_copy(site):
    site.shutdown()
    site.server_close()
    done = run(site)
    refused(done, "cannot get the checksum of dacapo-9.12-MR1-bach.jar (curl: (7)")
    assert len(done.stderr.splitlines()) == 1
    assert not (site.home / "cache").exists()
