# SPDX-License-Identifier: MIT
"""Gives all tests of this folder one server: bin/penstock with SmolLM2, on a free port."""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What clients would ask of other machines: prices, models, versions, and to report what they did.
os.environ |= {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}
# Begins a program of its own in Python, which gets to no other machine either: see alone.
ALONE = """
import socket
find = socket.getaddrinfo
def find_here(host, *rest, **named):
    if host not in (None, "127.0.0.1", "localhost", "::1", b"127.0.0.1", b"localhost"):
        raise socket.gaierror(f"these tests do not look for {host}")
    return find(host, *rest, **named)
socket.getaddrinfo = find_here
"""
PATIENCE = 300  # seconds; the machine may be busy


class Server(NamedTuple):
    url: str
    key: str = "client-key"
    model: str = "smollm2"

    @property
    def v1(self) -> str:
        """The base URL of OpenAI's API."""
        return self.url + "/v1"

    @property
    def openai(self) -> dict:
        """What clients made with OpenAI's library take."""
        return {"base_url": self.v1, "api_key": self.key}


def script(*command: str) -> Path:
    """Runs a script that prints a path from the root."""
    return ROOT / subprocess.check_output(command, cwd=ROOT, text=True).strip()


def wait_for(url: str, process: subprocess.Popen) -> None:
    """Waits until a server answers at this URL."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            return urllib.request.urlopen(url, timeout=PATIENCE).close()
        except urllib.error.HTTPError as error:
            error.close()
        except urllib.error.URLError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"{process.args[0]} did not answer at {url}; it has ended with {process.poll()}")


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def stop(process: subprocess.Popen) -> None:
    """Ends a process, at once where it does not end by itself."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Server:
    """SmolLM2 under a template that knows tools, which its own does not, with the same markup."""
    templates = script("native/llama.cpp/fetch.sh", "build/llama.cpp") / "models/templates"
    flags = {
        "--model": script("scripts/models.sh", "smollm2-135m-q4_1.gguf"),
        "--chat-template-file": templates / "Qwen-Qwen2.5-7B-Instruct.jinja",
        "--alias": Server("").model,
        "--api-key": Server("").key,
        "--listen": "127.0.0.1:0",
        "--ctx-size": 16384,
        "--parallel": 4,
        "--log-level": "error",
    }
    process = subprocess.Popen(
        [ROOT / "bin/penstock", "serve", "--embeddings", *(str(word) for flag in flags.items() for word in flag)],
        cwd=tmp_path_factory.mktemp("server"),  # no penstock.yaml and no plugins by chance
        env={name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = process.stdout.readline().strip()
        wait_for(url + "/readyz", process)
        yield Server(url)
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session", autouse=True)
def alone():
    """No client gets to another machine: what it asks there is no part of what is tested here."""
    find = socket.getaddrinfo

    def find_here(host, *rest, **named):
        if host not in ("127.0.0.1", "localhost", "::1", b"127.0.0.1", b"localhost"):
            raise socket.gaierror(f"these tests do not look for {host}")
        return find(host, *rest, **named)

    socket.getaddrinfo = find_here
    yield
    socket.getaddrinfo = find
