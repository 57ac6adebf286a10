// SPDX-License-Identifier: MIT
// Sampling: a chain of llama.cpp's samplers chooses a token from a row of logits. Filters narrow or
// reweight the candidates, the selector chooses one of them.
#pragma once

#include "shortlist.h"

#include <memory>
#include <vector>

namespace ps {

// Throw a fault that names the parameter where one is out of range.
std::vector<sampler_ptr> make_filters(const llama_vocab * vocab, const ps_sampler_params & p, const ps_sampler_lists & l);
sampler_ptr              make_selector(const llama_vocab * vocab, const ps_sampler_params & p);

class chain {
public:
    chain(const llama_vocab * vocab, const ps_sampler_params & p, const ps_sampler_lists & l);

    // The token chosen from a row of logits, which is left as it was.
    llama_token sample(const float * row, size_t size);

    // Runs the chain on a row, or on n candidates of it. Returns the chosen token, or -1 where the
    // chain has no selector.
    llama_token apply(const float * row, size_t size);
    llama_token apply(const int32_t * ids, const float * logits, size_t n);
    // Takes what the filters need of a row, which apply_taken then runs on. Returns false where
    // they have to see the whole row.
    bool        take(const float * row, size_t size);
    llama_token apply_taken();
    // What apply left: how many candidates, whether they are the whole row in token order, and the
    // candidates themselves.
    size_t n_candidates() const { return view.size; }
    bool   is_whole_row() const;
    void   copy_candidates(int32_t * ids, float * logits, size_t n) const;

    void accept(llama_token token);
    // Makes history the accepted tokens, whose first n_prompt are the prompt.
    void rewind(const int32_t * history, size_t n, size_t n_prompt);

    void use_whole_rows() { few = {}; }  // instead of the shortlist, which gives the same tokens

private:
    void        check_token(llama_token token) const;
    void        load(const float * row, size_t size);
    void        load_row(const float * row, size_t size);
    void        load_candidates(const int32_t * ids, const float * logits, size_t n);
    llama_token run();
    void        run(llama_sampler * s);

    size_t                        n_vocab;
    std::vector<sampler_ptr>      filters;
    sampler_ptr                   selector;  // null where the chain only narrows
    shortlist                     few;
    std::vector<llama_token_data> candidates;
    llama_token_data_array        view{};        // of candidates
    bool                          taken = false; // they are those of take
    size_t                        look_back;     // accepted tokens that can matter to a filter
};

}  // namespace ps
