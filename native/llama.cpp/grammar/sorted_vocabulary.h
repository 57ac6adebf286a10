// SPDX-License-Identifier: MIT
// The tokens of a vocabulary sorted by their text, so that a walk over all of them follows a common beginning once.
#pragma once

#include "llama.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

struct sorted_vocabulary {
    explicit sorted_vocabulary(const llama_vocab * vocab);

    std::vector<std::string> pieces;         // by token; control tokens have their text
    std::vector<bool>        is_end;         // by token: it ends a generation
    std::vector<int32_t>     sorted;         // tokens with a text that do not end a generation
    std::vector<uint32_t>    shared_prefix;  // by index in sorted: bytes in common with the token before
    size_t                   longest = 0;    // bytes of the longest piece
};

}  // namespace ps
