// SPDX-License-Identifier: MIT
// What llama.cpp's grammar code takes on trust. Its parser recurses at each parenthesis and counts {m,n} down without comparing the
// two; its search for left recursion and its expansion of rules follow every path through rules that may be empty, of which there
// can be exponentially many.
#include "check.h"

#include "shim/fault.h"

#include <algorithm>
#include <vector>

namespace ps {

static constexpr size_t max_text  = size_t(1) << 20;
static constexpr int    max_depth = 200;
static constexpr double max_paths = 20000;
static constexpr size_t max_chain = 10000;
static constexpr size_t max_copies = size_t(1) << 20;  // bytes of literals and classes that repetitions write out
static constexpr size_t max_rules  = 100000;           // with those that the parser makes of groups and repetitions
static constexpr size_t max_names  = size_t(16) << 20; // bytes: each rule that is made repeats the name of the one it is in

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

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; }

// Counts the rules that llama.cpp's parser makes of a text.
struct rule_count {
    size_t rules = 0;
    size_t names = 0;  // bytes of all names
    size_t name  = 0;  // bytes of the name of the rule that is being read

    void add(size_t n) {
        rules += n;
        names += n * (name + 8);
        if (rules > max_rules) {
            refuse("the grammar has more than 100000 rules, with those that groups and repetitions become");
        }
        if (names > max_names) {
            refuse("the grammar's rules have names of more than 16 MiB in all; give rules with groups and repetitions shorter ones");
        }
    }
};

// The largest number in braces, at most 2000; the parser refuses or ignores those above.
static size_t max_repetitions(const std::string & text, size_t open) {
    size_t most = 1;
    for (size_t i = open + 1, n = 0; i < text.size() && text[i] != '}'; i++) {
        n    = is_digit(text[i]) ? std::min(n * 10 + static_cast<size_t>(text[i] - '0'), size_t(2000)) : 0;
        most = std::max(most, n);
    }
    return most;
}

// Refuses a {m,n} with m above n. It looks no further than the closing brace, because a text may hold very many.
static void check_repetition(const std::string & text, size_t open) {
    const size_t close = std::min(text.find('}', open), text.size());
    const size_t comma = std::find(text.begin() + open, text.begin() + close, ',') - text.begin();
    if (comma == close || close == text.size()) {
        return;
    }
    const auto number = [&](size_t from, size_t to) {
        std::string digits;
        for (size_t i = from; i < to; i++) {
            if (is_digit(text[i])) {
                digits += text[i];
            }
        }
        digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
        return digits;
    };
    const std::string least = number(open + 1, comma), most = number(comma + 1, close);
    const bool        open_ended = most.empty() && std::none_of(text.begin() + comma, text.begin() + close, is_digit);
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
    size_t word = 0;              // bytes of the last word: the name of a rule if "::=" follows
    rule_count count;
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
                count.add(max_repetitions(text, i));
                item *= max_repetitions(text, i);
                if ((copies += item) > max_copies) {
                    refuse("the grammar repeats texts of more than 1 MiB in all");
                }
                i = std::min(text.find('}', i), text.size());
                break;
            case '*': case '+': case '?': count.add(1); break;
            case ':':
                if (text.compare(i, 3, "::=") == 0) {
                    count.name = word;
                    count.add(1);
                }
                break;
            case '(':
                count.add(1);
                if (++depth > max_depth) {
                    refuse("the grammar nests parentheses more than " + std::to_string(max_depth) + " deep");
                }
                break;
            case ')':
                depth--;
                item = 1;
                break;
            case ' ': case '\t': case '\r': case '\n': break;
            default:
                item = 1;
                for (word = 0; i < text.size() && is_word(text[i]); i++) {
                    word++;
                }
                i -= word > 0 ? 1 : 0;
                break;
        }
    }
}

static bool ends_alternative(const llama_grammar_element & e) {
    return e.type == LLAMA_GRETYPE_END || e.type == LLAMA_GRETYPE_ALT;
}

// For every rule, whether it can match nothing. An alternative is looked at again only when a rule it uses turned out to match
// nothing, so the work is proportional to the grammar.
static std::vector<bool> nullable_rules(const llama_grammar_rules & rules) {
    struct alternative {
        uint32_t rule;
        size_t   open;  // elements not known to match nothing
    };
    std::vector<bool>                  nullable(rules.size());
    std::vector<alternative>           all;
    std::vector<std::vector<uint32_t>> uses(rules.size());  // by rule: the alternatives that use it
    std::vector<uint32_t>              found;               // nullable rules whose uses are still to be looked at
    const auto                         settle = [&](const alternative & a) {
        if (a.open == 0 && !nullable[a.rule]) {
            nullable[a.rule] = true;
            found.push_back(a.rule);
        }
    };
    for (uint32_t r = 0; r < rules.size(); r++) {
        alternative current{ r, 0 };
        for (const auto & e : rules[r]) {
            if (ends_alternative(e)) {
                settle(current);
                all.push_back(current);
                current.open = 0;
                continue;
            }
            current.open++;
            if (e.type == LLAMA_GRETYPE_RULE_REF) {
                uses[e.value].push_back(static_cast<uint32_t>(all.size()));
            }
        }
    }
    while (!found.empty()) {
        const uint32_t r = found.back();
        found.pop_back();
        for (const uint32_t a : uses[r]) {
            all[a].open--;
            settle(all[a]);
        }
    }
    return nullable;
}

