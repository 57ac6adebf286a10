// SPDX-License-Identifier: MIT
// Operations that can pause. A pass of the encoder of pictures may take a minute, and a single
// operation of it longer than a tick of the scheduler: so the threads that compute it are asked to
// rest between parts of operations, as long as a tick has the processors.
#ifndef PENSTOCK_PAUSE_H
#define PENSTOCK_PAUSE_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

struct ggml_tensor;
struct ggml_compute_params;

// Who pauses the passes of one encoder. They run one at a time.
class penstock_pause {
  public:
    // Has the threads rest from now on, or go on. It waits until they do rest, at most for a time.
    void set(bool on, std::chrono::milliseconds most);

    // Called by all threads of a pass before they compute something together: they rest there if
    // they are to.
    void rest(const ggml_compute_params * params);
    // The same where no other thread of the pass computes.
    void rest_alone();
    void end(); // of a pass

  private:
    void wait(int threads);

    std::atomic<bool>       on{ false }, agreed{ false };
    std::mutex              mutex;
    std::condition_variable changed;
    bool                    running = false;
    int                     threads = 0, resting = 0;
};

// Has an operation of a graph, which is not computed yet, pause.
void penstock_let_pause(ggml_tensor * op, penstock_pause * pause);

// What an operation was given; null: nothing.
penstock_pause * penstock_pause_of(const ggml_tensor * op);

#endif
