// SPDX-License-Identifier: MIT
// The short way through a chain: only candidates that can be chosen are made at all, from the row itself. From there on
// llama.cpp's own samplers run, on some dozens of candidates instead of the whole vocabulary, with the same result.
#include "sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

constexpr size_t most_touched = 2048;  // tokens that biases and penalties may change; beyond it the long way is as good

bool is(const llama_sampler * s, const char * name) { return std::strcmp(llama_sampler_name(s), name) == 0; }

// llama.cpp gives a sampler that does nothing a name that begins so.
bool is_off(const llama_sampler * s) { return llama_sampler_name(s)[0] == '?'; }

float highest(const std::vector<llama_token_data> & candidates) {
    float m = -INFINITY;
    for (const auto & d : candidates) {
        m = std::max(m, d.logit);
    }
    return m;
}

}  // namespace

// What changes few logits may come first; the first sampler that is none of those must be one that keeps few.
void ps::row_way::plan(const ps_sampler & s, const ps_sampler_params & p, const ps_sampler_lists & l) {
    size_t recent = 0;
    for (const auto & stage : s.filters) {
        const auto * f = stage.get();
        if (is_off(f) || is(f, "logit-bias")) {
            continue;
        }
        if (is(f, "penalties")) {
            recent = std::max(recent, static_cast<size_t>(p.repeat_last_n));
        } else if (is(f, "dry")) {
            recent = std::max(recent, static_cast<size_t>(p.dry_last_n));
        } else {
            k     = is(f, "top-k") ? static_cast<size_t>(p.top_k) : 0;
            min_p = is(f, "min-p") && p.min_keep <= 1 ? p.min_p : 0;
            break;
        }
    }
    if (k > most_touched || recent + l.n_bias > most_touched) {
        k = 0, min_p = 0;
    }
    if (open()) {
        touched.assign(l.bias_tokens, l.bias_tokens + l.n_bias);
        int32_t      n        = 0;
        const auto * suppress = llama_vocab_get_suppress_tokens(s.model->vocab, &n);
        touched.insert(touched.end(), suppress, suppress + n);
        window = recent;
    }
}

void ps::row_way::accept(int32_t token) {
    if (window == 0) {
        return;
    }
    recent.push_back(token);
    if (recent.size() >= 2 * window) {
        recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(window));
    }
}

// Whatever happens to the touched tokens, the k best afterwards are among them and the k + touched best before.
bool ps::row_way::candidates(const float * row, size_t n, std::vector<llama_token_data> & out) {
    if (!open()) {
        return false;
    }
    changed = touched;
    const size_t last = std::min(window, recent.size());
    changed.insert(changed.end(), recent.end() - static_cast<std::ptrdiff_t>(last), recent.end());
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());

    const size_t wanted = std::max<size_t>(k, 1) + changed.size();
    if (wanted >= n / 4) {
        return false;
    }
    select.top(row, n, wanted, out);
    if (out.empty()) {
        return false;
    }
    if (k == 0 && !reach(row, n, out)) {
        return false;
    }
    merge(row, n, out);
    return true;
}

// For min-p: everything that can be within reach of the best, which may be as low as the best of the untouched.
bool ps::row_way::reach(const float * row, size_t n, std::vector<llama_token_data> & out) {
    float best = highest(out);
    if (!changed.empty()) {
        best = -INFINITY;
        for (const auto & d : out) {
            if (!std::binary_search(changed.begin(), changed.end(), d.id)) {
                best = std::max(best, d.logit);
            }
        }
    }
    const float least = best + std::log(min_p) - 1e-3f;  // the sampler itself draws the line
    select.above(row, n, least, out);
    return out.size() < n / 8;
}

// The touched tokens join the others, in token order.
void ps::row_way::merge(const float * row, size_t n, std::vector<llama_token_data> & out) {
    const size_t found = out.size();
    for (const auto id : changed) {
        const auto at = std::lower_bound(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(found), id,
                                         [](const auto & d, int32_t token) { return d.id < token; });
        const bool there = at != out.begin() + static_cast<std::ptrdiff_t>(found) && at->id == id;
        if (!there && static_cast<size_t>(id) < n && tame(row[id]) > -INFINITY) {
            out.push_back({ id, tame(row[id]), 0.0f });
        }
    }
    std::inplace_merge(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(found), out.end(),
                       [](const auto & a, const auto & b) { return a.id < b.id; });
}
