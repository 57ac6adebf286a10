# SPDX-License-Identifier: MIT
"""DSPy: a language model, through LiteLLM, and typed signatures."""

import dspy
import litellm
import pytest
from asked import ANNA, DAYS, Person


@pytest.fixture
def lm(server):
    return dspy.LM(f"openai/{server.model}", api_base=server.v1, api_key=server.key, temperature=0, max_tokens=100, cache=False, engine="litellm")


class Describe(dspy.Signature):
    """Who is told of."""

    sentence: str = dspy.InputField()
    person: Person = dspy.OutputField()


def test_text(lm):
    [one], [again] = lm(DAYS), lm(DAYS)
    assert one == again != ""


def test_signature_is_typed(lm):
    # DSPy asks LiteLLM's list of models whether a model takes schemas.
    litellm.register_model({lm.model: {"litellm_provider": "openai", "mode": "chat", "supports_response_schema": True}})
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        assert isinstance(dspy.Predict(Describe)(sentence=ANNA).person, Person)
