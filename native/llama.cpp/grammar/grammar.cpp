// SPDX-License-Identifier: MIT
#include "grammar.h"

#include "check.h"
#include "shim/fault.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ps {

static constexpr size_t max_masks = 32;       // kept, for states that come again, such as the inside of a string
static constexpr size_t few_candidates = 128;  // up to so many are tried one by one, instead of by a mask

static std::shared_ptr<const grammar_rules> parse(const llama_vocab * vocab, const std::string & text, const std::string & root, std::string key) {
    check_grammar_text(text);
    llama_grammar_parser parser(vocab);
    try {
        // Rule by rule, because parser.parse() prints its reason to standard error.
        const char * rest = text.c_str();
        while (*(rest += std::strspn(rest, " \t\r\n"))) {
            if (*rest == '#') {
                rest += std::strcspn(rest, "\r\n");
                continue;
            }
            rest = parser.parse_rule(rest);
        }
    } catch (const std::exception & e) {
        const char * why = e.what();  // may quote all the rest of the text
        throw fault(PS_INVALID, "the grammar cannot be read: " + std::string(why, clip(why, std::strlen(why), 200)));
    }
    const auto found = parser.symbol_ids.find(root);
    if (found == parser.symbol_ids.end()) {
        throw fault(PS_INVALID, "the grammar has no rule \"" + root + "\"");
    }
    check_grammar_rules(parser.rules);
    return std::make_shared<const grammar_rules>(parser.rules, found->second, std::move(key));
}

std::shared_ptr<const grammar_rules> grammar_texts::parsed(const llama_vocab * vocab, const std::string & text, const std::string & root) {
    const std::string name = root.empty() ? "root" : root;
    const std::string key  = std::to_string(name.size()) + ":" + name + text;
    const size_t      hash = std::hash<std::string>()(key);
    const auto        find = [&]() -> std::shared_ptr<const grammar_rules> {
        const auto found  = known.find(hash);
        auto       shared = found != known.end() ? found->second.lock() : nullptr;
        return shared && shared->key == key ? shared : nullptr;
    };
    {
        const std::lock_guard<std::mutex> lock(mutex);
        if (auto shared = find()) {
            return shared;
        }
    }
    auto made = parse(vocab, text, name, key);  // others need not wait for that

    const std::lock_guard<std::mutex> lock(mutex);
    if (auto shared = find()) {  // which another has parsed meanwhile
        return shared;
    }
    for (auto at = known.begin(); at != known.end();) {
        at = at->second.expired() ? known.erase(at) : std::next(at);
    }
    known[hash] = made;
    return made;
}

grammar::grammar(const sorted_vocabulary & tokens, std::shared_ptr<const grammar_rules> text) : vocabulary(tokens) {
    automaton.emplace(std::move(text));
    reset();
}

void grammar::reset() {
    lost = false;
    here = {};
    begin_operation();
    here.state = automaton->start();
}

void grammar::begin_operation() {
    if (lost) {
        throw fault(PS_FAILED, "the grammar was left at an earlier token");
    }
    if (automaton->begin_operation(here.state)) {
        masks.clear();
    }
}

// Reads a byte of UTF-8, and with the last of a character goes a step in the automaton. Returns false where the byte does not fit.
bool grammar::read(position & p, uint8_t byte) {
    if (p.missing > 0) {
        p.code_point = p.code_point << 6 | (byte & 0x3f);
        if (byte >> 6 != 2) {
            return false;
        }
        p.missing--;
    } else if (byte < 0x80) {
        p.code_point = byte, p.least = 0;
    } else if (byte >= 0xc2 && byte < 0xe0) {
        p.code_point = byte & 0x1f, p.least = 0x80, p.missing = 1;
    } else if (byte >= 0xe0 && byte < 0xf0) {
        p.code_point = byte & 0x0f, p.least = 0x800, p.missing = 2;
    } else if (byte >= 0xf0 && byte < 0xf5) {
        p.code_point = byte & 0x07, p.least = 0x10000, p.missing = 3;
    } else {
        return false;
    }
    if (p.missing > 0) {
        return true;
    }
    if (p.code_point < p.least || p.code_point > 0x10ffff || byte == 0) {
        return false;
    }
    p.state = automaton->step(p.state, p.code_point);
    return p.state != grammar_automaton::dead;
}

// Whether the grammar takes a character that begins with the bytes read so far.
bool grammar::can_complete(const position & p) {
    if (p.missing == 0) {
        return true;
    }
    const int      bits = 6 * p.missing;
    const uint32_t low  = std::max(p.code_point << bits, p.least), high = p.code_point << bits | ((1u << bits) - 1);
    return low <= high && automaton->takes_one_of(p.state, low, high);
}

