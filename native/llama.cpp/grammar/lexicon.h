// SPDX-License-Identifier: MIT
// The texts of a vocabulary in the order of their bytes, so that what begins alike is followed once.
#pragma once

#include "llama.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

struct lexicon {
    explicit lexicon(const llama_vocab * vocab);

    std::vector<std::string> pieces;  // by token; control tokens have their text
    std::vector<bool>        ends;    // by token: it ends a generation
    std::vector<int32_t>     order;   // tokens with a text, those that end a generation left out
    std::vector<uint32_t>    common;  // bytes that a token of order shares with the one before it
    size_t                   longest = 0;
};

}  // namespace ps
