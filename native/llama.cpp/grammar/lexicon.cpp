// SPDX-License-Identifier: MIT
#include "lexicon.h"

#include "shim.h"

#include <algorithm>

namespace ps {

static std::string piece_of(const llama_vocab * vocab, llama_token token) {
    std::string piece(32, 0);
    int32_t     n = llama_token_to_piece(vocab, token, piece.data(), static_cast<int32_t>(piece.size()), 0, true);
    if (n < 0) {
        piece.resize(static_cast<size_t>(-n));
        n = llama_token_to_piece(vocab, token, piece.data(), static_cast<int32_t>(piece.size()), 0, true);
    }
    piece.resize(static_cast<size_t>(std::max(n, 0)));
    return piece;
}

lexicon::lexicon(const llama_vocab * vocab) {
    const int32_t n = llama_vocab_n_tokens(vocab);
    for (llama_token t = 0; t < n; t++) {
        pieces.push_back(piece_of(vocab, t));
        ends.push_back(llama_vocab_is_eog(vocab, t));
        longest = std::max(longest, pieces.back().size());
        if (!ends.back() && !pieces.back().empty()) {
            order.push_back(t);
        }
    }
    std::sort(order.begin(), order.end(), [&](llama_token a, llama_token b) { return pieces[a] < pieces[b]; });
    const std::string * before = nullptr;
    for (const llama_token t : order) {
        const std::string & piece = pieces[t];
        size_t              same  = 0;
        while (before && same < piece.size() && same < before->size() && piece[same] == (*before)[same]) {
            same++;
        }
        common.push_back(static_cast<uint32_t>(same));
        before = &piece;
    }
}

}  // namespace ps

const ps::lexicon & ps_model::words() {
    std::call_once(once, [&] { texts = std::make_shared<const ps::lexicon>(vocab); });
    return *texts;
}
