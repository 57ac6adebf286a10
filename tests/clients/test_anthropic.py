# SPDX-License-Identifier: MIT
"""Anthropic's official client."""

import anthropic
import pytest
from anthropic import Anthropic
from asked import ANNA, DAYS, PARIS, RAIN, GetWeather, Person, user

TOOL = {"name": "get_weather", "description": GetWeather.__doc__, "input_schema": GetWeather.model_json_schema()}


@pytest.fixture(scope="module")
def client(server):
    return Anthropic(base_url=server.url, api_key=server.key, max_retries=0)


@pytest.fixture(scope="module")
def greedy(server):
    # Its methods have no parameter for the temperature any more.
    return {"model": server.model, "max_tokens": 60, "extra_body": {"temperature": 0}}


def test_message_is_the_same_streamed_and_whole(client, greedy):
    whole = client.messages.create(**greedy, system="Be brief.", messages=user(DAYS))
    assert whole.content[0].text
    with client.messages.stream(**greedy, system="Be brief.", messages=user(DAYS)) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == final.content[0].text == whole.content[0].text
    assert (final.stop_reason, final.usage.output_tokens) == (whole.stop_reason, whole.usage.output_tokens)
    counted = client.messages.count_tokens(model=greedy["model"], system="Be brief.", messages=user(DAYS))
    cached = whole.usage.cache_read_input_tokens or 0
    assert counted.input_tokens == whole.usage.input_tokens + cached


def test_message_ends_before_a_stop_sequence(client, greedy):
    text = client.messages.create(**greedy, messages=user(DAYS)).content[0].text
    cut = client.messages.create(**greedy, messages=user(DAYS), stop_sequences=[text[10:14]])
    assert (cut.stop_reason, cut.stop_sequence) == ("stop_sequence", text[10:14])
    assert cut.content[0].text == text[: text.index(text[10:14])]


def test_message_calls_a_tool_and_takes_its_result(client, greedy):
    ask = user(PARIS)
    forced = {"tools": [TOOL], "tool_choice": {"type": "any"}}
    whole = client.messages.create(**greedy, **forced, messages=ask)
    assert whole.stop_reason == "tool_use"
    [call] = [block for block in whole.content if block.type == "tool_use"]
    assert call.name == "get_weather" and isinstance(call.input["city"], str)
    with client.messages.stream(**greedy, **forced, messages=ask) as stream:
        [streamed] = [block for block in stream.get_final_message().content if block.type == "tool_use"]
    assert streamed.input == call.input

    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": RAIN}]}
    turns = [*ask, {"role": "assistant", "content": whole.content}, {"role": "user", "content": [result]}]
    after = client.messages.create(**greedy, tools=[TOOL], tool_choice={"type": "none"}, messages=turns)
    assert after.content[0].text


def test_message_is_parsed(client, greedy):
    parsed = client.messages.parse(**greedy, messages=user(ANNA), output_format=Person).parsed_output
    assert isinstance(parsed, Person)


def test_errors_have_their_classes(client, server, greedy):
    with pytest.raises(anthropic.BadRequestError, match="temperature"):
        client.messages.create(**{**greedy, "extra_body": {"temperature": -1}}, messages=user(DAYS))
    stranger = Anthropic(base_url=server.url, api_key="guess", max_retries=0)
    with pytest.raises(anthropic.AuthenticationError):
        stranger.messages.create(**greedy, messages=user(DAYS))
