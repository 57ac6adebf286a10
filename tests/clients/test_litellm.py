# SPDX-License-Identifier: MIT
"""LiteLLM, by three of Penstock's APIs."""

import litellm
import pytest
from asked import ANNA, DAYS, PARIS, RAIN, GetWeather, Person, user
from openai import pydantic_function_tool


@pytest.fixture(scope="module", params=["openai", "anthropic", "ollama_chat"])
def ask(request, server):
    base = server.v1 if request.param == "openai" else server.url
    return {"model": f"{request.param}/{server.model}", "api_base": base, "api_key": server.key, "max_tokens": 60, "temperature": 0, "num_retries": 0}


def test_answer_is_the_same_streamed_and_whole(ask):
    whole = litellm.completion(**ask, messages=user(DAYS))
    chunks = list(litellm.completion(**ask, messages=user(DAYS), stream=True, stream_options={"include_usage": True}))
    streamed = litellm.stream_chunk_builder(chunks)
    assert streamed.choices[0].message.content == whole.choices[0].message.content != ""
    assert streamed.choices[0].finish_reason == whole.choices[0].finish_reason
    assert streamed.usage.completion_tokens == whole.usage.completion_tokens


def test_answer_keeps_to_a_format(ask):
    answer = litellm.completion(**ask, messages=user(ANNA), response_format=Person)
    Person.model_validate_json(answer.choices[0].message.content)


def test_model_calls_a_tool_and_takes_its_result(ask):
    tools = {"tools": [pydantic_function_tool(GetWeather, name="get_weather")]}
    must = {} if ask["model"].startswith("ollama") else {"tool_choice": "required"}  # which LiteLLM does not tell Ollama
    answer = litellm.completion(**ask, **tools, **must, messages=user(PARIS)).choices[0]
    said = answer.message
    if must or said.tool_calls:
        assert answer.finish_reason == "tool_calls"
        [call] = said.tool_calls
        GetWeather.model_validate_json(call.function.arguments)
    else:
        call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
        assert said.content
        said = {"role": "assistant", "content": said.content, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": call["id"], "content": RAIN}
    after = litellm.completion(**ask, **tools, messages=[*user(PARIS), said, result])
    assert after.choices[0].message.content or after.choices[0].message.tool_calls


def test_embeddings(server):
    found = litellm.embedding(f"openai/{server.model}", ["a frog", "a toad"], api_base=server.v1, api_key=server.key)
    assert len(found.data) == 2 and found.data[0]["embedding"] != found.data[1]["embedding"]
