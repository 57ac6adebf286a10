// SPDX-License-Identifier: MIT
// Part of penstock_common, see parse.h.
#include "parse.h"

// Declares llama.cpp's own functions besides, by the names that they are built with.
#define parse_no_throw(text) parse_unchecked(text); static common_json parse_no_throw(text)
#include "json.h"
#undef parse_no_throw
#define load(data) load_unmarked(data); void load(data)
#include "peg-parser.h"
#undef load

namespace {

thread_local bool own = false;  // what is parsed was written by llama.cpp

}  // namespace

common_json common_json::parse(const std::string & text) {
    const auto check = penstock::check_json.load();
    if (check && !own) {
        check(text);
    }
    return parse_unchecked(text);
}

void common_peg_arena::load(const std::string & data) {
    struct mark {
        mark() { own = true; }
        ~mark() { own = false; }
    } marked;
    load_unmarked(data);
}
