# SPDX-License-Identifier: MIT
"""The official MCP library: a server's tools are offered to the model, and its calls made there."""

import asyncio
import json

from asked import PARIS, RAIN, user
from mcp import Client
from mcp.server import MCPServer
from openai import OpenAI

weather = MCPServer("weather")


@weather.tool()
def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"{RAIN} in {city}"


def test_tools_of_a_server_are_called(server):
    model = OpenAI(**server.openai, max_retries=0)
    ask = {"model": server.model, "temperature": 0, "max_tokens": 60}

    async def converse():
        async with Client(weather) as client:
            tools = [
                {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}}
                for tool in (await client.list_tools()).tools
            ]
            message = model.chat.completions.create(**ask, tools=tools, tool_choice="required", messages=user(PARIS)).choices[0].message
            [call] = message.tool_calls
            result = await client.call_tool(call.function.name, json.loads(call.function.arguments))
            assert not result.is_error
            text = result.content[0].text
            assert text.startswith(RAIN)
            turns = [*user(PARIS), message, {"role": "tool", "tool_call_id": call.id, "content": text}]
            return model.chat.completions.create(**ask, tools=tools, tool_choice="none", messages=turns).choices[0]

    assert asyncio.run(converse()).message.content
