// SPDX-License-Identifier: MIT
// A grammar as an automaton over code points. Its states are made when a text first reaches them, and then kept.
#pragma once

#include "llama-grammar.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ps {

// What a text in GBNF says. It does not change, so that all answers that follow the same text share it.
struct grammar_rules {
    // key tells it from others.
    grammar_rules(const llama_grammar_rules & rules, uint32_t root, std::string key);
    ~grammar_rules() { living--; }
    grammar_rules(const grammar_rules &) = delete;

    bool     ends_rule(uint32_t element) const;
    uint32_t next_element(uint32_t element) const;
    bool     matches(uint32_t element, uint32_t first, uint32_t last) const;
    uint32_t class_of(uint32_t code_point) const;

    std::vector<llama_grammar_element> elements;    // of all rules, end to end
    std::vector<std::vector<uint32_t>> rules;       // by rule: the first element of each alternative
    std::vector<uint32_t>              bounds;      // between the classes: the first code point of each but the first
    uint32_t                           ascii[128];  // the classes of the first code points
    uint32_t                           root;        // rule
    std::string                        key;

    static std::atomic<int64_t> living;
};

// A state is a set of stacks, one for each way in which the grammar can have produced the text so far. A stack is what is still to
// come: on top an element of a rule, below it where to go on in the rule that used that one. Equal stacks are stored once, so a
// text costs the same work in however many ways it can be produced. Code points that no element tells apart form a class.
class grammar_automaton {
  public:
    using state = uint32_t;
    static constexpr state dead = 0;  // nothing may come, not even the end

    explicit grammar_automaton(std::shared_ptr<const grammar_rules> text);

    // Begins an operation, whose work is bounded: beyond that it throws a fault. Where too many states are kept, all but `current` are
    // forgotten; then it returns true, and current has a new number.
    bool begin_operation(state & current);

    state start();
    state step(state from, uint32_t code_point);
    state step_token(state from, llama_token token);  // by elements that name tokens, such as <[123]>
    state join(state a, state b);                     // all that either may go on with

    bool may_end(state s) const { return !sets[s].empty() && sets[s][0] == 0; }
    bool takes_token(state s, llama_token token) const;
    bool takes_one_of(state s, uint32_t first, uint32_t last);  // some code point of a range
    // The first n tokens, a bit for each that an element names; empty where no element names tokens.
    std::vector<uint32_t> named_tokens(state s, size_t n) const;

  private:
    using stack = uint32_t;  // the index of its top node; 0: nothing is left to come
    struct node {
        stack    below;
        uint32_t element;  // index in elements
    };

    stack    push(stack below, uint32_t element);
    stack    pop(stack s);
    void     spend(size_t n);
    void     expand(stack s, std::vector<stack> & out);
    state    state_of(std::vector<stack> & set);
    void     forget();

    std::shared_ptr<const grammar_rules> text;
    std::vector<node>                   nodes;
    std::unordered_map<uint64_t, stack> node_ids;       // by below and element
    std::vector<std::vector<stack>>     sets;           // by state, sorted
    std::map<std::vector<stack>, state> states;         // by set
    std::vector<std::vector<state>>     steps;          // by state and class; empty where no step was taken
    std::unordered_set<stack>           expanded;       // in this step
    size_t                              work = 0;       // of this operation
    size_t                              n_kept = 0;     // nodes, entries of sets, steps
};

}  // namespace ps
