# SPDX-License-Identifier: MIT
# The tokens that Hugging Face's tokenizers make of lines: TestTokens runs it. The tokenizers are
# built of the vocabularies in the model files and of what the models' own tokenizer.json say.
import json
import sys

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors


def bpe(tokens, special, merges):
    """SmolLM2's: digits stand alone, and what GPT-2 does."""
    vocab = {token: i for i, token in enumerate(tokens)}
    made = Tokenizer(models.BPE(vocab, [tuple(pair.split(" ")) for pair in merges]))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return made


def wordpiece(tokens, special, _merges):
    """BERT's, uncased. A model file marks the beginning of a word, and not what goes on with it."""
    spelt = [t if t in special else t[1:] if t.startswith("\u2581") else "##" + t for t in tokens]
    vocab = {token: i for i, token in enumerate(spelt)}
    made = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(token, vocab[token]) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    made.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return made


asked = json.load(sys.stdin)
tokenizer = {"gpt2": bpe, "bert": wordpiece}[asked["model"]](asked["tokens"], set(asked["special"]), asked["merges"])
json.dump([tokenizer.encode(line).ids for line in asked["lines"]], sys.stdout)
