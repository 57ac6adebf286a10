# SPDX-License-Identifier: MIT
"""Ollama's official client."""

import ollama
import pytest
from asked import ANNA, DAYS, PARIS, RAIN, Person, user
from ollama import Client

GREEDY = {"temperature": 0, "num_predict": 20}


def get_weather(city: str) -> str:
    """Get the weather of a city.

    Args:
        city: name of the city
    """
    return f"{RAIN} in {city}"


@pytest.fixture(scope="module")
def client(server):
    return Client(host=server.url, headers={"Authorization": f"Bearer {server.key}"})


def test_models(client, server):
    assert [model.model for model in client.list().models] == [f"{server.model}:latest"]
    shown = client.show(server.model)
    assert {"completion", "tools"} <= set(shown.capabilities)
    assert shown.modelinfo["general.architecture"] == "llama"
    assert client.ps().models[0].model == f"{server.model}:latest"


def test_chat_is_the_same_streamed_and_whole(client, server):
    whole = client.chat(server.model, user(DAYS), options=GREEDY)
    assert whole.message.content and whole.done
    parts = list(client.chat(server.model, user(DAYS), options=GREEDY, stream=True))
    assert "".join(part.message.content for part in parts) == whole.message.content
    assert (parts[-1].done_reason, parts[-1].eval_count) == (whole.done_reason, whole.eval_count)


def test_text_is_the_same_streamed_and_whole(client, server):
    ask = {"model": server.model, "prompt": "1, 2, 3, 4,", "raw": True, "options": GREEDY}
    whole = client.generate(**ask).response
    assert whole.startswith(" 5, 6")
    assert "".join(part.response for part in client.generate(**ask, stream=True)) == whole


def test_chat_keeps_to_a_format(client, server):
    answer = client.chat(server.model, user(ANNA), format=Person.model_json_schema(), options={**GREEDY, "num_predict": 60})
    Person.model_validate_json(answer.message.content)


def test_chat_is_offered_a_function_and_takes_its_result(client, server):
    ask = user(PARIS)
    first = client.chat(server.model, ask, tools=[get_weather], options=GREEDY)
    assert first.message.content or first.message.tool_calls
    call = {"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
    turns = [
        *ask,
        ollama.Message(role="assistant", content="", tool_calls=[call]),
        {"role": "tool", "tool_name": "get_weather", "content": get_weather("Paris")},
    ]
    after = client.chat(server.model, turns, tools=[get_weather], options=GREEDY)
    assert after.prompt_eval_count > first.prompt_eval_count
    assert after.message.content or after.message.tool_calls


def test_embeddings_are_vectors_of_length_one(client, server):
    one, other = client.embed(server.model, ["a frog", "a toad"]).embeddings
    assert one != other and len(one) == len(other)
    assert sum(x * x for x in one) == pytest.approx(1, abs=1e-3)


def test_errors_have_their_class(client, server):
    with pytest.raises(ollama.ResponseError, match=r"options\.temperature is -1") as bad:
        client.chat(server.model, user(DAYS), options={"temperature": -1})
    assert bad.value.status_code == 400
    with pytest.raises(ollama.ResponseError) as stranger:
        Client(host=server.url).list()
    assert stranger.value.status_code == 401
