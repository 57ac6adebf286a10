// SPDX-License-Identifier: MIT
#include "grammar.h"

#include <algorithm>
#include <cmath>

namespace ps {

static constexpr size_t max_masks = 32;   // kept for states that come again, as that within a string does
static constexpr size_t few       = 128;  // so many candidates are looked at one by one

static llama_grammar_rules parse(const llama_vocab * vocab, const std::string & text, const std::string & root, uint32_t & start) {
    check_grammar_text(text);
    llama_grammar_parser parser(vocab);
    try {
        // parser.parse() would print its reason to standard error.
        const char * rest = text.c_str();
        while (*(rest += std::strspn(rest, " \t\r\n"))) {
            if (*rest == '#') {
                rest += std::strcspn(rest, "\r\n");
                continue;
            }
            rest = parser.parse_rule(rest);
        }
    } catch (const std::exception & e) {
        const char * why = e.what();  // may quote all that follows
        throw fault(PS_INVALID, "the grammar cannot be read: " + std::string(why, clip(why, std::strlen(why), 200)));
    }
    const auto found = parser.symbol_ids.find(root);
    if (found == parser.symbol_ids.end()) {
        throw fault(PS_INVALID, "the grammar has no rule \"" + root + "\"");
    }
    start = found->second;
    check_grammar_rules(parser.rules);
    return std::move(parser.rules);
}

grammar::grammar(ps_model * model, const std::string & text, const std::string & root) : words(model->words()) {
    uint32_t   start = 0;
    const auto rules = parse(model->vocab, text, root.empty() ? "root" : root, start);
    machine.emplace(rules, start);
    reset();
}

void grammar::reset() {
    left = false;
    here = {};
    begin();
    here.state = machine->start();
}

void grammar::begin() {
    if (left) {
        throw fault(PS_FAILED, "the grammar was left at an earlier token");
    }
    if (machine->begin(here.state)) {
        masks.clear();
    }
}

bool grammar::feed(place & p, uint8_t byte) {
    if (p.left > 0) {
        p.bits = p.bits << 6 | (byte & 0x3f);
        if (byte >> 6 != 2) {
            return false;
        }
        p.left--;
    } else if (byte < 0x80) {
        p.bits = byte, p.least = 0;
    } else if (byte >= 0xc2 && byte < 0xe0) {
        p.bits = byte & 0x1f, p.least = 0x80, p.left = 1;
    } else if (byte >= 0xe0 && byte < 0xf0) {
        p.bits = byte & 0x0f, p.least = 0x800, p.left = 2;
    } else if (byte >= 0xf0 && byte < 0xf5) {
        p.bits = byte & 0x07, p.least = 0x10000, p.left = 3;
    } else {
        return false;
    }
    if (p.left > 0) {
        return true;
    }
    if (p.bits < p.least || p.bits > 0x10ffff || byte == 0) {
        return false;
    }
    p.state = machine->step(p.state, p.bits);
    return p.state != grammar_machine::dead;
}

// Whether some character that begins with the bytes so far can come.
bool grammar::possible(const place & p) {
    if (p.left == 0) {
        return true;
    }
    const int      bits = 6 * p.left;
    const uint32_t low  = std::max(p.bits << bits, p.least), high = p.bits << bits | ((1u << bits) - 1);
    return low <= high && machine->takes_one_of(p.state, low, high);
}

bool grammar::feed(place & p, const std::string & piece) {
    for (const char c : piece) {
        if (!feed(p, static_cast<uint8_t>(c))) {
            return false;
        }
    }
    return possible(p);
}

bool grammar::fits(llama_token token) {
    if (words.ends[token]) {
        return here.left == 0 && machine->may_end(here.state);
    }
    place p = here;
    return !words.pieces[token].empty() && (machine->takes_token(here.state, token) || feed(p, words.pieces[token]));
}

bool grammar::allows(llama_token token) {
    begin();
    return fits(token);
}

// Where a token leads, by its text and by its number.
std::optional<grammar::place> grammar::next(llama_token token) {
    if (!fits(token)) {
        return std::nullopt;
    }
    place p = here;
    if (words.ends[token]) {
        return p;
    }
    if (!feed(p, words.pieces[token])) {
        p = {};
    }
    if (machine->takes_token(here.state, token)) {
        p.state = machine->join(p.state, machine->step_token(here.state, token));
    }
    return p;
}

void grammar::accept(llama_token token) {
    begin();
    try {
        const auto p = next(token);
        if (p) {
            here = *p;
            return;
        }
    } catch (...) {
        left = true;
        throw;
    }
    throw fault(PS_FAILED, "token " + std::to_string(token) + " does not fit the grammar here");
}

size_t grammar::fits(const int32_t * tokens, size_t n) {
    begin();
    const struct restore {
        place & here;
        place   before;
        ~restore() { here = before; }
    } back{ here, here };
    for (size_t i = 0; i < n; i++) {
        const auto p = next(tokens[i]);
        if (!p) {
            return i;
        }
        here = *p;
    }
    return n;
}

// Follows all texts at once: what begins alike is followed once, and not at all where its beginning does not fit.
void grammar::fill(std::vector<uint32_t> & mask) {
    const auto n = words.pieces.size();
    mask.assign((n + 31) / 32, 0);
    const auto allow = [&](llama_token t) { mask[static_cast<size_t>(t) / 32] |= 1u << (t % 32); };
    const auto named = machine->named_tokens(here.state, n);
    path.assign(words.longest + 1, here);
    size_t alive = 0;  // bytes of the last text that fit
    for (size_t i = 0; i < words.order.size(); i++) {
        const auto          t     = words.order[i];
        const std::string & piece = words.pieces[t];
        if (words.common[i] <= alive) {
            for (alive = words.common[i]; alive < piece.size(); alive++) {
                path[alive + 1] = path[alive];
                if (!feed(path[alive + 1], static_cast<uint8_t>(piece[alive]))) {
                    break;
                }
            }
            if (alive == piece.size() && possible(path[alive])) {
                allow(t);
            }
        }
        if (!named.empty() && (named[static_cast<size_t>(t) / 32] >> (t % 32) & 1)) {
            allow(t);
        }
    }
    for (size_t t = 0; t < n && here.left == 0 && machine->may_end(here.state); t++) {
        if (words.ends[t]) {
            allow(static_cast<llama_token>(t));
        }
    }
}

const std::vector<uint32_t> & grammar::mask() {
    begin();
    if (here.left > 0) {
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
    begin();
    const auto * all = candidates->size > few ? mask().data() : nullptr;
    for (size_t i = 0; i < candidates->size; i++) {
        auto & c = candidates->data[i];
        if (!(all ? all[static_cast<size_t>(c.id) / 32] >> (c.id % 32) & 1 : fits(c.id))) {
            c.logit = -INFINITY;
        }
    }
}

}  // namespace ps
