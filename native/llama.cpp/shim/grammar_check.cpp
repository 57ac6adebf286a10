// SPDX-License-Identifier: MIT
// What llama.cpp's grammar code takes on trust. Its parser recurses once a parenthesis and counts {m,n} down without
// looking which is larger; its search for left recursion and its expansion of rules take every path through rules that
// may be empty, and there can be exponentially many.
#include "grammar.h"

#include <algorithm>
#include <vector>

namespace ps {

static constexpr size_t max_text  = size_t(1) << 20;
static constexpr int    max_depth = 200;
static constexpr double max_paths = 20000;
static constexpr size_t max_copies = size_t(1) << 20;  // bytes of literals and classes that repetitions write out

[[noreturn]] static void refuse(const std::string & why) { throw fault(PS_INVALID, why); }

// llama.cpp takes the length of a character from its first byte alone, and would skip over a closing quote.
static bool is_utf8(const std::string & text) {
    int left = 0;
    for (const char c : text) {
        const auto byte = static_cast<uint8_t>(c);
        if (left > 0) {
            if (byte >> 6 != 2) {
                return false;
            }
            left--;
        } else if (byte >= 0x80) {
            left = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
            if (byte < 0xc2 || byte > 0xf4) {
                return false;
            }
        }
    }
    return left == 0;
}

// Skips a literal or a character class, which may hold anything.
static size_t skip_quoted(const std::string & text, size_t i) {
    const char close = text[i] == '"' ? '"' : ']';
    for (i++; i < text.size() && text[i] != close; i++) {
        if (text[i] == '\\') {
            i++;
        }
    }
    return i;
}

// The largest number in braces; the parser refuses or ignores those above 2000.
static size_t times(const std::string & text, size_t open) {
    size_t most = 1;
    for (size_t i = open + 1, n = 0; i < text.size() && text[i] != '}'; i++) {
        n    = text[i] >= '0' && text[i] <= '9' ? std::min(n * 10 + static_cast<size_t>(text[i] - '0'), size_t(2000)) : 0;
        most = std::max(most, n);
    }
    return most;
}

static void check_repetition(const std::string & text, size_t open) {
    const size_t comma = text.find(',', open), close = text.find('}', open);
    if (comma == std::string::npos || close == std::string::npos || comma > close) {
        return;
    }
    const auto number = [&](size_t from, size_t to) {
        std::string digits;
        for (size_t i = from; i < to; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                digits += text[i];
            }
        }
        digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
        return digits;
    };
    const std::string least = number(open + 1, comma), most = number(comma + 1, close);
    const bool        open_ended = text.find_first_of("0123456789", comma) >= close;
    if (!open_ended && (most.size() < least.size() || (most.size() == least.size() && most < least))) {
        refuse("a repetition asks for at least " + least + " and at most " + (most.empty() ? "0" : most));
    }
}

void check_grammar_text(const std::string & text) {
    if (text.size() > max_text) {
        refuse("the grammar has " + std::to_string(text.size()) + " bytes; at most 1 MiB is taken");
    }
    if (text.find('\0') != std::string::npos) {
        refuse("the grammar holds a zero byte");
    }
    if (!is_utf8(text)) {
        refuse("the grammar is not valid UTF-8");
    }
    int    depth = 0;
    size_t item = 0, copies = 0;  // bytes of the last literal or class, and of all copies
    for (size_t i = 0; i < text.size(); i++) {
        const size_t from = i;
        switch (text[i]) {
            case '"': case '[':
                i    = skip_quoted(text, i);
                item = i - from;
                break;
            case '#': i = std::min(text.find('\n', i), text.size()); break;
            case '{':
                check_repetition(text, i);
                item *= times(text, i);
                if ((copies += item) > max_copies) {
                    refuse("the grammar repeats texts of more than 1 MiB in all");
                }
                i = std::min(text.find('}', i), text.size());
                break;
            case '(':
                if (++depth > max_depth) {
                    refuse("the grammar nests parentheses more than " + std::to_string(max_depth) + " deep");
                }
                break;
            case ')':
                depth--;
                item = 1;
                break;
            case ' ': case '\t': case '\r': case '\n': break;
            default: item = 1; break;
        }
    }
}

static bool ends(const llama_grammar_element & e) {
    return e.type == LLAMA_GRETYPE_END || e.type == LLAMA_GRETYPE_ALT;
}

// For every rule, whether it can match nothing: a fixed point.
static std::vector<bool> nullable_rules(const llama_grammar_rules & rules) {
    std::vector<bool> nullable(rules.size());
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t r = 0; r < rules.size(); r++) {
            bool empty = true;
            for (const auto & e : rules[r]) {
                if (ends(e)) {
                    if (empty && !nullable[r]) {
                        nullable[r] = changed = true;
                    }
                    empty = true;
                } else if (e.type != LLAMA_GRETYPE_RULE_REF || !nullable[e.value]) {
                    empty = false;
                }
            }
        }
    }
    return nullable;
}

// The rules that can stand at the left end of each rule, once for each way to get there.
static std::vector<std::vector<uint32_t>> left_edges(const llama_grammar_rules & rules) {
    const auto                         nullable = nullable_rules(rules);
    std::vector<std::vector<uint32_t>> edges(rules.size());
    for (size_t r = 0; r < rules.size(); r++) {
        bool left = true;
        for (const auto & e : rules[r]) {
            if (ends(e)) {
                left = true;
            } else if (left && e.type == LLAMA_GRETYPE_RULE_REF) {
                edges[r].push_back(e.value);
                left = nullable[e.value];
            } else {
                left = false;
            }
        }
    }
    return edges;
}

void check_grammar_rules(const llama_grammar_rules & rules) {
    for (const auto & rule : rules) {
        if (rule.empty()) {
            refuse("the grammar uses a rule it does not define");
        }
        for (const auto & e : rule) {
            if (e.type == LLAMA_GRETYPE_RULE_REF && (e.value >= rules.size() || rules[e.value].empty())) {
                refuse("the grammar uses a rule it does not define");
            }
        }
    }
    const auto          edges = left_edges(rules);
    std::vector<double> paths(rules.size(), 0);  // 0: not seen, -1: being looked at
    std::vector<std::pair<uint32_t, size_t>> stack;
    for (uint32_t r = 0; r < rules.size(); r++) {
        if (paths[r] == 0) {
            stack.push_back({ r, 0 });
            paths[r] = -1;
        }
        while (!stack.empty()) {
            const uint32_t rule = stack.back().first;
            if (stack.back().second < edges[rule].size()) {
                const uint32_t next = edges[rule][stack.back().second++];
                if (paths[next] == -1) {
                    refuse("the grammar is left-recursive: a rule can begin with itself");
                }
                if (paths[next] == 0) {
                    stack.push_back({ next, 0 });
                    paths[next] = -1;
                }
                continue;
            }
            paths[rule] = 1;
            for (const uint32_t next : edges[rule]) {
                paths[rule] += paths[next];
            }
            if (paths[rule] > max_paths || stack.size() > 10000) {
                refuse("the grammar is too ambiguous: one rule can begin in more than 20000 ways");
            }
            stack.pop_back();
        }
    }
}

}  // namespace ps
