# SPDX-License-Identifier: MIT
"""Pydantic AI: agents with tools and typed outputs, by both of OpenAI's APIs."""

import pytest
from asked import ANNA, DAYS, RAIN, Person
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

SETTINGS = {"temperature": 0, "max_tokens": 80}


@pytest.fixture(scope="module", params=[OpenAIChatModel, OpenAIResponsesModel])
def model(request, server):
    return request.param(server.model, provider=OpenAIProvider(**server.openai))


def test_text_is_the_same_streamed_and_whole(model):
    agent = Agent(model, system_prompt="Be brief.", model_settings=SETTINGS | {"max_tokens": 16})
    whole = agent.run_sync(DAYS)
    assert whole.output
    streamed = agent.run_stream_sync(DAYS)
    assert list(streamed.stream_text())[-1] == whole.output


@pytest.mark.parametrize("kind", [ToolOutput, NativeOutput])
def test_output_is_typed(model, kind):
    agent = Agent(model, output_type=kind(Person), model_settings=SETTINGS, retries=0)
    assert isinstance(agent.run_sync(ANNA).output, Person)


def test_tool_is_called_and_its_result_goes_back(model):
    agent = Agent(model, output_type=ToolOutput(Person), model_settings=SETTINGS)
    cities = []

    async def once(_, tool):
        return None if cities else tool

    @agent.tool_plain(prepare=once)
    def get_weather(city: str) -> str:
        """Get the weather of a city."""
        cities.append(city)
        return RAIN

    # It has to call this one or its output.
    result = agent.run_sync(f"{ANNA} Call get_weather for Paris.")
    assert isinstance(result.output, Person)
