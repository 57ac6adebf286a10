// SPDX-License-Identifier: MIT
// Makes llama.cpp's samplers from a request's parameters.
#include "chain.h"

#include "shim/fault.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

struct range {
    const char * name;
    float        value, least, most;
};

// llama.cpp takes any number; outside these ranges its arithmetic overflows, or its buffers do not
// fit in memory.
void check(const ps_sampler_params & p) {
    const range ranges[] = {
        { "temperature", p.temperature, -1e6f, 1e6f },
        { "dynatemp_range", p.dynatemp_range, 0, 1e6f },
        { "dynatemp_exponent", p.dynatemp_exponent, 0, 1e3f },
        { "top_p", p.top_p, 0, 1e3f },
        { "min_p", p.min_p, 0, 1 },
        { "typical_p", p.typical_p, 0, 1e3f },
        { "top_n_sigma", p.top_n_sigma, -1e6f, 1e6f },
        { "xtc_probability", p.xtc_probability, 0, 1 },
        { "xtc_threshold", p.xtc_threshold, 0, 1e3f },
        { "repeat_penalty", p.repeat_penalty, 1e-3f, 1e3f },
        { "frequency_penalty", p.frequency_penalty, -1e3f, 1e3f },
        { "presence_penalty", p.presence_penalty, -1e3f, 1e3f },
        { "dry_multiplier", p.dry_multiplier, 0, 1e3f },
        { "dry_base", p.dry_base, 0, 1e3f },
        { "mirostat_tau", p.mirostat_tau, 0, 1e3f },
        { "mirostat_eta", p.mirostat_eta, 0, 1e3f },
        { "adaptive_target", p.adaptive_target, -1e3f, 1 },
        { "adaptive_decay", p.adaptive_decay, 0, 0.99f },
        { "min_keep", static_cast<float>(p.min_keep), 0, 1 << 24 },
        { "repeat_last_n", static_cast<float>(p.repeat_last_n), 0, 1 << 20 },
        { "dry_penalty_last_n", static_cast<float>(p.dry_last_n), 0, 1 << 20 },
        { "dry_allowed_length", static_cast<float>(p.dry_allowed_length), 0, 1 << 20 },
    };
    for (const auto & r : ranges) {
        if (!(r.value >= r.least && r.value <= r.most)) {  // also where it is NaN
            throw ps::fault(PS_INVALID, std::string(r.name) + " is " + std::to_string(r.value) + "; it must be " +
                                            std::to_string(r.least) + " to " + std::to_string(r.most));
        }
    }
    if (p.select < PS_SELECT_NONE || p.select > PS_SELECT_ADAPTIVE) {
        throw ps::fault(PS_INVALID, "there is no selector " + std::to_string(p.select));
    }
}

// llama.cpp takes the highest seed to mean "any"; a seed must mean the same every time.
uint32_t seed_of(const ps_sampler_params & p) {
    return p.seed == LLAMA_DEFAULT_SEED ? LLAMA_DEFAULT_SEED - 1 : p.seed;
}

// Below this, logits divided by it leave the range llama.cpp sorts in, and the most likely token
// wins anyway.
float temperature_of(const ps_sampler_params & p) { return p.temperature < 1e-4f ? 0 : p.temperature; }

llama_sampler * make_dry(const llama_vocab * vocab, const ps_sampler_params & p, const ps_sampler_lists & l) {
    std::vector<const char *> breakers;
    for (size_t at = 0; at < l.breakers_size; at += std::strlen(l.breakers + at) + 1) {
        breakers.push_back(l.breakers + at);
    }
    if (breakers.size() > 64) {
        throw ps::fault(PS_INVALID, "dry_sequence_breakers has " + std::to_string(breakers.size()) + " entries; at most 64");
    }
    return llama_sampler_init_dry(vocab, p.dry_multiplier, p.dry_base, p.dry_allowed_length, p.dry_last_n,
                                  breakers.data(), breakers.size());
}

// Infill compares every candidate with every other and asserts that there is a token to end with.
llama_sampler * make_infill(const llama_vocab * vocab, const ps_sampler_params & p, bool after_top_k) {
    if (llama_vocab_eot(vocab) == LLAMA_TOKEN_NULL && llama_vocab_eos(vocab) == LLAMA_TOKEN_NULL) {
        throw ps::fault(PS_INVALID, "infill needs a model with an end token");
    }
    if (!after_top_k || p.top_k <= 0 || p.top_k > 1000) {
        throw ps::fault(PS_INVALID, "infill must come after top_k with a top_k of 1 to 1000");
    }
    return llama_sampler_init_infill(vocab);
}