// A way in which a rule can begin with another.
struct left_edge {
    uint32_t rule;
    // Nothing follows it, and something that may be empty comes before: to begin with itself in such ways only leads a rule back to
    // where it was. llama.cpp writes (x?)+ so.
    bool harmless;
};

using left_edges = std::vector<std::vector<left_edge>>;

// For each rule, the rules that can stand at its left end, once for each way to get there.
static left_edges left_edges_of(const llama_grammar_rules & rules) {
    const auto nullable = nullable_rules(rules);
    left_edges edges(rules.size());
    for (size_t r = 0; r < rules.size(); r++) {
        bool left = true, first = true;
        for (size_t i = 0; i < rules[r].size(); i++) {
            const auto & e = rules[r][i];
            if (ends_alternative(e)) {
                left = first = true;
                continue;
            }
            left = left && e.type == LLAMA_GRETYPE_RULE_REF;
            if (left) {
                edges[r].push_back({ e.value, !first && ends_alternative(rules[r][i + 1]) });
                left = nullable[e.value];
            }
            first = false;
        }
    }
    return edges;
}

// Numbers the groups of rules that can begin with one another (Tarjan's algorithm, without recursion).
static std::vector<uint32_t> groups_of(const left_edges & edges) {
    constexpr uint32_t    none = UINT32_MAX;
    std::vector<uint32_t> order(edges.size(), none), low(edges.size()), group(edges.size(), none), path;
    std::vector<size_t>   next(edges.size(), 0);
    std::vector<uint32_t> calls;
    uint32_t              seen = 0;
    for (uint32_t start = 0; start < edges.size(); start++) {
        if (order[start] == none) {
            calls.push_back(start);
        }
        while (!calls.empty()) {
            const uint32_t r = calls.back();
            if (order[r] == none) {
                order[r] = low[r] = seen++;
                path.push_back(r);
            }
            if (next[r] < edges[r].size()) {
                const uint32_t to = edges[r][next[r]].rule;
                if (order[to] == none) {
                    calls.push_back(to);  // and this edge again afterwards
                    continue;
                }
                if (group[to] == none) {
                    low[r] = std::min(low[r], low[to]);
                }
                next[r]++;
                continue;
            }
            calls.pop_back();
            if (low[r] == order[r]) {
                for (uint32_t member = none; member != r; path.pop_back()) {
                    member        = path.back();
                    group[member] = r;
                }
            }
        }
    }
    return group;
}

// Refuses rules that begin with themselves, but for harmless ways, and leaves those out.
static void cut_left_recursion(left_edges & edges) {
    const auto group = groups_of(edges);
    for (uint32_t r = 0; r < edges.size(); r++) {
        const auto within = [&](const left_edge & e) { return group[e.rule] == group[r]; };
        for (const auto & e : edges[r]) {
            if (within(e) && !e.harmless) {
                refuse("the grammar is left-recursive: a rule can begin with itself");
            }
        }
        edges[r].erase(std::remove_if(edges[r].begin(), edges[r].end(), within), edges[r].end());
    }
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
    auto edges = left_edges_of(rules);
    cut_left_recursion(edges);
    std::vector<double>                      paths(rules.size(), 0);  // 0: not seen, -1: on the stack
    std::vector<std::pair<uint32_t, size_t>> stack;
    for (uint32_t r = 0; r < rules.size(); r++) {
        if (paths[r] == 0) {
            stack.push_back({ r, 0 });
            paths[r] = -1;
        }
        while (!stack.empty()) {
            const uint32_t rule = stack.back().first;
            if (stack.back().second < edges[rule].size()) {
                const uint32_t next = edges[rule][stack.back().second++].rule;
                if (paths[next] == 0) {
                    stack.push_back({ next, 0 });
                    paths[next] = -1;
                }
                continue;
            }
            paths[rule] = 1;
            for (const auto & e : edges[rule]) {
                paths[rule] += paths[e.rule];
            }
            if (paths[rule] > max_paths) {
                refuse("the grammar is too ambiguous: one rule can begin in more than 20000 ways");
            }
            if (stack.size() > max_chain) {
                refuse("the grammar is too deep: more than 10000 rules begin with one another");
            }
            stack.pop_back();
        }
    }
}

}  // namespace ps
