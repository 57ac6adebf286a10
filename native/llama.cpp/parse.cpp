// SPDX-License-Identifier: MIT
// Part of llama-common, see parse.h.
#include "parse.h"

// Declares llama.cpp's own parse besides, by the name that it is built with.
#define parse_no_throw(text) parse_unchecked(text); static common_json parse_no_throw(text)
#include "json.h"
#undef parse_no_throw

common_json common_json::parse(const std::string & text) {
    if (const auto check = penstock::check_json.load()) {
        check(text);
    }
    return parse_unchecked(text);
}
