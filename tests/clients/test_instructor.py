# SPDX-License-Identifier: MIT
"""instructor: typed answers, by tools and by formats."""

import instructor
import pytest
from asked import ANNA, Person, user
from openai import OpenAI


@pytest.mark.parametrize("mode", ["TOOLS", "TOOLS_STRICT", "JSON_SCHEMA", "RESPONSES_TOOLS"])
def test_answer_is_typed(server, mode):
    client = instructor.from_openai(OpenAI(**server.openai, max_retries=0), mode=instructor.Mode[mode])
    limit = "max_output_tokens" if mode.startswith("RESPONSES") else "max_tokens"
    ask = {"model": server.model, "messages": user(ANNA), "max_retries": 0, "temperature": 0, limit: 80}
    person = client.chat.completions.create(**ask, response_model=Person)
    assert isinstance(person, Person)


def test_answer_is_typed_bit_by_bit(server):
    client = instructor.from_openai(OpenAI(**server.openai, max_retries=0), mode=instructor.Mode.TOOLS)
    ask = {"model": server.model, "messages": user(ANNA), "max_retries": 0, "temperature": 0, "max_tokens": 80}
    parts = list(client.chat.completions.create_partial(**ask, response_model=Person))
    assert Person.model_validate(parts[-1].model_dump())
    assert len(parts) > 1
