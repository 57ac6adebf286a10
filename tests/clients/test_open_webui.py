# SPDX-License-Identifier: MIT
"""Open WebUI, started before Penstock: what its page asks of it, and it of Penstock."""

import json
import os
import subprocess

import httpx
import pytest
from asked import DAYS, PARIS, GetWeather, user
from conftest import ALONE, PATIENCE, ROOT, free_port, stop, wait_for
from openai import pydantic_function_tool


@pytest.fixture(scope="module")
def webui(server, tmp_path_factory):
    """Open WebUI with two connections, to OpenAI's API and to Ollama's, which also embeds."""
    home, port = tmp_path_factory.mktemp("webui"), free_port()
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "DATA_DIR": str(home),
        "WEBUI_AUTH": "False",
        "WEBUI_SECRET_KEY": "secret",
        "OFFLINE_MODE": "true",
        "HF_HUB_OFFLINE": "1",
        "ANONYMIZED_TELEMETRY": "false",
        "OPENAI_API_BASE_URL": server.v1,
        "OPENAI_API_KEY": server.key,
        "OLLAMA_BASE_URL": server.url,
        "OLLAMA_API_CONFIGS": json.dumps({"0": {"enable": True, "key": server.key}}),
        "RAG_EMBEDDING_ENGINE": "openai",
        "RAG_OPENAI_API_BASE_URL": server.v1,
        "RAG_OPENAI_API_KEY": server.key,
    }
    run = ALONE + "from open_webui import app\napp()"
    process = subprocess.Popen(
        [ROOT / "build/python/webui/bin/python", "-c", run, "serve", "--host", "127.0.0.1", "--port", str(port)],
        cwd=home,
        env=settings,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url + "/health", process)
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            token = answer_to(client.post("/api/v1/auths/signin", json={"email": "", "password": ""}))["token"]
            client.headers["Authorization"] = "Bearer " + token
            yield client
    finally:
        stop(process)


def answer_to(response: httpx.Response) -> dict:
    assert response.status_code == 200, response.text
    return response.json()


# Open WebUI tells Ollama's API nothing but the options.
BRIEF = {"messages": user(DAYS), "temperature": 0, "max_tokens": 16, "options": {"temperature": 0, "num_predict": 16}}


def ask(webui: httpx.Client, model: str, **more) -> dict:
    return answer_to(webui.post("/api/chat/completions", json=BRIEF | {"model": model} | more))


def test_models_of_both_connections(webui, server):
    models = {model["id"]: model["owned_by"] for model in answer_to(webui.get("/api/models"))["data"]}
    assert models[server.model] == "openai" and models[server.model + ":latest"] == "ollama"


def test_answer_is_the_same_streamed_and_whole_by_both_connections(webui, server):
    for model in (server.model, server.model + ":latest"):
        whole = ask(webui, model)["choices"][0]["message"]["content"]
        text = ""
        with webui.stream("POST", "/api/chat/completions", json=BRIEF | {"model": model, "stream": True}) as answer:
            assert answer.status_code == 200
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    text += "".join(choice["delta"].get("content") or "" for choice in json.loads(line[6:])["choices"])
        assert text == whole != "", model


def test_model_calls_a_tool(webui, server):
    tool = pydantic_function_tool(GetWeather, name="get_weather")
    answer = ask(webui, server.model, messages=user(PARIS), tools=[tool], tool_choice="required", max_tokens=60)["choices"][0]
    assert answer["finish_reason"] == "tool_calls"
    GetWeather.model_validate_json(answer["message"]["tool_calls"][0]["function"]["arguments"])


def test_title_of_a_chat(webui, server):
    chat = [*user(DAYS), {"role": "assistant", "content": "Monday"}]
    answer = answer_to(webui.post("/api/v1/tasks/title/completions", json={"model": server.model, "messages": chat}))
    assert isinstance(answer["choices"][0]["message"]["content"], str)  # which it draws, so it may be empty


def test_document_is_found_by_its_embedding(webui):
    for name, text in ("frog", "The frog is called Fred."), ("train", "The train leaves at nine."):
        answer_to(webui.post("/api/v1/retrieval/process/text", json={"name": name, "content": text, "collection_name": "documents-" + name}))
    found = answer_to(webui.post("/api/v1/retrieval/query/doc", json={"collection_name": "documents-frog", "query": "Who is the frog?", "k": 1}))
    assert found["documents"] == [["The frog is called Fred."]]
