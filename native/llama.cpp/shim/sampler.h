// SPDX-License-Identifier: MIT
// A sampler chain: filters that narrow the candidates, a selector that chooses one, a grammar that has the last word.
#pragma once

#include "grammar.h"

#include <memory>
#include <vector>

namespace ps {

struct sampler_deleter {
    void operator()(llama_sampler * s) const { llama_sampler_free(s); }
};

using sampler_ptr = std::unique_ptr<llama_sampler, sampler_deleter>;

}  // namespace ps

struct ps_sampler {
    ps_model *                    model = nullptr;
    std::vector<ps::sampler_ptr>  filters;
    ps::sampler_ptr               selector;  // null where the chain only narrows
    std::unique_ptr<ps::grammar>  grammar;   // null where there is none
    std::vector<llama_token_data> candidates;
    llama_token_data_array        view{};
    size_t                        look_back = 0;  // accepted tokens that can matter to a filter
    ps::counted                   count{ ps::live_samplers };
};
