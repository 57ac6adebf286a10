// SPDX-License-Identifier: MIT
// Sampling: a chain of llama.cpp's samplers chooses a token from a row of logits. Filters narrow or reweight the candidates, the selector
// chooses one of them, and a grammar has the last word.
#pragma once

#include "shortlist.h"

#include "grammar/grammar.h"

#include <memory>
#include <vector>

namespace ps {

// Throw a fault that names the parameter where one is out of range.
std::vector<sampler_ptr> make_filters(const llama_vocab * vocab, const ps_sampler_params & p, const ps_sampler_lists & l);
sampler_ptr              make_selector(const llama_vocab * vocab, const ps_sampler_params & p);

class chain {
public:
    // Ignores the grammar of l.
    chain(const llama_vocab * vocab, const ps_sampler_params & p, const ps_sampler_lists & l);
    // An answer follows g, which has come through n tokens of the prompt first.
    void set_grammar(std::unique_ptr<ps::grammar> g, const int32_t * prefix, size_t n);
    // A grammar that rests restricts nothing and is told no token.
    void rest_grammar(bool rest) { rests = rest; }
    // Tells the grammar alone, whether it rests or not, of tokens; of the first one's text, `skip` bytes are left out.
    void accept_grammar(const int32_t * tokens, size_t n, size_t skip);

    // The token chosen from a row of logits, which is left as it was.
    llama_token sample(const float * row, size_t size);

    // Runs the chain on a row, or on n candidates of it. Returns the chosen token, or -1 where the chain has no selector.
    llama_token apply(const float * row, size_t size);
    llama_token apply(const float * row, size_t size, const int32_t * ids, const float * logits, size_t n);
    // Takes what the filters need of a row, which apply_taken then runs on. Returns false where they have to see the whole row.
    bool        take(const float * row, size_t size);
    llama_token apply_taken();
    // What apply left: how many candidates, whether they are the whole row in token order, and the candidates themselves.
    size_t n_candidates() const { return view.size; }
    bool   is_whole_row() const;
    void   copy_candidates(int32_t * ids, float * logits, size_t n) const;

    void accept(llama_token token);
    // Makes history the accepted tokens. The grammar does not see the first n_prompt of them.
    void rewind(const int32_t * history, size_t n, size_t n_prompt);
    // How many of n tokens the grammar allows, whether it rests or not, one after the other; all where there is none.
    size_t count_allowed(const int32_t * tokens, size_t n, size_t skip);

    void use_whole_rows() { few = {}; }  // instead of the shortlist, which gives the same tokens

private:
    void        check_token(llama_token token) const;
    void        check_tokens(const int32_t * tokens, size_t n) const;
    void        reset_grammar();
    bool        guards() const { return grammar && !rests; }
    void        load(const float * row, size_t size);
    void        load_row(const float * row, size_t size);
    void        load_allowed(const float * row, size_t size);
    void        load_candidates(const int32_t * ids, const float * logits, size_t n);
    void        run(llama_sampler * s);
    void        run_filters();
    llama_token select();
    llama_token select_allowed(const float * row, size_t size);
    bool        any_left() const;
    void        accept(llama_token token, bool generated);

    size_t                        n_vocab;
    std::vector<sampler_ptr>      filters;
    sampler_ptr                   selector;  // null where the chain only narrows
    std::unique_ptr<ps::grammar>  grammar;   // null where there is none
    std::vector<llama_token>      prefix;    // the tokens of the prompt that the grammar begins with
    bool                          rests = false;
    shortlist                     few;
    std::vector<llama_token_data> candidates;
    llama_token_data_array        view{};        // of candidates
    bool                          taken = false; // they are those of take
    size_t                        look_back;     // accepted tokens that can matter to a filter
};

}  // namespace ps
