// SPDX-License-Identifier: MIT
// Pictures and sounds as pieces of a prompt. libmtmd splits and scales them; what it would assert
// is checked before.
#include "media.h"

#include <algorithm>
#include <cmath>

namespace {

void check_picture(const ps_projector * p, uint32_t width, uint32_t height) {
    if (!p->info.vision) {
        throw ps::fault(PS_UNSUPPORTED, "the model cannot see: its projector is for sounds only");
    }
    const auto [shorter, longer] = std::minmax(width, height);
    const auto shape             = std::to_string(width) + " x " + std::to_string(height);
    if (shorter == 0 || longer > PS_MEDIA_SIDE || uint64_t(width) * height > PS_MEDIA_PIXELS) {
        throw ps::fault(PS_INVALID, "a picture of " + shape + " pixels; a side has 1 to " + std::to_string(PS_MEDIA_SIDE) +
                                        ", and both make at most " + std::to_string(PS_MEDIA_PIXELS));
    }
    if (uint64_t(shorter) * PS_MEDIA_ASPECT < longer) {
        throw ps::fault(PS_INVALID, "a picture of " + shape + " pixels; the longer side has at most " + std::to_string(PS_MEDIA_ASPECT) +
                                        " times the pixels of the shorter one");
    }
}

void check_sound(const ps_projector * p, const float * samples, size_t n) {
    if (!p->info.audio) {
        throw ps::fault(PS_UNSUPPORTED, "the model cannot hear: its projector is for pictures only");
    }
    if (n == 0 || n > PS_MEDIA_SAMPLES) {
        throw ps::fault(PS_INVALID, "a sound of " + std::to_string(n) + " samples; it must have 1 to " + std::to_string(PS_MEDIA_SAMPLES));
    }
    const auto * bad = std::find_if_not(samples, samples + n, [](float x) { return std::isfinite(x); });
    if (bad != samples + n) {
        throw ps::fault(PS_INVALID, "sample " + std::to_string(bad - samples) + " of a sound is no finite number");
    }
}

// The columns of a picture's grid, or 0 where its positions count up like those of tokens.
// ps_decode_embeddings makes positions of that, so any other arrangement is refused.
int32_t columns_of(const ps_projector * p, const mtmd_input_chunk * chunk) {
    if (!p->info.mrope || mtmd_input_chunk_get_type(chunk) != MTMD_INPUT_CHUNK_TYPE_IMAGE) {
        return 0;
    }
    const auto * picture = mtmd_input_chunk_get_tokens_image(chunk);
    const auto   n       = static_cast<uint32_t>(mtmd_input_chunk_get_n_tokens(chunk));
    const auto   at      = [&](uint32_t i) { return mtmd_image_tokens_get_decoder_pos(picture, 0, i); };
    const auto   is      = [&](uint32_t i, mtmd_decoder_pos want) {
        const auto got = at(i);
        return got.t == want.t && got.x == want.x && got.y == want.y && got.z == want.z;
    };
    uint32_t columns = 1;
    while (columns < n && at(columns).y == 0) {
        columns++;
    }
    bool grid = n % columns == 0, line = true;
    for (uint32_t i = 0; i < n; i++) {
        grid = grid && is(i, { 0, i % columns, i / columns, 0 });
        line = line && is(i, { i, i, i, i });
    }
    if (!grid && !line) {
        throw ps::fault(PS_UNSUPPORTED, "the projector lays positions out in a way that is not known here");
    }
    return grid ? static_cast<int32_t>(columns) : 0;
}

ps_media_piece piece_of(const ps_projector * p, const mtmd_input_chunk * chunk) {
    ps_media_piece piece{};
    piece.n         = mtmd_input_chunk_get_n_tokens(chunk);
    piece.positions = mtmd_input_chunk_get_n_pos(chunk);
    if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT) {
        piece.tokens = mtmd_input_chunk_get_tokens_text(chunk, &piece.n);
        if (std::any_of(piece.tokens, piece.tokens + piece.n, [&](int32_t t) { return t < 0 || t >= p->model->n_vocab; })) {
            throw ps::fault(PS_UNSUPPORTED, "the model's vocabulary lacks tokens that the projector puts around a picture: they do not belong together");
        }
        return piece;
    }
    if (piece.n == 0 || piece.n > (1u << 20)) {
        throw ps::fault(PS_UNSUPPORTED, "the projector makes " + std::to_string(piece.n) + " embeddings");
    }
    piece.columns = columns_of(p, chunk);
    piece.whole   = mtmd_decode_use_non_causal(p->context.get(), chunk);
    return piece;
}

std::unique_ptr<ps_media> divide(const ps_projector * p, const mtmd_bitmap * bitmap) {
    ps::log_capture capture;
    auto            media = std::make_unique<ps_media>();
    media->chunks.reset(mtmd_input_chunks_init());
    const mtmd_input_part   part{ nullptr, bitmap };
    const mtmd_input_part * parts = &part;
    if (mtmd_tokenize_from_parts(p->context.get(), media->chunks.get(), &parts, 1, false) != 0) {
        throw ps::fault(PS_FAILED, capture.reason("libmtmd refused it and gave no reason"));
    }
    const size_t n = mtmd_input_chunks_size(media->chunks.get());
    for (size_t i = 0; i < n; i++) {
        media->pieces.push_back(piece_of(p, mtmd_input_chunks_get(media->chunks.get(), i)));
    }
    return media;
}

}  // namespace

int32_t ps_projector_picture(const ps_projector * p, uint32_t width, uint32_t height, const uint8_t * rgb, ps_media ** out,
                             ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        check_picture(p, width, height);
        const mtmd::bitmap_ptr bitmap(mtmd_bitmap_init(width, height, rgb));
        auto                   media = divide(p, bitmap.get());
        media->counted_only          = rgb == nullptr;
        *out                         = media.release();
    });
}

int32_t ps_projector_sound(const ps_projector * p, const float * samples, size_t n, ps_media ** out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        check_sound(p, samples, n);
        // A tenth of a second is enough for every window; some preprocessors assert on less.
        std::vector<float> padded;
        if (const auto least = static_cast<size_t>(std::max(1, p->info.sample_rate / 10)); n < least) {
            padded.assign(samples, samples + n);
            padded.resize(least);
            samples = padded.data();
            n       = least;
        }
        const mtmd::bitmap_ptr bitmap(mtmd_bitmap_init_from_audio(n, samples));
        *out = divide(p, bitmap.get()).release();
    });
}

void ps_media_free(ps_media * media) noexcept { delete media; }

size_t ps_media_size(const ps_media * media) noexcept { return media->pieces.size(); }

int32_t ps_media_piece_at(const ps_media * media, size_t index, ps_media_piece * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] { *out = media->pieces.at(index); });
}
