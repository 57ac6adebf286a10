// SPDX-License-Identifier: MIT
#include "llama_log.h"

#include "llama.h"
#include "mtmd.h"

#include <algorithm>
#include <atomic>

namespace ps {

static constexpr int32_t info = 2, warning = 3;  // levels as penstock.h numbers them

static std::atomic<ps_log_fn> sink{ nullptr };
static std::atomic<int32_t>   lowest_level{ info };

static thread_local log_capture * innermost_capture = nullptr;
static thread_local std::string   pending;  // the begun line
static thread_local int32_t       pending_level = info;

static constexpr size_t max_captured = 4096;

log_capture::log_capture() : outer(innermost_capture) { innermost_capture = this; }

log_capture::~log_capture() { innermost_capture = outer; }

// The last line is llama.cpp's summary ("failed to load model"), the lines before it say why.
std::string log_capture::reason(const char * otherwise) const {
    return lines.empty() ? otherwise : lines;
}

// Once there is an error, warnings are of no interest.
void log_capture::add(int32_t line_level, const std::string & line) {
    if (line_level < warning || line_level < level) {
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
    if (innermost_capture) {
        pending_level = innermost_capture->expects(pending) ? std::min(pending_level, info) : pending_level;
        innermost_capture->add(pending_level, pending);
    }
    auto * fn = sink.load();
    if (fn && pending_level >= lowest_level.load()) {
        fn(pending_level, &pending[0], pending.size());
    }
    pending.clear();
}

// ggml logs in pieces: a line ends at its newline, and a piece of level CONT continues the line
// before it.
static void on_log(ggml_log_level level, const char * text, void *) noexcept {
    try {
        if (level != GGML_LOG_LEVEL_CONT) {
            flush_line();
            pending_level = level == GGML_LOG_LEVEL_NONE ? info : static_cast<int32_t>(level);
        }
        pending += text;
        if (!pending.empty() && pending.back() == '\n') {
            flush_line();
        }
    } catch (...) {
        pending.clear();
    }
}

void start_log(ps_log_fn log) noexcept {
    sink = log;
    llama_log_set(on_log, nullptr);
    ggml_log_set(on_log, nullptr);
    mtmd_log_set(on_log, nullptr);
}

}  // namespace ps

void ps_log_level(int32_t lowest) noexcept { ps::lowest_level = lowest; }
