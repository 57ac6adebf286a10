// SPDX-License-Identifier: MIT
// What the parts of the shim share: the opaque types, error reporting, and the guard every function runs inside.
#pragma once

#include "penstock.h"

#include "llama.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

namespace ps {

// An error with its code; anything else thrown becomes PS_FAILED.
struct fault : std::runtime_error {
    int32_t code;
    fault(int32_t code, const std::string & text) : std::runtime_error(text), code(code) {}
};

int32_t report(ps_error * err, int32_t code, const char * text) noexcept;

// Collects what llama.cpp logs as errors on this thread while it lives, or as warnings where there is no error: its reason for a failure.
class log_capture {
  public:
    log_capture();
    ~log_capture();
    std::string reason(const char * otherwise) const;
    void        add(int32_t level, const std::string & line);

  private:
    std::string   lines;
    int32_t       level = 0;  // of the lines
    log_capture * outer;
};

// Runs body, which throws to report; no exception leaves.
template <typename Body> int32_t guarded(ps_error * err, Body && body) noexcept {
    try {
        body();
        if (err) {
            err->code    = PS_OK;
            err->text[0] = 0;
        }
        return PS_OK;
    } catch (const fault & f) {
        return report(err, f.code, f.what());
    } catch (const std::bad_alloc &) {
        return report(err, PS_NO_MEMORY, "out of memory");
    } catch (const std::exception & e) {
        return report(err, PS_FAILED, e.what());
    } catch (...) {
        return report(err, PS_FAILED, "llama.cpp threw something unknown");
    }
}

// How many of the first most bytes of a text are whole characters; text has size bytes.
size_t clip(const char * text, size_t size, size_t most) noexcept;

// Hands bytes to C; throws where memory is short.
void give(ps_text * out, const char * data, size_t size);

// Calls body on a thread with a stack of at least bytes and passes on what it throws. The parts of llama.cpp that
// recurse once a character or a nesting level (std::regex, the Jinja engine) need more stack than a Go thread has.
void on_stack(size_t bytes, void (*body)(void *), void * argument);

template <typename Body> void with_stack(size_t bytes, Body && body) {
    using Plain = typename std::remove_reference<Body>::type;
    on_stack(bytes, [](void * argument) { (*static_cast<Plain *>(argument))(); }, &body);
}

// Counts living objects of one kind.
struct counted {
    std::atomic<int64_t> & n;
    explicit counted(std::atomic<int64_t> & n) : n(n) { n++; }
    ~counted() { n--; }
    counted(const counted &) = delete;
};

extern std::atomic<int64_t> live_models, live_contexts, live_samplers, live_templates, live_grammars, live_states;

struct lexicon;

}  // namespace ps

struct ps_model {
    llama_model *       model = nullptr;
    const llama_vocab * vocab = nullptr;
    int32_t             n_vocab = 0;
    ps::counted         count{ ps::live_models };

    const ps::lexicon & words();  // made when first asked for
    ~ps_model() { llama_model_free(model); }

  private:
    std::once_flag                     once;
    std::shared_ptr<const ps::lexicon> texts;
};
