// SPDX-License-Identifier: MIT
#include "pause.h"

#include "ggml-cpu-impl.h"
#include "ggml.h"

namespace {

// A flag of a tensor, which ggml has no use for. Then extra points to the pause.
constexpr int32_t can_pause = 1 << 24;

} // namespace

void penstock_let_pause(ggml_tensor * op, penstock_pause * pause) {
    op->flags |= can_pause;
    op->extra = pause;
}

penstock_pause * penstock_pause_of(const ggml_tensor * op) {
    return op->flags & can_pause ? static_cast<penstock_pause *>(op->extra) : nullptr;
}

void penstock_pause::set(bool value, std::chrono::milliseconds most) {
    std::unique_lock lock(mutex);
    on = value;
    changed.notify_all();
    if (value) {
        changed.wait_for(lock, most, [&] { return !running || resting >= threads || !on; });
    }
}

// The first thread decides for all: with one of them at rest, the others would wait for it busily.
void penstock_pause::rest(const ggml_compute_params * params) {
    if (params->ith == 0) {
        const bool now = on.load(std::memory_order_relaxed);
        if (now || !running) {
            const std::lock_guard lock(mutex);
            running = true;
            threads = params->nth;
        }
        agreed.store(now, std::memory_order_relaxed);
    }
    ggml_barrier(params->threadpool);
    if (agreed.load(std::memory_order_relaxed)) {
        wait(1);
    }
}

void penstock_pause::rest_alone() {
    if (on.load(std::memory_order_relaxed)) {
        wait(threads);
    }
}

void penstock_pause::wait(int of) {
    std::unique_lock lock(mutex);
    resting += of;
    changed.notify_all();
    changed.wait(lock, [&] { return !on; });
    resting -= of;
}

void penstock_pause::end() {
    const std::lock_guard lock(mutex);
    running = false;
    threads = 0;
    changed.notify_all();
}
