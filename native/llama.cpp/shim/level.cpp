// SPDX-License-Identifier: MIT
// Which level of the CPU the kernels are of, where the build has several, and whether a level
// works. See ../levels.sh.
#include "level.h"

#include "kernel_check.h"
#include "penstock.h"

#include "ggml.h"

#include <cstring>
#include <initializer_list>

#ifdef __linux__
#    include <cerrno>
#    include <csignal>
#    include <sys/resource.h>
#    include <sys/wait.h>
#    include <unistd.h>

// Null where the build is for one CPU.
extern "C" {
#    pragma weak penstock_levels
#    pragma weak penstock_level_calls
#    pragma weak penstock_level_calls_size
}

static bool are_there() {
    const auto * volatile first = penstock_levels; // a compiler that does not see the pragma takes no array for null
    return first != nullptr;
}

int32_t ps_level_count() noexcept {
    int32_t n = 0;
    while (are_there() && penstock_levels[n].name) {
        n++;
    }
    return n;
}

const char * ps_level_name(int32_t level) noexcept { return penstock_levels[level].name; }

bool ps_level_offered(int32_t level) noexcept { return penstock_levels[level].offered(); }

void ps_level_use(int32_t level) noexcept { std::memcpy(penstock_level_calls, penstock_levels[level].calls, penstock_level_calls_size); }

bool ps_level_try(int32_t level, bool crash) noexcept {
    const pid_t child = fork();
    if (child < 0) {
        return true; // nothing is known against it
    }
    if (child == 0) {
        for (const int signal : { SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTRAP, SIGALRM }) {
            std::signal(signal, SIG_DFL); // the parent's handlers would print
        }
        const rlimit none{};
        setrlimit(RLIMIT_CORE, &none);
        alarm(60);
        if (crash) {
            __builtin_trap();
        }
        ggml_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
        if (level >= 0) {
            ps_level_use(level);
        }
        ps_error error;
        _exit(ps::check_kernel_alone(PS_KERNELS_PLAIN, GGML_TYPE_Q8_0, &error) == PS_OK ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return true;
        }
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#else
int32_t      ps_level_count() noexcept { return 0; }
const char * ps_level_name(int32_t) noexcept { return ""; }
bool         ps_level_offered(int32_t) noexcept { return false; }
void         ps_level_use(int32_t) noexcept {}
bool         ps_level_try(int32_t, bool crash) noexcept { return !crash; }
#endif
