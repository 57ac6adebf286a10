// SPDX-License-Identifier: MIT
#include "shortlist.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

constexpr size_t max_adjusted = 2048;  // tokens that biases and penalties may change; with more, the whole row is as fast

bool is(const llama_sampler * s, const char * name) { return std::strcmp(llama_sampler_name(s), name) == 0; }

// llama.cpp gives a sampler that does nothing a name that begins so.
bool is_off(const llama_sampler * s) { return llama_sampler_name(s)[0] == '?'; }

float highest_logit(const std::vector<llama_token_data> & candidates) {
    float m = -INFINITY;
    for (const auto & d : candidates) {
        m = std::max(m, d.logit);
    }
    return m;
}

}  // namespace

// Samplers that change few logits may come first; the next one must be one that keeps few.
ps::shortlist::shortlist(const std::vector<sampler_ptr> & filters, const llama_vocab * vocab, const ps_sampler_params & p,
                         const ps_sampler_lists & l) {
    for (const auto & filter : filters) {
        const auto * f = filter.get();
        if (is_off(f) || is(f, "logit-bias")) {
            continue;
        }
        if (is(f, "penalties")) {
            last_n = std::max(last_n, static_cast<size_t>(p.repeat_last_n));
        } else if (is(f, "dry")) {
            last_n = std::max(last_n, static_cast<size_t>(p.dry_last_n));
        } else {
            k     = is(f, "top-k") ? static_cast<size_t>(p.top_k) : 0;
            min_p = is(f, "min-p") && p.min_keep <= 1 ? p.min_p : 0;
            break;
        }
    }
    if (k > max_adjusted || last_n + l.n_bias > max_adjusted) {
        k = 0, min_p = 0;
    }
    if (!possible()) {
        last_n = 0;
        return;
    }
    biased.assign(l.bias_tokens, l.bias_tokens + l.n_bias);
    int32_t      n        = 0;
    const auto * suppress = llama_vocab_get_suppress_tokens(vocab, &n);
    biased.insert(biased.end(), suppress, suppress + n);
}

void ps::shortlist::accept(int32_t token) {
    if (last_n == 0) {
        return;
    }
    accepted.push_back(token);
    if (accepted.size() >= 2 * last_n) {
        accepted.erase(accepted.begin(), accepted.end() - static_cast<std::ptrdiff_t>(last_n));
    }
}

// Whatever happens to the adjusted tokens, the k best afterwards are among them and the k +
// adjusted best before.
bool ps::shortlist::fill(const float * row, size_t n, std::vector<llama_token_data> & out) {
    if (!possible()) {
        return false;
    }
    find_adjusted();
    const size_t wanted = std::max<size_t>(k, 1) + adjusted.size();
    if (wanted >= n / 4) {
        return false;
    }
    search.highest(row, n, wanted, out);
    if (out.empty()) {
        return false;
    }
    if (k == 0 && !fill_min_p(row, n, out)) {
        return false;
    }
    add_adjusted(row, n, out);
    return true;
}

void ps::shortlist::find_adjusted() {
    adjusted = biased;
    adjusted.insert(adjusted.end(), accepted.end() - static_cast<std::ptrdiff_t>(std::min(last_n, accepted.size())), accepted.end());
    std::sort(adjusted.begin(), adjusted.end());
    adjusted.erase(std::unique(adjusted.begin(), adjusted.end()), adjusted.end());
}

// For min-p: all that can be near enough to the best, which after penalties may be as low as the
// best of the other tokens.
bool ps::shortlist::fill_min_p(const float * row, size_t n, std::vector<llama_token_data> & out) {
    float best = highest_logit(out);
    if (!adjusted.empty()) {
        best = -INFINITY;
        for (const auto & d : out) {
            if (!std::binary_search(adjusted.begin(), adjusted.end(), d.id)) {
                best = std::max(best, d.logit);
            }
        }
    }
    const float least = best + std::log(min_p) - 1e-3f;  // a little more: the sampler itself draws the line
    search.at_least(row, n, least, out);
    return out.size() < n / 8;
}

// The adjusted tokens join the others, in token order.
void ps::shortlist::add_adjusted(const float * row, size_t n, std::vector<llama_token_data> & out) {
    const size_t found = out.size();
    for (const auto id : adjusted) {
        const auto end     = out.begin() + static_cast<std::ptrdiff_t>(found);
        const auto at      = std::lower_bound(out.begin(), end, id, [](const auto & d, int32_t token) { return d.id < token; });
        const bool present = at != end && at->id == id;
        if (!present && static_cast<size_t>(id) < n && clamp_logit(row[id]) > -INFINITY) {
            out.push_back({ id, clamp_logit(row[id]), 0.0f });
        }
    }
    std::inplace_merge(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(found), out.end(),
                       [](const auto & a, const auto & b) { return a.id < b.id; });
}
