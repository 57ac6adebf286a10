// SPDX-License-Identifier: MIT
#include "stack.h"

#include "fault.h"

#include <pthread.h>

namespace ps {

namespace {

struct job {
    void (*body)(void *);
    void *             argument;
    std::exception_ptr thrown;
};

void * run(void * p) {
    auto * work = static_cast<job *>(p);
    try {
        work->body(work->argument);
    } catch (...) {
        work->thrown = std::current_exception();
    }
    return nullptr;
}

}  // namespace

void run_on_stack(size_t bytes, void (*body)(void *), void * argument) {
    job work{ body, argument, nullptr };

    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (bytes + 0xffff) & ~size_t(0xffff));
    pthread_t thread;
    const int failed = pthread_create(&thread, &attr, run, &work);
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