llama_sampler * make_filter(const llama_vocab * vocab, int32_t kind, const ps_sampler_params & p, const ps_sampler_lists & l,
                            bool after_top_k) {
    const auto keep = static_cast<size_t>(p.min_keep);
    switch (kind) {
        case PS_PENALTIES:
            return llama_sampler_init_penalties(llama_vocab_n_tokens(vocab), p.repeat_last_n, p.repeat_penalty, p.frequency_penalty,
                                                p.presence_penalty);
        case PS_DRY: return make_dry(vocab, p, l);
        case PS_TOP_N_SIGMA: return llama_sampler_init_top_n_sigma(p.top_n_sigma);
        case PS_TOP_K: return llama_sampler_init_top_k(p.top_k);
        case PS_TYPICAL: return llama_sampler_init_typical(p.typical_p, keep);
        case PS_TOP_P: return llama_sampler_init_top_p(p.top_p, keep);
        case PS_MIN_P: return llama_sampler_init_min_p(p.min_p, keep);
        case PS_XTC: return llama_sampler_init_xtc(p.xtc_probability, p.xtc_threshold, keep, seed_of(p));
        case PS_TEMPERATURE:
            return llama_sampler_init_temp_ext(temperature_of(p), p.dynatemp_range, p.dynatemp_exponent);
        case PS_INFILL: return make_infill(vocab, p, after_top_k);
        default: throw ps::fault(PS_INVALID, "there is no sampler kind " + std::to_string(kind));
    }
}

// The request's biases, then the tokens the model's author banned.
llama_sampler * make_bias(const llama_vocab * vocab, const ps_sampler_lists & l) {
    std::vector<llama_logit_bias> biases;
    for (size_t i = 0; i < l.n_bias; i++) {
        const auto  token = l.bias_tokens[i];
        const float value = l.bias_values[i];
        if (token < 0 || token >= llama_vocab_n_tokens(vocab)) {
            throw ps::fault(PS_INVALID, "logit_bias names token " + std::to_string(token) +
                                            ", which is outside the vocabulary of " + std::to_string(llama_vocab_n_tokens(vocab)));
        }
        if (std::isnan(value) || value > 1e5f || (value < -1e5f && value != -INFINITY)) {
            throw ps::fault(PS_INVALID, "logit_bias of token " + std::to_string(token) + " is " + std::to_string(value) +
                                            "; it must be -100000 to 100000");
        }
        biases.push_back({ token, value });
    }
    int32_t      n        = 0;
    const auto * suppress = llama_vocab_get_suppress_tokens(vocab, &n);
    for (int32_t i = 0; i < n; i++) {
        biases.push_back({ suppress[i], -INFINITY });
    }
    if (biases.empty()) {
        return nullptr;
    }
    return llama_sampler_init_logit_bias(llama_vocab_n_tokens(vocab), static_cast<int32_t>(biases.size()), biases.data());
}

}  // namespace

std::vector<ps::sampler_ptr> ps::make_filters(const llama_vocab * vocab, const ps_sampler_params & p, const ps_sampler_lists & l) {
    check(p);
    if (l.n_kinds > 64) {
        throw fault(PS_INVALID, "a chain of " + std::to_string(l.n_kinds) + " samplers; at most 64");
    }
    std::vector<sampler_ptr> filters;
    if (auto * bias = make_bias(vocab, l)) {
        filters.emplace_back(bias);
    }
    bool after_top_k = false;
    for (size_t i = 0; i < l.n_kinds; i++) {
        filters.emplace_back(make_filter(vocab, l.kinds[i], p, l, after_top_k));
        after_top_k = after_top_k || l.kinds[i] == PS_TOP_K;
    }
    return filters;
}

ps::sampler_ptr ps::make_selector(const llama_vocab * vocab, const ps_sampler_params & p) {
    switch (p.select) {
        case PS_SELECT_DIST: return sampler_ptr(llama_sampler_init_dist(seed_of(p)));
        case PS_SELECT_GREEDY: return sampler_ptr(llama_sampler_init_greedy());
        case PS_SELECT_MIROSTAT:
            return sampler_ptr(llama_sampler_init_mirostat(llama_vocab_n_tokens(vocab), seed_of(p), p.mirostat_tau, p.mirostat_eta, 100));
        case PS_SELECT_MIROSTAT_V2: return sampler_ptr(llama_sampler_init_mirostat_v2(seed_of(p), p.mirostat_tau, p.mirostat_eta));
        case PS_SELECT_ADAPTIVE: return sampler_ptr(llama_sampler_init_adaptive_p(p.adaptive_target, p.adaptive_decay, seed_of(p)));
        default: return nullptr;
    }
}
