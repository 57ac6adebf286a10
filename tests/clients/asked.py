# SPDX-License-Identifier: MIT
"""What all clients ask: a question, a person's data in a sentence, the weather by a tool."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

DAYS = "Name the days of the week."
ANNA = "Anna is 30 years old and happy."
PARIS = "What is the weather in Paris?"
RAIN = "18 degrees and rain"


class Person(BaseModel):
    """Its fields are bounded, so that a small model comes to their end."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=150)
    mood: Literal["happy", "sad"]


class GetWeather(BaseModel):
    """Get the weather of a city."""

    model_config = ConfigDict(extra="forbid")
    city: str = Field(max_length=20)


def user(text: str) -> list[dict]:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]
