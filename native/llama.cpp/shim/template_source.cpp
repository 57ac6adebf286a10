// SPDX-License-Identifier: MIT
// What llama.cpp can be given as the source of a chat template.
#include "template_source.h"

#include "fault.h"

#include "jinja/lexer.h"
#include "jinja/parser.h"

#include <cstring>

namespace ps {

namespace {

constexpr size_t max_source = size_t(256) << 10;
constexpr int    max_depth  = 1000;

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

bool is_template(const std::string & source) {
    try {
        jinja::parse_from_tokens(jinja::lexer().tokenize(source));
        return true;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &) {
        return false;
    }
}

}  // namespace ps
