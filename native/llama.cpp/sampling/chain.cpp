// SPDX-License-Identifier: MIT
// chain::sample is where a token is chosen on the native path.
#include "chain.h"

#include "shim/fault.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ps {

chain::chain(const llama_vocab * vocab, const ps_sampler_params & p, const ps_sampler_lists & l) :
    n_vocab(static_cast<size_t>(llama_vocab_n_tokens(vocab))), filters(make_filters(vocab, p, l)), selector(make_selector(vocab, p)),
    few(filters, vocab, p, l), look_back(static_cast<size_t>(std::max(p.repeat_last_n, p.dry_last_n))) {}

llama_token chain::sample(const float * row, size_t size) {
    if (!selector) {
        throw fault(PS_INVALID, "this chain does not choose a token");
    }
    load(row, size);
    run_filters();
    llama_token chosen = select();
    // To mask a whole row is slow, and most often the token is allowed anyway.
    if (guards() && !grammar->allows(chosen)) {
        load_allowed(row, size);
        run_filters();
        chosen = select();
    }
    return chosen;
}

llama_token chain::apply(const float * row, size_t size) {
    load(row, size);
    run_filters();
    return !selector ? -1 : guards() ? select_allowed(row, size) : select();
}

llama_token chain::apply(const float * row, size_t size, const int32_t * ids, const float * logits, size_t n) {
    load_candidates(ids, logits, n);
    run_filters();
    return !selector ? -1 : guards() ? select_allowed(row, size) : select();
}

bool chain::take(const float * row, size_t size) {
    taken = !guards() && size == n_vocab && few.fill(row, size, candidates);
    return taken;
}

llama_token chain::apply_taken() {
    if (!taken) {
        throw fault(PS_INVALID, "there is no row");
    }
    taken = false;
    view  = { candidates.data(), candidates.size(), -1, false };
    run_filters();
    return !selector ? -1 : select();
}

bool chain::is_whole_row() const {
    bool in_order = view.size == n_vocab;
    for (size_t i = 0; i < view.size && in_order; i++) {
        in_order = view.data[i].id == static_cast<llama_token>(i);
    }
    return in_order;
}

void chain::copy_candidates(int32_t * ids, float * logits, size_t n) const {
    n = std::min(n, view.size);
    for (size_t i = 0; i < n; i++) {
        logits[i] = view.data[i].logit;
        if (ids) {
            ids[i] = view.data[i].id;
        }
    }
}

// A shortlist where that gives the same, else the whole row.
void chain::load(const float * row, size_t size) {
    taken = false;
    if (size == n_vocab && few.fill(row, size, candidates)) {
        view = { candidates.data(), candidates.size(), -1, false };
        return;
    }
    load_row(row, size);
}

// The candidates that the grammar allows, in token order: a shortlist of them where that gives the same as all.
void chain::load_allowed(const float * row, size_t size) {
    if (!few.fill_allowed(row, size, *grammar, candidates)) {
        candidates.clear();
        const auto & mask = grammar->mask();
        for (size_t word = 0; word < mask.size(); word++) {
            for (uint32_t bits = mask[word], i = 0; bits != 0; bits >>= 1, i++) {
                const size_t id = 32 * word + i;
                if ((bits & 1) && clamp_logit(row[id]) > -INFINITY) {  // a candidate of -inf would make typical's entropy NaN
                    candidates.push_back({ static_cast<llama_token>(id), clamp_logit(row[id]), 0.0f });
                }
            }
        }
    }
    view = { candidates.data(), candidates.size(), -1, false };
}

void chain::load_row(const float * row, size_t size) {
    if (size != n_vocab) {
        throw fault(PS_INVALID, "a row of " + std::to_string(size) + " logits for a vocabulary of " + std::to_string(n_vocab));
    }
    candidates.resize(size);
    for (size_t i = 0; i < size; i++) {
        candidates[i] = { static_cast<llama_token>(i), clamp_logit(row[i]), 0.0f };
    }
    view = { candidates.data(), size, -1, false };
}

