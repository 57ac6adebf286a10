// SPDX-License-Identifier: MIT
// A grammar that cannot take the process down: checked before llama.cpp expands it, and dead after a fault.
#pragma once

#include "shim.h"

#include "llama-grammar.h"

namespace ps {

class grammar {
  public:
    // Throws fault with the reason where the text is no grammar, or one whose expansion would not end.
    grammar(const ps_model * model, std::string text, std::string root);
    ~grammar();
    grammar(const grammar &) = delete;

    // Sets the logit of every candidate the grammar rejects to -inf.
    void apply(llama_token_data_array * candidates);
    bool allows(llama_token token);
    void accept(llama_token token);
    void reset();

  private:
    void                build();
    const ps_model *    model;
    const std::string   root;
    llama_grammar_rules rules;
    uint32_t            start = 0;
    llama_grammar *     state = nullptr;  // null after a fault, until reset
};

// Checks rules the way llama.cpp walks them. In grammar_check.cpp.
void check_grammar_text(const std::string & text);
void check_grammar_rules(const llama_grammar_rules & rules);

}  // namespace ps
