// SPDX-License-Identifier: MIT
// What belongs to the whole process: its start, its devices, its count of objects, and memory
// handed to C.
#include "shim.h"

#include "json_limits.h"
#include "kernels/kernels.h"

#include "ggml-backend.h"
#include "log.h"

#include <cstdlib>
#include <mutex>
#ifdef __GLIBC__
#    include <malloc.h>
#endif

namespace ps {

std::atomic<int64_t> live_models{ 0 }, live_contexts{ 0 }, live_samplers{ 0 }, live_templates{ 0 }, live_answers{ 0 }, live_states{ 0 },
    live_adapters{ 0 }, live_projectors{ 0 }, live_media{ 0 };

void return_text(ps_text * out, const char * data, size_t size) {
    out->data = static_cast<char *>(std::malloc(size + 1));
    if (!out->data) {
        throw std::bad_alloc();
    }
    std::memcpy(out->data, data, size);
    out->data[size] = 0;
    out->size       = size;
}

}  // namespace ps

void ps_text_free(ps_text * text) noexcept {
    std::free(text->data);
    text->data = nullptr;
    text->size = 0;
}

// glibc raises both limits, up to 32 and 64 MiB, as large blocks are freed. Each thread's arena
// then keeps that much free memory at its end, from where malloc_trim takes nothing.
static void limit_kept_memory() {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

void ps_start(ps_log_fn log) noexcept {
    limit_kept_memory();
    ps::start_log(log);
    ps::limit_json();
    common_log_set_verbosity_thold(-1);  // it can only print; what fails there throws too
    penstock_naps(true);
    llama_backend_init();
}

void ps_return_memory() noexcept {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

const char * ps_version() noexcept { return llama_version(); }

int32_t ps_system_info(ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const std::string info = llama_print_system_info();
        ps::return_text(out, info.data(), info.size());
    });
}

int32_t ps_device_count() noexcept { return static_cast<int32_t>(ggml_backend_dev_count()); }

void ps_numa(int32_t strategy) noexcept {
    static std::once_flag once;
    std::call_once(once, [&] { llama_numa_init(static_cast<ggml_numa_strategy>(strategy)); });
}

int32_t ps_device_at(int32_t index, ps_device * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        if (index < 0 || index >= ps_device_count()) {
            throw ps::fault(PS_INVALID, "there is no device " + std::to_string(index));
        }
        auto *                 device = ggml_backend_dev_get(static_cast<size_t>(index));
        ggml_backend_dev_props props;
        ggml_backend_dev_get_props(device, &props);
        *out = ps_device{};
        std::strncpy(out->name, props.name, sizeof(out->name) - 1);
        std::strncpy(out->description, props.description, sizeof(out->description) - 1);
        std::strncpy(out->backend, ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), sizeof(out->backend) - 1);
        if (auto * buffer = ggml_backend_dev_buffer_type(device)) {
            std::strncpy(out->buffer, ggml_backend_buft_name(buffer), sizeof(out->buffer) - 1);
        }
        out->kind  = static_cast<int32_t>(props.type);
        out->free  = props.memory_free;
        out->total = props.memory_total;
    });
}

void ps_live_objects(ps_live * out) noexcept {
    out->models    = ps::live_models;
    out->contexts  = ps::live_contexts;
    out->samplers  = ps::live_samplers;
    out->templates = ps::live_templates;
    out->answers   = ps::live_answers;
    out->states    = ps::live_states;
    out->adapters  = ps::live_adapters;
    out->projectors = ps::live_projectors;
    out->media      = ps::live_media;
}
