// SPDX-License-Identifier: MIT
// Refuses grammars that llama.cpp's parser, or a walk over their rules, would not come through. Both throw a fault with the reason.
#pragma once

#include "llama-grammar.h"

#include <string>

namespace ps {

void check_grammar_text(const std::string & text);           // before it is parsed
void check_grammar_rules(const llama_grammar_rules & rules);  // after that

}  // namespace ps
