# SPDX-License-Identifier: MIT
"""LiteLLM's proxy before Penstock, as its quick start has it, asked by OpenAI's client."""

import json
import os
import secrets
import subprocess
import sys

import openai
import pytest
from asked import ANNA, DAYS, PARIS, GetWeather, Person, user
from conftest import ALONE, free_port, stop, wait_for
from openai import pydantic_function_tool

KEY = "sk-" + secrets.token_hex(16)  # without one it does not start


@pytest.fixture(scope="module")
def client(server, tmp_path_factory):
    work = tmp_path_factory.mktemp("proxy")
    behind = {"model": f"openai/{server.model}", "api_base": server.v1, "api_key": server.key, "max_retries": 0}
    config = {"model_list": [{"model_name": "small", "litellm_params": behind}]}
    (work / "config.yaml").write_text(json.dumps(config))  # which is YAML, too
    port, run = free_port(), ALONE + "from litellm import run_server\nrun_server()"
    process = subprocess.Popen(
        [sys.executable, "-c", run, "--config", work / "config.yaml", "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"],
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": str(work), "LITELLM_MASTER_KEY": KEY},
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/health/readiness", process)
        yield openai.OpenAI(base_url=f"http://127.0.0.1:{port}", api_key=KEY, max_retries=0)
    finally:
        stop(process)


def test_answer_is_the_same_streamed_and_whole(client):
    ask = {"model": "small", "messages": user(DAYS), "max_tokens": 16, "temperature": 0}
    whole = client.chat.completions.create(**ask)
    chunks = client.chat.completions.create(**ask, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == whole.choices[0].message.content != ""


def test_answer_keeps_to_a_format(client):
    ask = {"model": "small", "messages": user(ANNA), "max_tokens": 80, "temperature": 0}
    assert isinstance(client.chat.completions.parse(**ask, response_format=Person).choices[0].message.parsed, Person)


def test_model_calls_a_tool(client):
    tool = pydantic_function_tool(GetWeather, name="get_weather")
    answer = client.chat.completions.create(model="small", messages=user(PARIS), tools=[tool], tool_choice="required", max_tokens=60).choices[0]
    assert answer.finish_reason == "tool_calls"
    GetWeather.model_validate_json(answer.message.tool_calls[0].function.arguments)


def test_embeddings(client):
    one, other = client.embeddings.create(model="small", input=["a frog", "a toad"]).data
    assert one.embedding != other.embedding
