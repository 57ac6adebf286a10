// SPDX-License-Identifier: MIT
// Sampler chains: running them on a row, accepting tokens, starting over. sampler_build.cpp makes them.
#include "sampler.h"

#include <algorithm>
#include <cmath>

namespace {

void load_row(ps_sampler * s, const float * row, size_t size) {
    if (size != static_cast<size_t>(s->model->n_vocab)) {
        throw ps::fault(PS_INVALID, "a row of " + std::to_string(size) + " logits for a vocabulary of " +
                                        std::to_string(s->model->n_vocab));
    }
    s->candidates.resize(size);
    for (size_t i = 0; i < size; i++) {
        s->candidates[i] = { static_cast<llama_token>(i), ps::tame(row[i]), 0.0f };
    }
    s->view = { s->candidates.data(), size, -1, false };
}

// Few candidates where that gives the same, else all.
void load(ps_sampler * s, const float * row, size_t size) {
    if (size == static_cast<size_t>(s->model->n_vocab) && s->way.candidates(row, size, s->candidates)) {
        s->view = { s->candidates.data(), s->candidates.size(), -1, false };
        return;
    }
    load_row(s, row, size);
}

void load_candidates(ps_sampler * s, const int32_t * ids, const float * logits, size_t n) {
    if (n > static_cast<size_t>(s->model->n_vocab)) {
        throw ps::fault(PS_INVALID, std::to_string(n) + " candidates for a vocabulary of " +
                                        std::to_string(s->model->n_vocab));
    }
    s->candidates.resize(n);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || ids[i] >= s->model->n_vocab) {
            throw ps::fault(PS_INVALID, "candidate " + std::to_string(ids[i]) + " is outside the vocabulary");
        }
        s->candidates[i] = { ids[i], ps::tame(logits[i]), 0.0f };
    }
    s->view = { s->candidates.data(), n, -1, false };
}

bool any_left(const llama_token_data_array & view) {
    return std::any_of(view.data, view.data + view.size, [](const auto & d) { return d.logit > -INFINITY; });
}

// Several samplers assert that there is a candidate, and none can choose among banned ones.
void need_candidates(const ps_sampler * s, const char * before) {
    if (!any_left(s->view)) {
        throw ps::fault(PS_NO_TOKEN, std::string("before ") + before);
    }
}

void run(ps_sampler * s, llama_sampler * stage) {
    need_candidates(s, llama_sampler_name(stage));
    llama_sampler_apply(stage, &s->view);
}

llama_token choose(ps_sampler * s) {
    run(s, s->selector.get());
    const auto & v = s->view;
    if (v.selected < 0 || v.selected >= static_cast<int64_t>(v.size) || v.data[v.selected].logit == -INFINITY) {
        throw ps::fault(PS_FAILED, "the sampler chain chose no token");
    }
    return v.data[v.selected].id;
}

void filter(ps_sampler * s) {
    for (auto & stage : s->filters) {
        run(s, stage.get());
    }
}

}  // namespace

int32_t ps_sampler_sample(ps_sampler * s, const float * row, size_t size, int32_t * token, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (!s->selector) {
            throw ps::fault(PS_INVALID, "this chain does not choose a token");
        }
        load(s, row, size);
        filter(s);
        llama_token chosen = choose(s);
        // Masking a whole row is slow, and most often the token fits anyway.
        if (s->grammar && !s->grammar->allows(chosen)) {
            load_row(s, row, size);
            s->grammar->apply(&s->view);
            filter(s);
            chosen = choose(s);
        }
        *token = chosen;
    });
}

// Candidates that were narrowed without regard to the grammar may all be rejected; then the whole row decides.
static llama_token choose_by_grammar(ps_sampler * s, const float * row, size_t size) {
    const auto  kept   = s->candidates;
    const auto  n      = s->view.size;
    llama_token chosen = choose(s);
    if (s->grammar->allows(chosen)) {
        return chosen;
    }
    s->candidates = kept;
    s->view       = { s->candidates.data(), n, -1, false };
    s->grammar->apply(&s->view);
    if (!any_left(s->view)) {
        load_row(s, row, size);
        s->grammar->apply(&s->view);
    }
    return choose(s);
}

int32_t ps_sampler_apply(ps_sampler * s, const float * row, size_t size, const int32_t * ids, const float * logits,
                         int64_t n, int64_t * count, int32_t * chosen, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (n < 0) {
            load(s, row, size);
        } else {
            load_candidates(s, ids, logits, static_cast<size_t>(n));
        }
        filter(s);
        *chosen = -1;
        if (s->selector) {
            *chosen = s->grammar ? choose_by_grammar(s, row, size) : choose(s);
        }
        *count = static_cast<int64_t>(s->view.size);
        if (n < 0 && s->view.size == size) {
            bool in_order = true;
            for (size_t i = 0; i < size && in_order; i++) {
                in_order = s->view.data[i].id == static_cast<llama_token>(i);
            }
            *count = in_order ? -1 : *count;
        }
    });
}

void ps_sampler_take(const ps_sampler * s, int32_t * ids, float * logits, size_t n) noexcept {
    n = std::min(n, s->view.size);
    for (size_t i = 0; i < n; i++) {
        logits[i] = s->view.data[i].logit;
        if (ids) {
            ids[i] = s->view.data[i].id;
        }
    }
}

static void check_token(const ps_sampler * s, int32_t token) {
    if (token < 0 || token >= s->model->n_vocab) {
        throw ps::fault(PS_INVALID, "token " + std::to_string(token) + " is outside the vocabulary of " +
                                        std::to_string(s->model->n_vocab));
    }
}

static void accept(ps_sampler * s, int32_t token, bool generated) {
    if (s->grammar && generated) {
        s->grammar->accept(token);
    }
    s->way.accept(token);
    for (auto & stage : s->filters) {
        llama_sampler_accept(stage.get(), token);
    }
    if (s->selector) {
        llama_sampler_accept(s->selector.get(), token);
    }
}

int32_t ps_sampler_accept(ps_sampler * s, int32_t token, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        check_token(s, token);
        accept(s, token, true);
    });
}

int32_t ps_sampler_rewind(ps_sampler * s, const int32_t * history, size_t n, size_t prompt, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        for (size_t i = 0; i < n; i++) {
            check_token(s, history[i]);
        }
        for (auto & stage : s->filters) {
            if (std::strcmp(llama_sampler_name(stage.get()), "xtc") != 0) {
                llama_sampler_reset(stage.get());
            }
        }
        s->way.reset();
        if (s->grammar) {
            s->grammar->reset();
        }
        prompt = std::min(prompt, n);
        for (size_t i = prompt - std::min(prompt, s->look_back); i < n; i++) {
            accept(s, history[i], i >= prompt);
        }
    });
}

int32_t ps_sampler_fits(ps_sampler * s, const int32_t * tokens, size_t n, size_t * count, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        for (size_t i = 0; i < n; i++) {
            check_token(s, tokens[i]);
        }
        *count = s->grammar ? s->grammar->fits(tokens, n) : n;
    });
}

void ps_sampler_free(ps_sampler * sampler) noexcept { delete sampler; }

void ps_sampler_whole_row(ps_sampler * sampler) noexcept { sampler->way = {}; }
