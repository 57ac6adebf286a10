# SPDX-License-Identifier: MIT
"""Outlines: typed answers."""

import openai
import outlines
import pytest
from asked import ANNA, DAYS, Person


@pytest.fixture(scope="module")
def model(server):
    return outlines.from_openai(openai.OpenAI(**server.openai, max_retries=0), server.model)


def test_text_is_the_same_streamed_and_whole(model):
    ask = {"temperature": 0, "max_tokens": 16}
    whole = model(DAYS, **ask)
    assert whole and "".join(model.stream(DAYS, **ask)) == whole


def test_answer_is_typed(model):
    assert Person.model_validate_json(model(ANNA, Person, temperature=0, max_tokens=80))
