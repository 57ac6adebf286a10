# SPDX-License-Identifier: MIT
"""OpenAI's official client."""

import asyncio

import openai
import pytest
from asked import ANNA, DAYS, PARIS, RAIN, GetWeather, Person, user
from openai import AsyncOpenAI, OpenAI, pydantic_function_tool

@pytest.fixture(scope="module")
def client(server):
    return OpenAI(**server.openai, max_retries=0)


def test_models(client, server):
    assert [model.id for model in client.models.list()] == [server.model]
    assert client.models.retrieve(server.model).object == "model"


def test_chat_is_the_same_streamed_and_whole(client, server):
    ask = {"model": server.model, "messages": user(DAYS), "max_tokens": 16, "seed": 7, "n": 2, "logprobs": True}
    whole = client.chat.completions.create(**ask)
    texts, tokens, reasons, usage = ["", ""], [[], []], [None, None], None
    for chunk in client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            tokens[choice.index] += [token.token for token in choice.logprobs.content] if choice.logprobs else []
            reasons[choice.index] = choice.finish_reason or reasons[choice.index]
    assert [choice.message.content for choice in whole.choices] == texts and all(texts)
    assert [[token.token for token in choice.logprobs.content] for choice in whole.choices] == tokens
    assert [choice.finish_reason for choice in whole.choices] == reasons
    assert whole.usage.completion_tokens == usage.completion_tokens > 0
    assert whole.usage.prompt_tokens == usage.prompt_tokens > 0


def test_chat_is_parsed(client, server):
    ask = {
        "model": server.model,
        "messages": user(ANNA),
        "response_format": Person,
        "temperature": 0,
        "max_tokens": 60,
    }
    person = client.chat.completions.parse(**ask).choices[0].message.parsed
    assert isinstance(person, Person)
    with client.chat.completions.stream(**ask) as stream:
        kinds = {event.type for event in stream}
        assert stream.get_final_completion().choices[0].message.parsed == person
    assert {"chunk", "content.delta", "content.done"} <= kinds


def test_chat_calls_a_tool_and_takes_its_result(client, server):
    messages = user(PARIS)
    ask = {
        "model": server.model,
        "tools": [pydantic_function_tool(GetWeather, name="get_weather")],
        "temperature": 0,
        "max_tokens": 60,
    }
    whole = client.chat.completions.parse(**ask, messages=messages, tool_choice="required").choices[0]
    assert whole.finish_reason == "tool_calls"
    [call] = whole.message.tool_calls
    assert isinstance(call.function.parsed_arguments, GetWeather)
    with client.chat.completions.stream(**ask, messages=messages, tool_choice="required") as stream:
        for _ in stream:
            pass
        [streamed] = stream.get_final_completion().choices[0].message.tool_calls
    assert (streamed.function.name, streamed.function.arguments) == (call.function.name, call.function.arguments)

    result = {"role": "tool", "tool_call_id": call.id, "content": RAIN}
    ask["max_tokens"] = 8
    after = client.chat.completions.create(**ask, messages=[*messages, whole.message, result], tool_choice="none")
    assert after.choices[0].message.content


def test_responses_are_the_same_streamed_and_whole(client, server):
    ask = {"model": server.model, "instructions": "Be brief.", "input": DAYS, "max_output_tokens": 16, "temperature": 0}
    whole = client.responses.create(**ask)
    assert whole.output_text
    events = list(client.responses.create(**ask, stream=True))
    final = events[-1].response
    assert events[-1].type == f"response.{final.status}"
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == final.output_text == whole.output_text
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert (final.status, final.usage.output_tokens) == (whole.status, whole.usage.output_tokens)


def test_responses_are_parsed(client, server):
    ask = {"model": server.model, "temperature": 0, "max_output_tokens": 60}
    response = client.responses.parse(**ask, input=ANNA, text_format=Person)
    assert isinstance(response.output_parsed, Person)


def test_responses_call_a_tool_and_take_its_result(client, server):
    tool = {"type": "function", "name": "get_weather", "parameters": GetWeather.model_json_schema()}
    ask = {"model": server.model, "tools": [tool], "temperature": 0, "max_output_tokens": 60}
    response = client.responses.create(**ask, input=user(PARIS), tool_choice="required")
    [call] = [item for item in response.output if item.type == "function_call"]
    GetWeather.model_validate_json(call.arguments)
    result = {"type": "function_call_output", "call_id": call.call_id, "output": RAIN}
    ask["max_output_tokens"] = 8
    after = client.responses.create(**ask, input=[*user(PARIS), *response.output, result], tool_choice="none")
    assert after.output_text


def test_text_is_continued(client, server):
    ask = {"model": server.model, "prompt": "1, 2, 3, 4,", "max_tokens": 12, "temperature": 0}
    whole = client.completions.create(**ask).choices[0].text
    assert whole.startswith(" 5, 6")
    assert "".join(chunk.choices[0].text for chunk in client.completions.create(**ask, stream=True)) == whole


def test_embeddings_are_vectors_of_length_one(client, server):
    data = client.embeddings.create(model=server.model, input=["a frog", "a toad", "a frog"]).data
    assert data[0].embedding == data[2].embedding != data[1].embedding
    assert sum(x * x for x in data[0].embedding) == pytest.approx(1, abs=1e-3)


def test_async_answers_at_once_are_as_alone(client, server):
    def ask(i):
        return {"model": server.model, "prompt": f"{i}, {i + 1}, {i + 2},", "max_tokens": 9, "temperature": 0}

    async def at_once():
        async with AsyncOpenAI(**server.openai, max_retries=0) as many:
            return await asyncio.gather(*(many.completions.create(**ask(i)) for i in range(4)))

    alone = [client.completions.create(**ask(i)).choices[0].text for i in range(4)]
    assert [answer.choices[0].text for answer in asyncio.run(at_once())] == alone


def test_errors_have_their_classes(client, server):
    with pytest.raises(openai.BadRequestError) as bad:
        client.chat.completions.create(model=server.model, messages=user(DAYS), temperature=-1)
    assert bad.value.param == "temperature"
    with pytest.raises(openai.AuthenticationError):
        OpenAI(base_url=server.v1, api_key="guess", max_retries=0).models.list()
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("no-such-model")
