// SPDX-License-Identifier: MIT
// Tokens to bytes and back.
#include "shim.h"

#include "common.h"
#include "llama-vocab.h"

#include <algorithm>
#include <limits>

namespace {

constexpr size_t max_text       = size_t(1) << 30;  // llama.cpp counts tokens in int32 and aborts beyond
constexpr size_t short_text     = 2048;             // bytes for which the stack of any thread is enough
constexpr size_t stack_per_byte = 1024;             // that std::regex may take in a long match
constexpr size_t max_stack      = size_t(8) << 30;  // address space, not memory

// llama.cpp asserts that the special tokens it is asked to add exist.
void check_special(const ps_model * m) {
    const auto * v   = m->vocab;
    const bool   wpm = llama_vocab_type(v) == LLAMA_VOCAB_TYPE_WPM;
    if (((llama_vocab_get_add_bos(v) || wpm) && llama_vocab_bos(v) == LLAMA_TOKEN_NULL) ||
        (llama_vocab_get_add_eos(v) && llama_vocab_eos(v) == LLAMA_TOKEN_NULL) ||
        ((llama_vocab_get_add_sep(v) || wpm) && llama_vocab_sep(v) == LLAMA_TOKEN_NULL)) {
        throw ps::fault(PS_FAILED, "the model asks for a begin, end or separator token that its vocabulary lacks");
    }
}

}  // namespace

int32_t ps_vocabulary_pieces(ps_model * m, bool special, ps_text * text, uint32_t * offsets, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        std::string all;
        for (int32_t t = 0; t < m->n_vocab; t++) {
            offsets[t] = static_cast<uint32_t>(all.size());
            all += common_token_to_piece(m->vocab, t, special);
            if (all.size() > std::numeric_limits<uint32_t>::max()) {
                throw ps::fault(PS_FAILED, "the vocabulary holds more than 4 GiB of text");
            }
        }
        offsets[m->n_vocab] = static_cast<uint32_t>(all.size());
        ps::return_text(text, all.data(), all.size());
    });
}

int32_t ps_vocabulary_attributes(ps_model * m, int32_t * attributes, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        for (int32_t t = 0; t < m->n_vocab; t++) {
            attributes[t] = static_cast<int32_t>(llama_vocab_get_attr(m->vocab, t));
            if (llama_vocab_is_eog(m->vocab, t)) {
                attributes[t] |= PS_END_OF_GENERATION;
            }
        }
    });
}

int32_t ps_vocabulary_specials(ps_model * m, int32_t * tokens, size_t * count, ps_text * text, uint32_t * offsets, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        constexpr int32_t special = LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_USER_DEFINED | LLAMA_TOKEN_ATTR_UNKNOWN;
        int32_t *         end     = tokens;
        for (int32_t t = 0; t < m->n_vocab; t++) {
            if (llama_vocab_get_attr(m->vocab, t) & special) {
                *end++ = t;
            }
        }
        const auto text_of = [&](int32_t t) -> const std::string & { return m->vocab->get_token_data(t).text; };
        // As llama.cpp sorts them: that of two of one length, which comes first is up to std::sort.
        std::sort(tokens, end, [&](int32_t a, int32_t b) { return text_of(a).size() > text_of(b).size(); });
        std::string all;
        for (const int32_t * t = tokens; t != end; t++) {
            offsets[t - tokens] = static_cast<uint32_t>(all.size());
            all += text_of(*t);
        }
        *count          = static_cast<size_t>(end - tokens);
        offsets[*count] = static_cast<uint32_t>(all.size());
        ps::return_text(text, all.data(), all.size());
    });
}

int32_t ps_tokenize(ps_model * m, const char * text, size_t size, bool add_special, bool parse_special, int32_t * tokens,
                    size_t capacity, size_t * count, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (size > max_text || capacity > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
            throw ps::fault(PS_INVALID, "a text of more than 1 GiB cannot be tokenised");
        }
        if (add_special) {
            check_special(m);
        }
        int32_t    n    = 0;
        auto       work = [&] {
            n = llama_tokenize(m->vocab, text, static_cast<int32_t>(size), tokens, static_cast<int32_t>(capacity),
                               add_special, parse_special);
        };
        if (size <= short_text) {
            work();
        } else {
            ps::with_stack(std::min(max_stack, (size_t(8) << 20) + size * stack_per_byte), work);
        }
        if (n == std::numeric_limits<int32_t>::min()) {
            throw ps::fault(PS_INVALID, "the text has more tokens than llama.cpp can count");
        }
        *count = static_cast<size_t>(n < 0 ? -n : n);
    });
}

int32_t ps_detokenize(ps_model * m, const int32_t * tokens, size_t n, bool unparse_special,
                      char * text, size_t capacity, size_t * count, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (n > max_text || capacity > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
            throw ps::fault(PS_INVALID, "too many tokens to detokenise");
        }
        for (size_t i = 0; i < n; i++) {
            if (tokens[i] < 0 || tokens[i] >= m->n_vocab) {
                throw ps::fault(PS_INVALID, "token " + std::to_string(tokens[i]) + " at " + std::to_string(i) +
                                                " is outside the vocabulary of " + std::to_string(m->n_vocab));
            }
        }
        const int32_t got = llama_detokenize(m->vocab, tokens, static_cast<int32_t>(n), text,
                                             static_cast<int32_t>(capacity), false, unparse_special);
        *count            = static_cast<size_t>(got < 0 ? -got : got);
    });
}
