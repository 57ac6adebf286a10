// SPDX-License-Identifier: MIT
// What media.cpp, which makes pieces of pictures and sounds, and projector.cpp, which encodes them,
// share.
#pragma once

#include "shim.h"

#include "kernels/pause.h"

#include "mtmd.h"

#include <vector>

struct ps_projector {
    ps_model *        model = nullptr;
    mtmd::context_ptr context;
    ps_projector_info info{};
    ps::counted       count{ ps::live_projectors };

    // The running encode: who is asked whether it goes on, and what came of it.
    ps_progress_fn go_on = nullptr;
    uintptr_t      user  = 0;
    int            nodes = 0;  // of its graph since the last question
    int            asked = 0;
    bool           stopped = false;

    bool           on_cpu = false;  // nothing else computes, so that it can pause
    penstock_pause pause;
};

struct ps_media {
    mtmd::input_chunks_ptr      chunks;
    std::vector<ps_media_piece> pieces;  // one a chunk
    bool                        counted_only = false;
    ps::counted                 count{ ps::live_media };
};