bool grammar::read(position & p, const std::string & piece, size_t skip) {
    for (size_t i = skip; i < piece.size(); i++) {
        if (!read(p, static_cast<uint8_t>(piece[i]))) {
            return false;
        }
    }
    return can_complete(p);
}

bool grammar::allows_here(llama_token token, size_t skip) {
    if (vocabulary.is_end[token]) {
        return here.missing == 0 && automaton->may_end(here.state);
    }
    position p = here;
    return !vocabulary.pieces[token].empty() && (automaton->takes_token(here.state, token) || read(p, vocabulary.pieces[token], skip));
}

bool grammar::allows(llama_token token) {
    begin_operation();
    return allows_here(token);
}

// The position after a token, which a grammar can take by its text, by its number (<[123]>), or both; nothing where it may not come.
std::optional<grammar::position> grammar::after(llama_token token, size_t skip) {
    if (!allows_here(token, skip)) {
        return std::nullopt;
    }
    position p = here;
    if (vocabulary.is_end[token]) {
        return p;
    }
    if (!read(p, vocabulary.pieces[token], skip)) {
        p = {};
    }
    if (automaton->takes_token(here.state, token)) {
        p.state = automaton->join(p.state, automaton->step_token(here.state, token));
    }
    return p;
}

void grammar::accept(llama_token token, size_t skip) {
    begin_operation();
    try {
        const auto p = after(token, skip);
        if (p) {
            here = *p;
            return;
        }
    } catch (...) {
        lost = true;
        throw;
    }
    throw fault(PS_FAILED, "token " + std::to_string(token) + " does not fit the grammar here");
}

size_t grammar::count_allowed(const int32_t * tokens, size_t n, size_t skip) {
    begin_operation();
    const struct restore {
        position & here;
        position   before;
        ~restore() { here = before; }
    } at_return{ here, here };
    for (size_t i = 0; i < n; i++) {
        const auto p = after(tokens[i], i == 0 ? skip : 0);
        if (!p) {
            return i;
        }
        here = *p;
    }
    return n;
}

// Walks all tokens in the order of their text: a beginning that several share is read once, and nothing behind one that does not fit.
void grammar::fill(std::vector<uint32_t> & mask) {
    const auto n = vocabulary.pieces.size();
    mask.assign((n + 31) / 32, 0);
    const auto allow = [&](llama_token t) { mask[static_cast<size_t>(t) / 32] |= 1u << (t % 32); };
    const auto named = automaton->named_tokens(here.state, n);
    prefixes.assign(vocabulary.longest + 1, here);
    for (size_t i = 0, fitting = 0; i < vocabulary.sorted.size(); i = vocabulary.next_at(i, fitting)) {
        const auto          t     = vocabulary.sorted[i];
        const std::string & piece = vocabulary.pieces[t];
        for (fitting = vocabulary.shared_prefix[i]; fitting < piece.size(); fitting++) {  // bytes that fit
            prefixes[fitting + 1] = prefixes[fitting];
            if (!read(prefixes[fitting + 1], static_cast<uint8_t>(piece[fitting]))) {
                break;
            }
        }
        if (fitting == piece.size() && can_complete(prefixes[fitting])) {
            allow(t);
        }
    }
    for (size_t i = 0; i < vocabulary.sorted.size() && !named.empty(); i++) {
        const auto t = vocabulary.sorted[i];
        if (named[static_cast<size_t>(t) / 32] >> (t % 32) & 1) {
            allow(t);
        }
    }
    if (here.missing == 0 && automaton->may_end(here.state)) {
        std::for_each(vocabulary.ends.begin(), vocabulary.ends.end(), allow);
    }
}

const std::vector<uint32_t> & grammar::mask() {
    begin_operation();
    if (here.missing > 0) {
        fill(scratch);
        return scratch;
    }
    const auto known = masks.find(here.state);
    if (known != masks.end()) {
        return known->second;
    }
    fill(scratch);
    if (masks.size() >= max_masks) {
        masks.clear();
    }
    return masks[here.state] = scratch;
}

void grammar::apply(llama_token_data_array * candidates) {
    begin_operation();
    const auto * all = candidates->size > few_candidates ? mask().data() : nullptr;
    for (size_t i = 0; i < candidates->size; i++) {
        auto & c = candidates->data[i];
        if (!(all ? all[static_cast<size_t>(c.id) / 32] >> (c.id % 32) & 1 : allows_here(c.id))) {
            c.logit = -INFINITY;
        }
    }
}

}  // namespace ps
