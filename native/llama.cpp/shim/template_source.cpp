// SPDX-License-Identifier: MIT
// What is wrong with the source of a chat template, and where.
#include "template_source.h"

#include "fault.h"

#include "jinja/lexer.h"
#include "jinja/parser.h"

#include <algorithm>
#include <cstring>

namespace ps {

namespace {

constexpr size_t max_source = size_t(256) << 10;
constexpr int    max_depth  = 1000;

[[noreturn]] void fail(const std::string & source, size_t at, const std::string & reason) {
    const auto lines = 1 + std::count(source.begin(), source.begin() + static_cast<ptrdiff_t>(std::min(at, source.size())), '\n');
    throw fault(PS_FAILED, "line " + std::to_string(lines) + ": " + reason);
}

std::string first_line(const std::exception & e) {
    const std::string text = e.what();
    return text.substr(0, text.find('\n'));
}

// The error of the parser for the first n tokens; empty where there is none.
std::string error_of(const jinja::lexer_result & all, size_t n) {
    try {
        jinja::parse_from_tokens({ { all.tokens.begin(), all.tokens.begin() + static_cast<ptrdiff_t>(n) }, all.source });
        return "";
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception & e) {
        return first_line(e);
    }
}

// The lexer shows, after its reason, what stands around the place: "...before after...".
size_t place_of(const std::string & shown, const std::string & source) {
    const size_t begin = shown.find("\n...") + 4, end = shown.find("...\n", begin), caret = shown.rfind('^');
    if (begin < 4 || end == std::string::npos || caret == std::string::npos) {
        return source.size();
    }
    std::string around = shown.substr(begin, end - begin);
    for (size_t at; (at = around.find("↵")) != std::string::npos;) {
        around.replace(at, std::strlen("↵"), "\n");
    }
    return source.find(around) + (caret - (end + 4) - 3);
}

}  // namespace

void check_template_size(const std::string & source) {
    if (source.size() > max_source) {
        throw fault(PS_INVALID, "the chat template has " + std::to_string(source.size()) + " bytes; at most 256 KiB is taken");
    }
    int depth = 0, run = 0;  // of brackets, and of operators in a row: the parser recurses at each
    for (size_t i = 0; i < source.size(); i++) {
        const char c = source[i];
        if (c == '(' || c == '[' || c == '{') {
            depth++;
        } else if (c == ')' || c == ']' || c == '}') {
            depth = depth > 0 ? depth - 1 : 0;
        }
        run = std::strchr("-+|.~*/%<>=!", c) ? run + 1 : 0;
        if (depth > max_depth || run > max_depth) {
            throw fault(PS_INVALID, "the chat template nests more than " + std::to_string(max_depth) + " deep");
        }
    }
}

void check_template_syntax(const std::string & source) {
    jinja::lexer_result all;
    try {
        all = jinja::lexer().tokenize(source);
    } catch (const jinja::lexer_exception & e) {
        fail(source, place_of(e.what(), source), first_line(e));
    }
    const std::string error = error_of(all, all.tokens.size());
    if (error.empty()) {
        return;
    }
    size_t low = 0, high = all.tokens.size();  // the first low tokens give another error or none, the first high give this one
    while (high - low > 1 && error.find("EOF") == std::string::npos) {
        const size_t middle = low + (high - low) / 2;
        (error_of(all, middle) == error ? high : low) = middle;
    }
    fail(all.source, all.tokens[high - 1].pos, error);
}

}  // namespace ps
