# SPDX-License-Identifier: MIT
"""OpenAI's Agents SDK, by both of its APIs."""

import asyncio

import pytest
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from asked import ANNA, PARIS, RAIN, Person
from openai import AsyncOpenAI

set_tracing_disabled(True)


@pytest.fixture(params=[OpenAIChatCompletionsModel, OpenAIResponsesModel])
def model(request, server):
    return request.param(model=server.model, openai_client=AsyncOpenAI(**server.openai, max_retries=0))


def settings(**more):
    return ModelSettings(temperature=0, **{"max_tokens": 60, **more})


def test_output_is_typed_streamed_and_whole(model):
    agent = Agent(name="reader", model=model, output_type=Person, model_settings=settings())

    async def both():
        whole = await Runner.run(agent, ANNA)
        streamed = Runner.run_streamed(agent, ANNA)
        events = [event.data async for event in streamed.stream_events() if event.type == "raw_response_event"]
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        return whole.final_output, streamed.final_output, Person.model_validate_json(text)

    whole, streamed, text = asyncio.run(both())
    assert isinstance(whole, Person)
    assert whole == streamed == text


def test_tool_is_called_and_its_result_goes_back(model):
    cities = []

    @function_tool
    def get_weather(city: str) -> str:
        """Get the weather of a city."""
        cities.append(city)
        return RAIN

    # Once it has called, it may do as it likes.
    agent = Agent(name="weather", model=model, tools=[get_weather], model_settings=settings(tool_choice="required"))
    result = asyncio.run(Runner.run(agent, PARIS, max_turns=8))
    assert len(cities) >= 1
    assert result.final_output
