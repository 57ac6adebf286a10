// SPDX-License-Identifier: MIT
// Sockets that ggml's RPC backend speaks over. ggml would make its own, which are plain TCP and
// open to all users of the machine; these are one end of a socket pair whose other end Go has.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace ps {

// An open socket, which one connection of ggml's after another uses.
class endpoint {
  public:
    explicit endpoint(int socket) : socket(socket) {}

    const int socket;

    void begin(); // of a connection; waits for the end of the one before
    void end();

  private:
    std::mutex              mutex;
    std::condition_variable changed;
    bool                    used = false;
};

// Makes a socket known under a number. It stays the caller's, who closes it after forget_endpoint.
int add_endpoint(int socket);
void forget_endpoint(int number);
std::shared_ptr<endpoint> find_endpoint(int number); // null: there is none

// What ggml is told as the address of an endpoint.
std::string endpoint_address(int number);

}  // namespace ps
