# SPDX-License-Identifier: MIT
"""lm-evaluation-harness: log-likelihoods and generated answers of a task from a local file."""

import json
from pathlib import Path

import gguf
import lm_eval
import pytest
from conftest import ROOT, Server, script
from lm_eval.tasks import TaskManager
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

# What llama-server (of native/llama.cpp/llama.lock) says of each choice, which is one token. CPUs
# agree no better on what weights of 4 bits give.
LLAMA_SERVER = {
    "Paris": -0.2213, "Berlin": -6.9215, "Rome": -7.65,
    "seven": -12.7237, "four": -10.2295, "nine": -12.6365,
    "April": -8.3607, "Sunday": -7.6852, "Wednesday": -0.2631,
}  # fmt: skip
GREEDY = {"Paris", "Wednesday"}
DOCUMENTS = [
    {"question": "The capital of France is", "choices": ["Paris", "Berlin", "Rome"], "answer": 0},
    {"question": "Two and two are", "choices": ["seven", "four", "nine"], "answer": 1},
    {"question": "The days of the week are Monday, Tuesday,", "choices": ["April", "Sunday", "Wednesday"], "answer": 2},
]


def task(name: str, folder: Path, **more) -> dict:
    documents = folder / f"{name}.json"
    documents.write_text("\n".join(json.dumps(document) for document in DOCUMENTS))
    return {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(documents)}, "cache_dir": str(folder)},
        "test_split": "test",
        "doc_to_text": "{{question}}",
        **more,
    }


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> str:
    """The folder of SmolLM2's tokenizer, as its repository has it."""
    file = gguf.GGUFReader(script("scripts/models.sh", "smollm2-135m-q4_1.gguf"))
    tokens, kinds, merges = (file.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "token_type", "merges"))
    bpe = models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=[tuple(merge.split(" ")) for merge in merges])
    tokenizer = Tokenizer(bpe)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token, kind in zip(tokens, kinds) if kind == gguf.TokenType.CONTROL])
    folder = tmp_path_factory.mktemp("tokenizer")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", bos_token="<|im_start|>", pad_token="<|im_end|>").save_pretrained(folder)
    return str(folder)


def evaluate(server: Server, kind: str, path: str, tasks: list, chat: bool = False, **more) -> dict:
    args = {"model": server.model, "base_url": server.v1 + path, "header": {"Authorization": f"Bearer {server.key}"}, "num_concurrent": 4, "max_retries": 1, **more}
    return lm_eval.simple_evaluate(kind, model_args=args, tasks=tasks, task_manager=TaskManager(include_defaults=False), bootstrap_iters=0, log_samples=True, apply_chat_template=chat)


def test_loglikelihoods(server, tokenizer, tmp_path):
    found = evaluate(
        server,
        "local-completions",
        "/completions",
        [task("capitals", tmp_path, output_type="multiple_choice", doc_to_choice="{{choices}}", doc_to_target="answer")],
        tokenizer=tokenizer,
    )
    samples = found["samples"]["capitals"]
    assert len(samples) == 3
    assert len(samples) == len(DOCUMENTS)
    assert found["results"]["capitals"]["acc,none"] == 1
    for sample in samples:
        for (loglikelihood, greedy), choice in zip(sample["filtered_resps"], sample["doc"]["choices"], strict=True):
            assert loglikelihood == pytest.approx(LLAMA_SERVER[choice], rel=0.1, abs=0.1)
            assert greedy == (choice in GREEDY)


def test_generated_answers(server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", server.key)
    more = {"output_type": "generate_until", "doc_to_target": "{{choices[answer]}}", "generation_kwargs": {"until": ["\n"], "max_gen_toks": 8}}
    until = task("until", tmp_path, **more)
    ways = {"local-completions": ("/completions", False), "local-chat-completions": ("/chat/completions", True)}
    for kind, (path, chat) in ways.items():
        found = evaluate(server, kind, path, [until], tokenizer_backend=None, chat=chat)
        answers = [sample["filtered_resps"][0] for sample in found["samples"]["until"]]
        assert len(answers) == len(DOCUMENTS) and all(answers)
        assert not any("\n" in answer for answer in answers)
