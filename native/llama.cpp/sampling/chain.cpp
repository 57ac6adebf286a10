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
    return apply(row, size);
}

llama_token chain::apply(const float * row, size_t size) {
    load(row, size);
    return run();
}

llama_token chain::apply(const int32_t * ids, const float * logits, size_t n) {
    load_candidates(ids, logits, n);
    return run();
}

bool chain::take(const float * row, size_t size) {
    taken = size == n_vocab && few.fill(row, size, candidates);
    return taken;
}

llama_token chain::apply_taken() {
    if (!taken) {
        throw fault(PS_INVALID, "there is no row");
    }
    taken = false;
    view  = { candidates.data(), candidates.size(), -1, false };
    return run();
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

llama_token chain::run() {
    for (auto & filter : filters) {
        run(filter.get());
    }
    if (!selector) {
        return -1;
    }
    run(selector.get());
    if (view.selected < 0 || view.selected >= static_cast<int64_t>(view.size) || view.data[view.selected].logit == -INFINITY) {
        throw fault(PS_FAILED, "the sampler chain chose no token");
    }
    return view.data[view.selected].id;
}

// Several samplers assert that there is a candidate, and none can choose among banned ones.
void chain::run(llama_sampler * s) {
    if (!std::any_of(view.data, view.data + view.size, [](const auto & d) { return d.logit > -INFINITY; })) {
        throw fault(PS_NO_TOKEN, std::string("before ") + llama_sampler_name(s));
    }
    llama_sampler_apply(s, &view);
}

void chain::check_token(llama_token token) const {
    if (token < 0 || static_cast<size_t>(token) >= n_vocab) {
        throw fault(PS_INVALID, "token " + std::to_string(token) + " is outside the vocabulary of " + std::to_string(n_vocab));
    }
}

void chain::accept(llama_token token) {
    check_token(token);
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
    std::for_each(history, history + n, [this](llama_token token) { check_token(token); });
    for (auto & filter : filters) {
        if (std::strcmp(llama_sampler_name(filter.get()), "xtc") != 0) {
            llama_sampler_reset(filter.get());
        }
    }
    few.reset();
    n_prompt = std::min(n_prompt, n);
    for (size_t i = n_prompt - std::min(n_prompt, look_back); i < n; i++) {
        accept(history[i]);
    }
}

}  // namespace ps
