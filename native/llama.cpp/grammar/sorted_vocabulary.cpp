// SPDX-License-Identifier: MIT
#include "sorted_vocabulary.h"

#include "common.h"

#include <algorithm>

namespace ps {

static uint32_t common_prefix(const std::string & a, const std::string & b) {
    const auto n = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
    return static_cast<uint32_t>(std::mismatch(a.begin(), a.begin() + n, b.begin()).first - a.begin());
}

sorted_vocabulary::sorted_vocabulary(const llama_vocab * vocab) {
    const int32_t n = llama_vocab_n_tokens(vocab);
    for (llama_token t = 0; t < n; t++) {
        pieces.push_back(common_token_to_piece(vocab, t, true));
        is_end.push_back(llama_vocab_is_eog(vocab, t));
        longest = std::max(longest, pieces.back().size());
        if (is_end.back()) {
            ends.push_back(t);
        }
        if (!is_end.back() && !pieces.back().empty()) {
            sorted.push_back(t);
        }
    }
    std::sort(sorted.begin(), sorted.end(), [&](llama_token a, llama_token b) { return pieces[a] < pieces[b]; });
    for (size_t i = 0; i < sorted.size(); i++) {
        shared_prefix.push_back(i == 0 ? 0 : common_prefix(pieces[sorted[i - 1]], pieces[sorted[i]]));
    }
    next_shorter.resize(sorted.size());
    for (size_t i = sorted.size(); i-- > 0;) {
        uint32_t next = static_cast<uint32_t>(i) + 1;
        while (next < sorted.size() && shared_prefix[next] >= shared_prefix[i]) {
            next = next_shorter[next];
        }
        next_shorter[i] = next;
    }
}

}  // namespace ps
