// SPDX-License-Identifier: MIT
// Grammars restrict which token may come next: a text in GBNF is checked, parsed by llama.cpp, and followed by an automaton whose work
// is bounded, so that no grammar can take the process down.
#pragma once

#include "automaton.h"
#include "sorted_vocabulary.h"

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace ps {

// The texts that answers follow now, parsed: many answers follow the same.
class grammar_texts {
  public:
    // text is GBNF, root the name of its first rule, "" is "root". Throws where the text is no grammar, or one whose expansion would not
    // end.
    std::shared_ptr<const grammar_rules> parsed(const llama_vocab * vocab, const std::string & text, const std::string & root);

  private:
    std::mutex                                                     mutex;
    std::unordered_map<size_t, std::weak_ptr<const grammar_rules>> known;  // by the hash of their keys
};

// A grammar and how far the text of an answer has come in it. Functions throw a fault where a grammar turns out too ambiguous to follow.
class grammar {
  public:
    // The vocabulary is kept as a reference.
    grammar(const sorted_vocabulary & tokens, std::shared_ptr<const grammar_rules> text);

    // Sets the logits of the candidates that may not come next to -inf.
    void apply(llama_token_data_array * candidates);
    // The tokens that may come next, one bit each, in words of 32.
    const std::vector<uint32_t> & mask();
    // Whether a token may come next.
    bool allows(llama_token token);
    // Moves on by a token, of whose text the first `skip` bytes are left out; throws where it may not come next. After a fault of another
    // kind the grammar is of no use until reset.
    void accept(llama_token token, size_t skip = 0);
    // How many of n tokens may come, one after the other, of whose first `skip` bytes are left out; nothing changes.
    size_t count_allowed(const int32_t * tokens, size_t n, size_t skip = 0);
    // Goes back to the beginning.
    void reset();

  private:
    // How far a text has come: a state of the automaton, and the UTF-8 character that is begun.
    struct position {
        grammar_automaton::state state = grammar_automaton::dead;
        uint32_t         code_point = 0;  // as far as it is read
        uint32_t         least      = 0;  // of its length: less is an overlong encoding
        int              missing    = 0;  // bytes of the character still to come
    };

    void                    begin_operation();
    bool                    read(position & p, uint8_t byte);
    bool                    read(position & p, const std::string & piece, size_t skip = 0);
    bool                    can_complete(const position & p);
    bool                    allows_here(llama_token token, size_t skip = 0);
    std::optional<position> after(llama_token token, size_t skip);
    void                    fill(std::vector<uint32_t> & mask);

    using mask_words = std::vector<uint32_t>;

    const sorted_vocabulary &        vocabulary;
    std::optional<grammar_automaton> automaton;
    position                         here;
    bool                             lost = false;  // a fault kept it from following an accepted token

    std::unordered_map<grammar_automaton::state, mask_words> masks;     // of positions between two characters
    std::vector<position>                                    prefixes;  // scratch of fill: after each byte of the token's text
    mask_words                                               scratch;
};

}  // namespace ps
