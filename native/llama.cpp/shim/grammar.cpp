// SPDX-License-Identifier: MIT
// The C face of grammars that stand alone, for callers that choose tokens elsewhere, and of JSON schemas that become grammars.
#include "grammar/grammar.h"

#include "shim.h"

#include "json-schema-to-grammar.h"

#include <algorithm>

struct ps_grammar {
    ps::grammar grammar;
    int32_t     n_vocab;
    ps::counted count{ ps::live_grammars };
};

// llama.cpp walks a schema recursively; native bounds its nesting. This is address space and not memory.
static constexpr size_t schema_stack = size_t(256) << 20, max_schema = size_t(256) << 10;

int32_t ps_grammar_new(ps_model * model, const char * text, size_t size, const char * root, size_t root_size, ps_grammar ** out,
                       ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        auto parsed = model->grammars.parsed(model->vocab, std::string(text, size), std::string(root, root_size));
        *out        = new ps_grammar{ ps::grammar(model->sorted(), std::move(parsed)), model->n_vocab };
    });
}

void ps_grammar_free(ps_grammar * grammar) noexcept { delete grammar; }

int32_t ps_grammar_mask(ps_grammar * g, uint32_t * mask, size_t words, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const auto & allowed = g->grammar.mask();
        if (words != allowed.size()) {
            throw ps::fault(PS_INVALID, "a mask of " + std::to_string(words) + " words for a vocabulary of " + std::to_string(g->n_vocab));
        }
        std::copy(allowed.begin(), allowed.end(), mask);
    });
}

int32_t ps_grammar_accept(ps_grammar * g, int32_t token, bool * allowed, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        *allowed = token >= 0 && token < g->n_vocab && g->grammar.allows(token);
        if (*allowed) {
            g->grammar.accept(token);
        }
    });
}

int32_t ps_grammar_of_schema(const char * schema, size_t size, ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (size > max_schema) {
            throw ps::fault(PS_INVALID, "the JSON schema has " + std::to_string(size) + " bytes; at most 256 KiB is taken");
        }
        std::string text, problem;
        ps::with_stack(schema_stack, [&] {
            try {
                text = json_schema_to_grammar(common_json::parse(std::string(schema, size)), true);
            } catch (const std::bad_alloc &) {
                throw;
            } catch (const std::exception & e) {
                problem = std::string(e.what(), ps::clip(e.what(), std::strlen(e.what()), 500));
            }
        });
        if (!problem.empty()) {
            throw ps::fault(PS_INVALID, problem);
        }
        ps::return_text(out, text.data(), text.size());
    });
}
