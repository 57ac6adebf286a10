// SPDX-License-Identifier: MIT
// The candidates of a row that a chain can choose from, where the chain begins by keeping few:
// top-k or min-p. llama.cpp's samplers then run on some dozens of candidates instead of the whole
// vocabulary, with the same result.
#pragma once

#include "shim/penstock.h"
#include "top_logits.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ps {

struct sampler_deleter {
    void operator()(llama_sampler * s) const { llama_sampler_free(s); }
};

using sampler_ptr = std::unique_ptr<llama_sampler, sampler_deleter>;

class shortlist {
public:
    shortlist() = default; // the whole row for every chain
    shortlist(const std::vector<sampler_ptr> & filters, const llama_vocab * vocab, const ps_sampler_params & p, const ps_sampler_lists & l);

    // Writes the candidates of a row in token order; returns false where the chain has to see the
    // whole row.
    bool fill(const float * row, size_t n, std::vector<llama_token_data> & out);

    void accept(int32_t token);
    void reset() { accepted.clear(); }

private:
    bool possible() const { return k > 0 || min_p > 0; }
    void find_adjusted();
    bool fill_min_p(const float * row, size_t n, std::vector<llama_token_data> & out);
    void add_adjusted(const float * row, size_t n, std::vector<llama_token_data> & out);

    // What the first sampler that narrows keeps: k candidates, or those within min_p of the best.
    size_t k     = 0;
    float  min_p = 0;

    size_t               last_n = 0;  // accepted tokens that penalties look at
    std::vector<int32_t> accepted;
    std::vector<int32_t> biased;
    std::vector<int32_t> adjusted;    // tokens whose logits biases and penalties may change now, sorted
    top_logits           search;
};

}  // namespace ps
