// SPDX-License-Identifier: MIT
// What belongs to the whole process: start, logs, devices, memory handed to C.
#include "shim.h"

#include "ggml-backend.h"
#include "log.h"

#include <pthread.h>

#include <cstdlib>

namespace ps {

std::atomic<int64_t> live_models{ 0 }, live_contexts{ 0 }, live_samplers{ 0 }, live_templates{ 0 }, live_grammars{ 0 }, live_states{ 0 };

static std::atomic<ps_log_fn> sink{ nullptr };
static std::atomic<int32_t>   lowest{ 2 };

static thread_local log_capture * captured = nullptr;
static thread_local std::string   pending;
static thread_local int32_t       pending_level = 2;

static constexpr size_t max_captured = 4096;

log_capture::log_capture() : outer(captured) { captured = this; }

log_capture::~log_capture() { captured = outer; }

// The last line is llama.cpp's summary ("failed to load model"), the lines before it say why.
std::string log_capture::reason(const char * otherwise) const {
    return lines.empty() ? otherwise : lines;
}

// An error makes warnings before and after it uninteresting.
void log_capture::add(int32_t line_level, const std::string & line) {
    if (line_level < 3 || line_level < level) {
        return;
    }
    if (line_level > level) {
        lines.clear();
        level = line_level;
    }
    if (lines.size() + line.size() < max_captured) {
        lines += lines.empty() ? "" : "; ";
        lines += line;
    }
}

static void flush_line() {
    while (!pending.empty() && (pending.back() == '\n' || pending.back() == '\r')) {
        pending.pop_back();
    }
    if (pending.empty()) {
        return;
    }
    if (captured) {
        captured->add(pending_level, pending);
    }
    auto * fn = sink.load();
    if (fn && pending_level >= lowest.load()) {
        fn(pending_level, &pending[0], pending.size());
    }
    pending.clear();
}

// ggml logs in pieces: a line ends at its newline, and CONT pieces belong to the line before.
static void on_log(ggml_log_level level, const char * text, void *) noexcept {
    try {
        if (level != GGML_LOG_LEVEL_CONT) {
            flush_line();
            pending_level = level == GGML_LOG_LEVEL_NONE ? 2 : static_cast<int32_t>(level);
        }
        pending += text;
        if (!pending.empty() && pending.back() == '\n') {
            flush_line();
        }
    } catch (...) {
        pending.clear();
    }
}

size_t clip(const char * text, size_t size, size_t most) noexcept {
    if (size <= most) {
        return size;
    }
    size_t whole = most;
    while (whole > 0 && most - whole < 4 && (static_cast<uint8_t>(text[whole]) & 0xc0) == 0x80) {
        whole--;
    }
    return whole;
}

int32_t report(ps_error * err, int32_t code, const char * text) noexcept {
    if (err) {
        err->code         = code;
        text              = text && *text ? text : "no reason given";
        const size_t size = clip(text, std::strlen(text), sizeof(err->text) - 1);
        std::memcpy(err->text, text, size);
        err->text[size] = 0;
    }
    return code;
}

void give(ps_text * out, const char * data, size_t size) {
    out->data = static_cast<char *>(std::malloc(size + 1));
    if (!out->data) {
        throw std::bad_alloc();
    }
    std::memcpy(out->data, data, size);
    out->data[size] = 0;
    out->size       = size;
}

namespace {
struct job {
    void (*body)(void *);
    void *             argument;
    std::exception_ptr thrown;
};
}  // namespace

void on_stack(size_t bytes, void (*body)(void *), void * argument) {
    job work{ body, argument, nullptr };

    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (bytes + 0xffff) & ~size_t(0xffff));
    pthread_t thread;
    const int failed = pthread_create(
        &thread, &attr,
        [](void * p) -> void * {
            auto * w = static_cast<job *>(p);
            try {
                w->body(w->argument);
            } catch (...) {
                w->thrown = std::current_exception();
            }
            return nullptr;
        },
        &work);
    pthread_attr_destroy(&attr);
    if (failed) {
        throw fault(PS_NO_MEMORY, "no thread with a stack of " + std::to_string(bytes >> 20) + " MiB could be started");
    }
    pthread_join(thread, nullptr);
    if (work.thrown) {
        std::rethrow_exception(work.thrown);
    }
}

}  // namespace ps

void ps_text_free(ps_text * text) noexcept {
    std::free(text->data);
    text->data = nullptr;
    text->size = 0;
}

void ps_start(ps_log_fn log) noexcept {
    ps::sink = log;
    llama_log_set(ps::on_log, nullptr);
    ggml_log_set(ps::on_log, nullptr);
    common_log_set_verbosity_thold(-1);  // it can only print; what fails there throws too
    llama_backend_init();
}

void ps_log_level(int32_t lowest) noexcept { ps::lowest = lowest; }

const char * ps_version() noexcept { return llama_version(); }

int32_t ps_system_info(ps_text * out, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const std::string info = llama_print_system_info();
        ps::give(out, info.data(), info.size());
    });
}

int32_t ps_device_count() noexcept { return static_cast<int32_t>(ggml_backend_dev_count()); }

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
    out->grammars  = ps::live_grammars;
    out->states    = ps::live_states;
}
