// SPDX-License-Identifier: MIT
// A sampler chain: filters that narrow the candidates, a selector that chooses one, a grammar that has the last word.
#pragma once

#include "grammar.h"
#include "select.h"

#include <memory>
#include <vector>

namespace ps {

struct sampler_deleter {
    void operator()(llama_sampler * s) const { llama_sampler_free(s); }
};

using sampler_ptr = std::unique_ptr<llama_sampler, sampler_deleter>;

// The short way from a row to the candidates a chain can choose from; sampler_row.cpp says how.
class row_way {
public:
    void plan(const ps_sampler & s, const ps_sampler_params & p, const ps_sampler_lists & l);

    // What the chain needs to see of the row, in token order; false where only the whole row will do.
    bool candidates(const float * row, size_t n, std::vector<llama_token_data> & out);

    void accept(int32_t token);
    void reset() { recent.clear(); }

private:
    bool open() const { return k > 0 || min_p > 0; }
    bool reach(const float * row, size_t n, std::vector<llama_token_data> & out);
    void merge(const float * row, size_t n, std::vector<llama_token_data> & out);

    size_t               k      = 0;  // the chain keeps so many,
    float                min_p  = 0;  // or what is so near to the best; both 0: no short way
    size_t               window = 0;  // accepted tokens that penalties look at
    std::vector<int32_t> touched;     // tokens with a bias
    std::vector<int32_t> recent;
    std::vector<int32_t> changed;     // of this row: touched and recent
    selector             select;
};

}  // namespace ps

struct ps_sampler {
    ps_model *                    model = nullptr;
    std::vector<ps::sampler_ptr>  filters;
    ps::sampler_ptr               selector;  // null where the chain only narrows
    std::unique_ptr<ps::grammar>  grammar;   // null where there is none
    std::vector<llama_token_data> candidates;
    llama_token_data_array        view{};
    ps::row_way                   way;
    size_t                        look_back = 0;  // accepted tokens that can matter to a filter
    ps::counted                   count{ ps::live_samplers };
};
