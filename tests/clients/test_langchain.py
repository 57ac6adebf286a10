# SPDX-License-Identifier: MIT
"""LangChain: its OpenAI models, with tools, structured output and embeddings."""

import pytest
from asked import ANNA, DAYS, PARIS, RAIN, GetWeather, Person
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings


@pytest.fixture(scope="module", params=["chat", "responses"])
def model(request, server):
    return ChatOpenAI(
        **server.openai,
        model=server.model,
        temperature=0,
        max_tokens=60,
        max_retries=0,
        stream_usage=True,
        use_responses_api=request.param == "responses",
    )


def test_answer_is_the_same_streamed_and_whole(model):
    whole = model.invoke(DAYS)
    assert whole.text
    streamed = None
    for chunk in model.stream(DAYS):
        streamed = chunk if streamed is None else streamed + chunk
    assert streamed.text == whole.text
    assert streamed.usage_metadata["output_tokens"] == whole.usage_metadata["output_tokens"] > 0


def test_model_calls_a_tool_and_takes_its_result(model):
    ask = HumanMessage(PARIS)
    call = model.bind_tools([GetWeather], tool_choice="any").invoke([ask])
    [made] = call.tool_calls
    GetWeather.model_validate(made["args"])
    result = ToolMessage(RAIN, tool_call_id=made["id"])
    assert model.bind_tools([GetWeather], tool_choice="none").invoke([ask, call, result]).text


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_output_is_structured(model, method):
    assert isinstance(model.with_structured_output(Person, method=method).invoke(ANNA), Person)


def test_embeddings(server):
    # It sends tokens of OpenAI's vocabulary unless it is told not to.
    embeddings = OpenAIEmbeddings(**server.openai, model=server.model, check_embedding_ctx_length=False)
    [document] = embeddings.embed_documents(["a frog"])
    assert document == pytest.approx(embeddings.embed_query("a frog"), abs=1e-6)
