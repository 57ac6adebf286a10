# SPDX-License-Identifier: MIT
"""LlamaIndex: its models and embeddings for servers that are like OpenAI's."""

import pytest
from asked import ANNA, DAYS, PARIS, GetWeather, Person
from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return city


@pytest.fixture(scope="module")
def model(server):
    return OpenAILike(
        api_base=server.v1,
        api_key=server.key,
        model=server.model,
        is_chat_model=True,
        is_function_calling_model=True,
        should_use_structured_outputs=True,
        temperature=0,
        max_tokens=60,
        max_retries=0,
    )


def test_answer_is_the_same_streamed_and_whole(model):
    whole = model.complete(DAYS).text
    assert whole
    assert "".join(part.delta for part in model.stream_complete(DAYS)) == whole
    ask = [ChatMessage(role="user", content=DAYS)]
    assert model.chat(ask).message.content == whole
    assert "".join(part.delta for part in model.stream_chat(ask)) == whole


def test_text_is_continued(server):
    model = OpenAILike(api_base=server.v1, api_key=server.key, model=server.model, temperature=0, max_tokens=8, max_retries=0)
    assert model.complete("1, 2, 3, 4,").text.startswith(" 5, 6")


def test_model_calls_a_tool(model):
    tool = FunctionTool.from_defaults(get_weather)
    response = model.chat_with_tools([tool], user_msg=PARIS, tool_required=True)
    [call] = model.get_tool_calls_from_response(response)
    assert call.tool_name == "get_weather"
    GetWeather.model_validate(call.tool_kwargs)


def test_output_is_structured(model):
    assert isinstance(model.structured_predict(Person, PromptTemplate("{text}"), text=ANNA), Person)


def test_embeddings(server):
    embedding = OpenAILikeEmbedding(api_base=server.v1, api_key=server.key, model_name=server.model)
    one, other = embedding.get_text_embedding_batch(["a frog", "a toad"])
    assert embedding.similarity(one, one) == pytest.approx(1)
    assert embedding.similarity(one, other) < 1