void chain::load_candidates(const int32_t * ids, const float * logits, size_t n) {
    taken = false;
    if (n > n_vocab) {
        throw fault(PS_INVALID, std::to_string(n) + " candidates for a vocabulary of " + std::to_string(n_vocab));
    }
    candidates.resize(n);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= n_vocab) {
            throw fault(PS_INVALID, "candidate " + std::to_string(ids[i]) + " is outside the vocabulary");
        }
        candidates[i] = { ids[i], clamp_logit(logits[i]), 0.0f };
    }
    view = { candidates.data(), n, -1, false };
}

bool chain::any_left() const {
    return std::any_of(view.data, view.data + view.size, [](const auto & d) { return d.logit > -INFINITY; });
}

// Several samplers assert that there is a candidate, and none can choose among banned ones.
void chain::run(llama_sampler * s) {
    if (!any_left()) {
        throw fault(PS_NO_TOKEN, std::string("before ") + llama_sampler_name(s));
    }
    llama_sampler_apply(s, &view);
}

void chain::run_filters() {
    for (auto & filter : filters) {
        run(filter.get());
    }
}

llama_token chain::select() {
    run(selector.get());
    if (view.selected < 0 || view.selected >= static_cast<int64_t>(view.size) || view.data[view.selected].logit == -INFINITY) {
        throw fault(PS_FAILED, "the sampler chain chose no token");
    }
    return view.data[view.selected].id;
}

// The candidates were narrowed without regard to the grammar, which may reject them all; then it is the whole row to choose from.
llama_token chain::select_allowed(const float * row, size_t size) {
    const auto  before = candidates;
    const auto  n      = view.size;
    llama_token chosen = select();
    if (grammar->allows(chosen)) {
        return chosen;
    }
    candidates = before;
    view       = { candidates.data(), n, -1, false };
    grammar->apply(&view);
    if (!any_left()) {
        load_row(row, size);
        grammar->apply(&view);
    }
    return select();
}

void chain::check_token(llama_token token) const {
    if (token < 0 || static_cast<size_t>(token) >= n_vocab) {
        throw fault(PS_INVALID, "token " + std::to_string(token) + " is outside the vocabulary of " + std::to_string(n_vocab));
    }
}

void chain::check_tokens(const int32_t * tokens, size_t n) const {
    std::for_each(tokens, tokens + n, [this](llama_token token) { check_token(token); });
}

void chain::set_grammar(std::unique_ptr<ps::grammar> g, const int32_t * tokens, size_t n) {
    check_tokens(tokens, n);
    if (const size_t fit = g->count_allowed(tokens, n); fit < n) {
        throw fault(PS_INVALID, "the grammar cannot begin as the prompt ends: its token " + std::to_string(tokens[fit]) + " does not fit");
    }
    grammar = std::move(g);
    prefix.assign(tokens, tokens + n);
    reset_grammar();
}

void chain::reset_grammar() {
    if (grammar) {
        grammar->reset();
        accept_grammar(prefix.data(), prefix.size(), 0);
    }
}

void chain::accept_grammar(const int32_t * tokens, size_t n, size_t skip) {
    check_tokens(tokens, n);
    for (size_t i = 0; i < n && grammar; i++) {
        grammar->accept(tokens[i], i == 0 ? skip : 0);
    }
}

void chain::accept(llama_token token) {
    check_token(token);
    accept(token, true);
}

void chain::accept(llama_token token, bool generated) {
    if (guards() && generated) {
        grammar->accept(token);
    }
    few.accept(token);
    for (auto & filter : filters) {
        llama_sampler_accept(filter.get(), token);
    }
    if (selector) {
        llama_sampler_accept(selector.get(), token);
    }
}

// XTC keeps nothing but its random numbers, which go on from where they are.
void chain::rewind(const int32_t * history, size_t n, size_t n_prompt) {
    check_tokens(history, n);
    for (auto & filter : filters) {
        if (std::strcmp(llama_sampler_name(filter.get()), "xtc") != 0) {
            llama_sampler_reset(filter.get());
        }
    }
    few.reset();
    reset_grammar();
    n_prompt = std::min(n_prompt, n);
    for (size_t i = n_prompt - std::min(n_prompt, look_back); i < n; i++) {
        accept(history[i], i >= n_prompt);
    }
}

size_t chain::count_allowed(const int32_t * tokens, size_t n, size_t skip) {
    check_tokens(tokens, n);
    return grammar ? grammar->count_allowed(tokens, n, skip) : n;
}

}  // namespace ps
