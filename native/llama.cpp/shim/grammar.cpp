// SPDX-License-Identifier: MIT
#include "grammar.h"

#include <utility>

namespace ps {

static constexpr size_t max_stacks = 5000;  // parses kept open at once; an ambiguous grammar doubles them every token

grammar::grammar(const ps_model * model, std::string text, std::string root_name)
    : model(model), root(root_name.empty() ? "root" : std::move(root_name)) {
    check_grammar_text(text);
    llama_grammar_parser parser(model->vocab);
    try {
        // parser.parse() would print its reason to standard error.
        const char * rest = text.c_str();
        while (*(rest += std::strspn(rest, " \t\r\n"))) {
            if (*rest == '#') {
                rest += std::strcspn(rest, "\r\n");
                continue;
            }
            rest = parser.parse_rule(rest);
        }
    } catch (const std::exception & e) {
        throw fault(PS_INVALID, std::string("the grammar cannot be read: ") + std::string(e.what()).substr(0, 200));
    }
    const auto found = parser.symbol_ids.find(root);
    if (found == parser.symbol_ids.end()) {
        throw fault(PS_INVALID, "the grammar has no rule \"" + root + "\"");
    }
    start = found->second;
    rules = std::move(parser.rules);
    check_grammar_rules(rules);
    build();
}

grammar::~grammar() { llama_grammar_free_impl(state); }

void grammar::build() {
    std::vector<const llama_grammar_element *> heads;
    heads.reserve(rules.size());
    for (const auto & rule : rules) {
        heads.push_back(rule.data());
    }
    log_capture capture;
    state = llama_grammar_init_impl(model->vocab, heads.data(), heads.size(), start);
    if (!state || llama_grammar_get_stacks(state).empty()) {
        throw fault(PS_INVALID, capture.reason("the grammar allows nothing"));
    }
}

static void alive(const llama_grammar * state) {
    if (!state) {
        throw fault(PS_FAILED, "the grammar was left at an earlier token");
    }
}

void grammar::apply(llama_token_data_array * candidates) {
    alive(state);
    llama_grammar_apply_impl(*state, candidates);
}

bool grammar::allows(llama_token token) {
    llama_token_data       one{ token, 1.0f, 0.0f };
    llama_token_data_array array{ &one, 1, -1, false };
    apply(&array);
    return one.logit == 1.0f;
}

// llama.cpp aborts where a generation ends too early and is useless after any other misfit.
void grammar::accept(llama_token token) {
    if (!allows(token)) {
        throw fault(PS_FAILED, "token " + std::to_string(token) + " does not fit the grammar here");
    }
    try {
        llama_grammar_accept_impl(*state, token);
        if (llama_grammar_get_stacks(state).size() > max_stacks) {
            throw fault(PS_FAILED, "the grammar is too ambiguous: more than 5000 readings of the text are open");
        }
    } catch (...) {
        llama_grammar_free_impl(std::exchange(state, nullptr));
        throw;
    }
}

void grammar::reset() {
    llama_grammar_free_impl(std::exchange(state, nullptr));
    build();
}

}  // namespace ps
