// SPDX-License-Identifier: MIT
// A grammar as an automaton over code points: its states are found when they are first walked to, and then kept.
#pragma once

#include "llama-grammar.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ps {

// A state is a set of stacks: the ways in which the grammar can have come to what was read. A stack is what is still to
// be read: an element of a rule, and below it where its rule was used. Equal stacks are one, so the same text costs the
// same work in however many ways it can be read. Code points that all elements treat alike are one class.
class grammar_machine {
  public:
    using state = uint32_t;
    static constexpr state dead = 0;  // nothing fits, not even the end

    grammar_machine(const llama_grammar_rules & rules, uint32_t root);

    // Begins an operation, which may do a bounded amount of work: beyond it, fault. Where many states are kept, all but
    // last are forgotten: then it returns true, and last has a new number.
    bool begin(state & last);

    state start();
    state step(state from, uint32_t code_point);
    state step_token(state from, llama_token token);  // through elements that name tokens
    state join(state a, state b);

    bool may_end(state s) const { return !sets[s].empty() && sets[s][0] == 0; }
    bool takes_token(state s, llama_token token) const;
    bool takes_one_of(state s, uint32_t least, uint32_t most);  // some code point of a range
    // A bit for each of n tokens that an element names; empty where no element does.
    std::vector<uint32_t> named_tokens(state s, size_t n) const;

  private:
    using stack = uint32_t;  // 0: nothing is left to read
    struct node {
        stack    below;
        uint32_t at;  // of elements
    };

    bool     ends(uint32_t at) const;
    uint32_t after(uint32_t at) const;
    bool     matches(uint32_t at, uint32_t least, uint32_t most) const;
    uint32_t class_of(uint32_t code_point) const;
    stack    push(stack below, uint32_t at);
    stack    pop(stack s);
    void     spend(size_t n);
    void     expand(stack s, std::vector<stack> & out);
    state    keep(std::vector<stack> & set);
    void     forget();

    std::vector<llama_grammar_element>            elements;
    std::vector<std::vector<uint32_t>>            rules;   // where the alternatives of each begin
    std::vector<uint32_t>                         bounds;  // of the classes
    uint32_t                                      ascii[128];  // the classes of the first code points
    uint32_t                                      root;
    std::vector<node>                             nodes;
    std::unordered_map<uint64_t, stack>           node_ids;
    std::vector<std::vector<stack>>               sets;  // by state, each in order
    std::map<std::vector<stack>, state>           states;
    std::vector<std::vector<state>>               steps;  // by state and class; empty where no step was taken
    std::unordered_set<stack>                     seen;   // by expand
    size_t                                        work = 0, kept = 0;
};

}  // namespace ps
