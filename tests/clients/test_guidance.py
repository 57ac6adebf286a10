# SPDX-License-Identifier: MIT
"""Guidance: programs of text, through OpenAI's API."""

import guidance
import pytest
from asked import ANNA, DAYS, Person


@pytest.fixture(scope="module")
def model(server):
    return guidance.models.OpenAI(server.model, echo=False, **server.openai)


def test_text_is_generated(model):
    with guidance.user():
        lm = model + DAYS
    with guidance.assistant():
        lm += guidance.gen("days", max_tokens=16, temperature=0)
    assert lm["days"]


def test_json_is_of_its_schema(model):
    with guidance.user():
        lm = model + ANNA
    with guidance.assistant():
        lm += guidance.json("person", schema=Person, temperature=0, max_tokens=80)
    Person.model_validate_json(lm["person"])
