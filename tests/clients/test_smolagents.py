# SPDX-License-Identifier: MIT
"""smolagents: agents that call tools, and that write code."""

import pytest
from asked import DAYS, RAIN
from smolagents import CodeAgent, OpenAIServerModel, ToolCallingAgent, tool
from smolagents.models import ChatMessage, MessageRole


@tool
def get_weather(city: str) -> str:
    """Get the weather of a city.

    Args:
        city: The name of the city.
    """
    return RAIN


@pytest.fixture(scope="module")
def model(server):
    return OpenAIServerModel(server.model, api_base=server.v1, api_key=server.key, temperature=0, max_tokens=60)


def test_text_is_the_same_streamed_and_whole(model):
    ask = [ChatMessage(role=MessageRole.USER, content=[{"type": "text", "text": DAYS}])]
    whole = model.generate(ask).content
    assert whole and "".join(part.content or "" for part in model.generate_stream(ask)) == whole


def test_agent_calls_tools(model):
    agent = ToolCallingAgent(tools=[get_weather], model=model, max_steps=2, verbosity_level=0)
    run = agent.run("What is the weather in Paris?", return_full_result=True)
    steps = [step for step in run.steps if "step_number" in step]
    assert steps and all(step["tool_calls"] for step in steps)
    names = {call["function"]["name"] for step in steps for call in step["tool_calls"]}
    assert names <= {"get_weather", "final_answer"}


def test_agent_writes_code(model):
    # So small a model writes no sound code, but it keeps to the format.
    agent = CodeAgent(tools=[get_weather], model=model, max_steps=1, verbosity_level=0, use_structured_outputs_internally=True)
    run = agent.run("What is the weather in Paris?", return_full_result=True)
    assert run.output is not None
