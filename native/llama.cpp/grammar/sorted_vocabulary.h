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
    std::vector<int32_t>     ends;           // the tokens that do
    std::vector<int32_t>     sorted;         // tokens with a text that do not end a generation
    std::vector<uint32_t>    shared_prefix;  // by index in sorted: bytes in common with the token before
    std::vector<uint32_t>    next_shorter;   // by index in sorted: the next whose shared prefix is shorter
    size_t                   longest = 0;    // bytes of the longest piece

    // The next index after i of a token that has at most `length` bytes in common with the token at i.
    size_t next_at(size_t i, size_t length) const {
        for (i++; i < sorted.size() && shared_prefix[i] > length;) {
            i = next_shorter[i];
        }
        return i;
    }
};

}  // namespace ps
