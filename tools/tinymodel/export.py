# SPDX-License-Identifier: MIT
"""Writes the models as GGUF files: matrices in Q8_0, norms in F32."""
import os
import struct

import numpy as np

import bpe
import network

TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
NORMAL, CONTROL, UNUSED = 1, 3, 5
ALIGNMENT = 32


def metadata(tok, model, name, description):
    """(key, type, value); the type of an array is (ARRAY, type of elements)."""
    kinds = [CONTROL if i < len(bpe.SPECIAL) else UNUSED if t.startswith("<|unused") else NORMAL for i, t in enumerate(tok.tokens)]
    n = model.shape
    return [
        ("general.architecture", STRING, "llama"), ("general.name", STRING, name), ("general.file_type", U32, 7),
        ("general.description", STRING, description),
        ("llama.context_length", U32, network.CONTEXT), ("llama.embedding_length", U32, n.dim), ("llama.block_count", U32, n.layers),
        ("llama.feed_forward_length", U32, n.ffn), ("llama.attention.head_count", U32, n.heads),
        ("llama.attention.head_count_kv", U32, n.kv_heads), ("llama.attention.layer_norm_rms_epsilon", F32, network.EPSILON),
        ("llama.rope.dimension_count", U32, n.head_dim), ("llama.rope.freq_base", F32, network.ROPE_BASE), ("llama.vocab_size", U32, len(tok.tokens)),
        ("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "gpt-2"),
        ("tokenizer.ggml.tokens", (ARRAY, STRING), tok.tokens), ("tokenizer.ggml.token_type", (ARRAY, I32), kinds),
        ("tokenizer.ggml.merges", (ARRAY, STRING), [f"{a} {b}" for a, b in tok.merges]),
        ("tokenizer.ggml.bos_token_id", U32, bpe.END_OF_TEXT), ("tokenizer.ggml.eos_token_id", U32, bpe.END),
        ("tokenizer.ggml.padding_token_id", U32, bpe.END_OF_TEXT), ("tokenizer.ggml.add_bos_token", BOOL, False),
        ("tokenizer.chat_template", STRING, TEMPLATE),
    ]


def tensors(model):
    """(name, array) in llama.cpp's names."""
    named = [("token_embd.weight", model.embed.weight), ("output_norm.weight", model.norm.weight)]
    for i, b in enumerate(model.blocks):
        for name, part in [("attn_norm", b.attn_norm), ("attn_q", b.q), ("attn_k", b.k), ("attn_v", b.v), ("attn_output", b.o),
                           ("ffn_norm", b.ffn_norm), ("ffn_gate", b.gate), ("ffn_up", b.up), ("ffn_down", b.down)]:
            named.append((f"blk.{i}.{name}.weight", part.weight))
    return named


def q8_0(w):
    """Blocks of 32: a half-precision scale and 32 signed bytes."""
    w = w.reshape(-1, 32).astype(np.float32)
    scale = (np.abs(w).max(1) / 127).astype(np.float16)
    inverse = np.where(scale > 0, 1 / np.maximum(scale.astype(np.float32), 1e-12), 0)
    q = np.clip(np.rint(w * inverse[:, None]), -127, 127).astype(np.int8)
    return np.concatenate([scale.view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1).tobytes()


def string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


PACK = {U32: lambda v: struct.pack("<I", v), I32: lambda v: struct.pack("<i", v), F32: lambda v: struct.pack("<f", v),
        BOOL: lambda v: struct.pack("<?", v), STRING: string}


def pack(key, kind, value):
    if isinstance(kind, tuple):
        return string(key) + struct.pack("<IIQ", ARRAY, kind[1], len(value)) + b"".join(PACK[kind[1]](x) for x in value)
    return string(key) + struct.pack("<I", kind) + PACK[kind](value)


def padded(data):
    return data + b"\0" * (-len(data) % ALIGNMENT)


def encoded(name, w):
    """A tensor's bytes and the number of its type: matrices in Q8_0, the first layer that sees in F16, as llama.cpp wants it, the rest in F32."""
    if w.ndim == 4:
        return w.astype("<f2").tobytes(), 1
    if w.ndim == 1 or name in ("v.position_embd.weight", "v.class_embd"):
        return w.astype("<f4").tobytes(), 0
    return q8_0(w), 8


def write_gguf(path, keys, named):
    """Writes the file at once or not at all."""
    infos, blobs, offset = b"", [], 0
    for name, w in named:
        data, kind = encoded(name, w)
        infos += string(name) + struct.pack("<I", w.ndim) + b"".join(struct.pack("<Q", n) for n in w.shape[::-1])
        infos += struct.pack("<IQ", kind, offset)
        blobs.append(padded(data))
        offset += len(blobs[-1])
    head = b"GGUF" + struct.pack("<IQQ", 3, len(blobs), len(keys)) + b"".join(pack(*k) for k in keys) + infos
    with open(path + ".part", "wb") as out:
        out.write(padded(head) + b"".join(blobs))
    os.replace(path + ".part", path)


def write_model(path, tok, model, name="Penstock Tiny", description="A toy chat model for demonstrations and tests, trained on synthetic text."):
    write_gguf(path, metadata(tok, model, name, description), [(name, w.detach().cpu().numpy()) for name, w in tensors(model)])
