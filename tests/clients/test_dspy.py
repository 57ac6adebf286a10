# SPDX-License-Identifier: MIT
"""DSPy: a language model, through LiteLLM."""

import dspy
from asked import DAYS


def test_text(server):
    lm = dspy.LM(f"openai/{server.model}", api_base=server.v1, api_key=server.key, temperature=0, max_tokens=16, cache=False)
    [one], [again] = lm(DAYS), lm(DAYS)
    assert one == again != ""
