# SPDX-License-Identifier: MIT
"""Outlines: typed answers, by the fields of OpenAI and by that of vLLM."""

from typing import Literal

import openai
import outlines
import pytest
from asked import ANNA, DAYS, Person
from outlines.types import CFG, Regex


def of(make, server):
    return make(openai.OpenAI(**server.openai, max_retries=0), server.model)


@pytest.fixture(scope="module", params=[outlines.from_openai, outlines.from_vllm])
def model(request, server):
    return of(request.param, server)


def test_text_is_the_same_streamed_and_whole(model):
    ask = {"temperature": 0, "max_tokens": 16}
    whole = model(DAYS, **ask)
    assert whole and "".join(model.stream(DAYS, **ask)) == whole


def test_answer_is_typed(model):
    assert Person.model_validate_json(model(ANNA, Person, temperature=0, max_tokens=80))


def test_what_vllm_alone_takes(server):
    model = of(outlines.from_vllm, server)
    ask = {"temperature": 0, "max_tokens": 16}
    assert model("Is Anna happy or sad?", Literal["happy", "sad"], **ask) in ("happy", "sad")
    assert len(model("Name a year.", Regex(r"[12]\d{3}"), **ask)) == 4
    assert set(model("Say yes.", CFG('root ::= "yes"+'), **ask)) == set("yes")
