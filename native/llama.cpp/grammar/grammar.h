// SPDX-License-Identifier: MIT
// A grammar that cannot take the process down: parsed by llama.cpp after a check of what its parser takes on trust, and
// followed with bounded work.
#pragma once

#include "grammar_machine.h"
#include "lexicon.h"
#include "shim.h"

#include <optional>

namespace ps {

class grammar {
  public:
    // Throws fault with the reason where the text is no grammar, or one whose expansion would not end.
    grammar(ps_model * model, const std::string & text, const std::string & root);

    // Sets the logit of every candidate the grammar rejects to -inf.
    void apply(llama_token_data_array * candidates);
    // One bit for each token, in words of 32: whether it may come next.
    const std::vector<uint32_t> & mask();
    bool allows(llama_token token);
    // Throws where the token does not fit. A grammar that became too ambiguous is left there until reset.
    void accept(llama_token token);
    // How many of the tokens fit, one after the other; nothing changes.
    size_t fits(const int32_t * tokens, size_t n);
    void   reset();

  private:
    // Where a text stands in the grammar, perhaps within a character.
    struct place {
        grammar_machine::state state = grammar_machine::dead;
        uint32_t               bits = 0, least = 0;  // of the character, and what it must be if it was not too long
        int                    left = 0;             // its bytes still to come
    };

    void                 begin();
    bool                 feed(place & p, uint8_t byte);
    bool                 feed(place & p, const std::string & piece);
    bool                 possible(const place & p);
    bool                 fits(llama_token token);
    std::optional<place> next(llama_token token);
    void                 fill(std::vector<uint32_t> & mask);

    const lexicon &        words;
    std::optional<grammar_machine> machine;
    place                  here;
    bool                   left = false;  // at an earlier token, by a fault
    std::unordered_map<grammar_machine::state, std::vector<uint32_t>> masks;  // of places between characters
    std::vector<place>     path;
    std::vector<uint32_t>  scratch;
};

// Checks a text and rules the way llama.cpp walks them. In grammar_check.cpp.
void check_grammar_text(const std::string & text);
void check_grammar_rules(const llama_grammar_rules & rules);

}  // namespace ps
