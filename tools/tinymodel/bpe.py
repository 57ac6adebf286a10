# SPDX-License-Identifier: MIT
"""A byte-level BPE tokenizer with GPT-2's pre-tokenization, trained here. llama.cpp knows the kind as "gpt-2"."""
import collections

import regex

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
END_OF_TEXT, START, END = range(3)
WORD = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def byte_alphabet():
    """GPT-2's letter for each byte: itself where it can be seen, else one from 256 on."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = [], 0
    for b in range(256):
        if b in keep:
            table.append(chr(b))
        else:
            table.append(chr(256 + extra))
            extra += 1
    return table


BYTES = byte_alphabet()


def merge(letters, a, b):
    """letters with each pair a, b joined."""
    out, i = [], 0
    while i < len(letters):
        if i + 1 < len(letters) and letters[i] == a and letters[i + 1] == b:
            out.append(a + b)
            i += 2
        else:
            out.append(letters[i])
            i += 1
    return out


class Tokenizer:
    """tokens by number, merges in order. It encodes only text whose words it was trained on."""

    def __init__(self, texts, size):
        words = collections.Counter()
        for text in texts:
            words.update(WORD.findall(text))
        split = {w: [BYTES[b] for b in w.encode()] for w in words}
        self.tokens = SPECIAL + BYTES
        self.merges = []
        while len(self.tokens) < size and self._learn(words, split):
            pass
        while len(self.tokens) < size:
            self.tokens.append(f"<|unused{len(self.tokens)}|>")
        ids = {token: i for i, token in enumerate(self.tokens)}
        self._words = {w: [ids[x] for x in s] for w, s in split.items()}

    def _learn(self, words, split):
        """Joins the most frequent pair; False if none stands twice."""
        pairs = collections.Counter()
        for w, n in words.items():
            for pair in zip(split[w], split[w][1:]):
                pairs[pair] += n
        if not pairs:
            return False
        (a, b), n = max(pairs.items(), key=lambda item: (item[1], item[0]))
        if n < 2:
            return False
        self.merges.append((a, b))
        self.tokens.append(a + b)
        for w, s in split.items():
            if a in s:
                split[w] = merge(s, a, b)
        return True

    def encode(self, text):
        return [token for w in WORD.findall(text) for token in self._words[w]]

    def chat(self, messages):
        """A chat in ChatML, ended by END_OF_TEXT."""
        out = []
        for m in messages:
            out += [START, *self.encode(m["role"] + "\n" + m["content"]), END, *self.encode("\n")]
        return out + [END_OF_TEXT]


class Words(dict):
    """The numbers of a word's tokens, worked out when first asked for."""

    def __init__(self, ids, merges):
        super().__init__()
        self._ids, self._order = ids, {pair: i for i, pair in enumerate(merges)}

    def __missing__(self, word):
        letters = [BYTES[b] for b in word.encode()]
        while True:
            found = [(self._order[pair], pair) for pair in zip(letters, letters[1:]) if pair in self._order]
            if not found:
                self[word] = [self._ids[x] for x in letters]
                return self[word]
            letters = merge(letters, *min(found)[1])


class Trained(Tokenizer):
    """A tokenizer with the tokens and merges of a file. It encodes any text."""

    def __init__(self, tokens, merges):
        self.tokens, self.merges = tokens, merges
        self._words = Words({token: i for i, token in enumerate(tokens)}, merges)
