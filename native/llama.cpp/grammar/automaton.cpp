// SPDX-License-Identifier: MIT
#include "automaton.h"

#include "shim/fault.h"

#include <algorithm>

namespace ps {

static constexpr size_t max_stacks = 5000;     // of a state; an ambiguous grammar doubles them every token
static constexpr size_t max_work   = 1000000;  // stacks expanded in one operation: some tenths of a second
static constexpr size_t max_kept   = 1000000;  // nodes, entries of sets and steps before all but one state are forgotten

static constexpr uint32_t unknown = UINT32_MAX;  // a step not taken yet

static bool is_range_end(const llama_grammar_element & e) { return e.type == LLAMA_GRETYPE_CHAR_RNG_UPPER; }

// Whether an element continues the character class before it.
static bool continues_class(const llama_grammar_element & e) { return is_range_end(e) || e.type == LLAMA_GRETYPE_CHAR_ALT; }

std::atomic<int64_t> grammar_rules::living{ 0 };

grammar_rules::grammar_rules(const llama_grammar_rules & all, uint32_t root, std::string key) : root(root), key(std::move(key)) {
    for (const auto & rule : all) {
        rules.push_back({ static_cast<uint32_t>(elements.size()) });
        for (const auto & e : rule) {
            elements.push_back(e);
            if (e.type == LLAMA_GRETYPE_ALT) {
                rules.back().push_back(static_cast<uint32_t>(elements.size()));
            }
        }
    }
    for (size_t i = 0; i < elements.size(); i++) {
        const auto & e = elements[i];
        if (e.type == LLAMA_GRETYPE_CHAR || e.type == LLAMA_GRETYPE_CHAR_NOT || e.type == LLAMA_GRETYPE_CHAR_ALT) {
            bounds.push_back(e.value);
            bounds.push_back((is_range_end(elements[i + 1]) ? elements[i + 1].value : e.value) + 1);
        }
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    for (uint32_t c = 0; c < 128; c++) {
        ascii[c] = static_cast<uint32_t>(std::upper_bound(bounds.begin(), bounds.end(), c) - bounds.begin());
    }
    living++;
}

grammar_automaton::grammar_automaton(std::shared_ptr<const grammar_rules> text) : text(std::move(text)) { forget(); }

void grammar_automaton::forget() {
    nodes    = { { 0, 0 } };
    sets     = { {} };
    states   = { { {}, dead } };
    steps    = { {} };
    n_kept   = 0;
    node_ids.clear();
}

bool grammar_automaton::begin_operation(state & current) {
    work = 0;
    if (n_kept < max_kept) {
        return false;
    }
    const auto old = std::move(nodes);
    const auto set = sets[current];
    forget();
    std::vector<stack> moved;
    for (stack s : set) {
        std::vector<uint32_t> path;
        for (; s != 0; s = old[s].below) {
            path.push_back(old[s].element);
        }
        stack made = 0;
        for (auto element = path.rbegin(); element != path.rend(); element++) {
            made = push(made, *element);
        }
        moved.push_back(made);
    }
    current = state_of(moved);
    return true;
}

bool grammar_rules::ends_rule(uint32_t at) const {
    return elements[at].type == LLAMA_GRETYPE_END || elements[at].type == LLAMA_GRETYPE_ALT;
}

// The element behind this one. A character class is several entries.
uint32_t grammar_rules::next_element(uint32_t at) const {
    for (at++; continues_class(elements[at]); at++) {
    }
    return at;
}

// Whether an element takes some code point of a range.
bool grammar_rules::matches(uint32_t at, uint32_t first, uint32_t last) const {
    const auto type = elements[at].type;
    if (type == LLAMA_GRETYPE_CHAR_ANY) {
        return true;
    }
    if (type != LLAMA_GRETYPE_CHAR && type != LLAMA_GRETYPE_CHAR_NOT) {
        return false;
    }
    for (const uint32_t next = next_element(at); at < next; at++) {
        const uint32_t low = elements[at].value, high = is_range_end(elements[at + 1]) ? elements[++at].value : low;
        if (type == LLAMA_GRETYPE_CHAR ? low <= last && first <= high : low <= first && last <= high) {
            return type == LLAMA_GRETYPE_CHAR;
        }
    }
    return type == LLAMA_GRETYPE_CHAR_NOT;
}

uint32_t grammar_rules::class_of(uint32_t code_point) const {
    if (code_point < 128) {
        return ascii[code_point];
    }
    return static_cast<uint32_t>(std::upper_bound(bounds.begin(), bounds.end(), code_point) - bounds.begin());
}

// Puts an element on a stack, unless it is the end of its rule.
grammar_automaton::stack grammar_automaton::push(stack below, uint32_t at) {
    if (text->ends_rule(at)) {
        return below;
    }
    const auto [found, made] = node_ids.try_emplace(uint64_t(below) << 32 | at, static_cast<stack>(nodes.size()));
    if (made) {
        nodes.push_back({ below, at });
        n_kept++;
    }
    return found->second;
}

// The stack after its top element was read.
grammar_automaton::stack grammar_automaton::pop(stack s) {
    const node top = nodes[s];
    return push(top.below, text->next_element(top.element));
}

void grammar_automaton::spend(size_t n) {
    if ((work += n) > max_work) {
        throw fault(PS_FAILED, "the grammar is too ambiguous: to follow it takes too long");
    }
}

// Replaces a rule on top of a stack by its alternatives until characters or tokens are on top. A rule that begins with itself does so with
// the same stack again (see check_grammar_rules).
void grammar_automaton::expand(stack s, std::vector<stack> & out) {
    std::vector<stack> open{ s };
    while (!open.empty()) {
        s = open.back();
        open.pop_back();
        if (!expanded.insert(s).second) {
            continue;
        }
        spend(1);
        if (s == 0 || text->elements[nodes[s].element].type != LLAMA_GRETYPE_RULE_REF) {
            out.push_back(s);
            continue;
        }
        const auto & rule = text->rules[text->elements[nodes[s].element].value];
        const stack  rest = pop(s);
        for (const uint32_t at : rule) {
            open.push_back(push(rest, at));
        }
    }
}

grammar_automaton::state grammar_automaton::state_of(std::vector<stack> & set) {
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    if (set.size() > max_stacks) {
        throw fault(PS_FAILED, "the grammar is too ambiguous: more than 5000 readings of the text are open");
    }
    const auto [found, made] = states.try_emplace(set, static_cast<state>(sets.size()));
    if (made) {
        n_kept += set.size() + 1;
        sets.push_back(set);
        steps.emplace_back();
    }
    return found->second;
}

grammar_automaton::state grammar_automaton::start() {
    std::vector<stack> set;
    expanded.clear();
    for (const uint32_t at : text->rules[text->root]) {
        expand(push(0, at), set);
    }
    return state_of(set);
}

grammar_automaton::state grammar_automaton::step(state from, uint32_t code_point) {
    const uint32_t c = text->class_of(code_point);
    if (!steps[from].empty() && steps[from][c] != unknown) {
        return steps[from][c];
    }
    std::vector<stack> set;
    expanded.clear();
    for (const stack s : std::vector<stack>(sets[from])) {
        if (s == 0) {
            continue;
        }
        const uint32_t at = nodes[s].element;
        spend(text->next_element(at) - at);
        if (text->matches(at, code_point, code_point)) {
            expand(pop(s), set);
        }
    }
    const state to = state_of(set);
    if (steps[from].empty()) {
        spend(text->bounds.size() / 16);
        n_kept += text->bounds.size() + 1;
        steps[from].resize(text->bounds.size() + 1, unknown);
    }
    return steps[from][c] = to;
}

static bool names(const llama_grammar_element & e, llama_token token) {
    return (e.type == LLAMA_GRETYPE_TOKEN && e.value == static_cast<uint32_t>(token)) ||
           (e.type == LLAMA_GRETYPE_TOKEN_NOT && e.value != static_cast<uint32_t>(token));
}

grammar_automaton::state grammar_automaton::step_token(state from, llama_token token) {
    std::vector<stack> set;
    expanded.clear();
    for (const stack s : std::vector<stack>(sets[from])) {
        if (s != 0 && names(text->elements[nodes[s].element], token)) {
            expand(pop(s), set);
        }
    }
    return state_of(set);
}

grammar_automaton::state grammar_automaton::join(state a, state b) {
    std::vector<stack> set = sets[a];
    set.insert(set.end(), sets[b].begin(), sets[b].end());
    return state_of(set);
}

bool grammar_automaton::takes_token(state s, llama_token token) const {
    return std::any_of(sets[s].begin(), sets[s].end(),
                       [&](stack t) { return t != 0 && names(text->elements[nodes[t].element], token); });
}

std::vector<uint32_t> grammar_automaton::named_tokens(state s, size_t n) const {
    std::vector<uint32_t> mask;
    int64_t               except = -1;  // the one token that the text->elements seen so far exclude
    for (const stack t : sets[s]) {
        const auto & e = text->elements[nodes[t].element];
        if (t == 0 || (e.type != LLAMA_GRETYPE_TOKEN && e.type != LLAMA_GRETYPE_TOKEN_NOT)) {
            continue;
        }
        const bool named = e.value < n;
        if (e.type == LLAMA_GRETYPE_TOKEN) {
            mask.resize((n + 31) / 32);
            if (named) {
                mask[e.value / 32] |= 1u << (e.value % 32);
            }
        } else if (except < 0) {
            const bool already = named && !mask.empty() && (mask[e.value / 32] >> (e.value % 32) & 1);
            mask.assign((n + 31) / 32, ~0u);
            except = e.value;
            if (named && !already) {
                mask[e.value / 32] &= ~(1u << (e.value % 32));
            }
        } else if (except != e.value && static_cast<size_t>(except) < n) {
            mask[except / 32] |= 1u << (except % 32);
        }
    }
    return mask;
}

bool grammar_automaton::takes_one_of(state s, uint32_t first, uint32_t last) {
    return std::any_of(sets[s].begin(), sets[s].end(), [&](stack t) {
        if (t == 0) {
            return false;
        }
        const uint32_t at = nodes[t].element;
        spend(text->next_element(at) - at);
        return text->matches(at, first, last);
    });
}

}  // namespace ps
