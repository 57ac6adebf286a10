// SPDX-License-Identifier: MIT
#include "endpoint.h"

#include <map>

namespace ps {

namespace {

std::mutex                               mutex;
std::map<int, std::shared_ptr<endpoint>> endpoints;
int                                      last_number = 0;

}  // namespace

void endpoint::begin() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return !used; });
    used = true;
}

void endpoint::end() {
    const std::lock_guard<std::mutex> lock(mutex);
    used = false;
    changed.notify_one();
}

int add_endpoint(int socket) {
    const std::lock_guard<std::mutex> lock(mutex);
    endpoints[++last_number] = std::make_shared<endpoint>(socket);
    return last_number;
}

void forget_endpoint(int number) {
    const std::lock_guard<std::mutex> lock(mutex);
    endpoints.erase(number);
}

std::shared_ptr<endpoint> find_endpoint(int number) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto                        at = endpoints.find(number);
    return at == endpoints.end() ? nullptr : at->second;
}

std::string endpoint_address(int number) { return "penstock:" + std::to_string(number); }

}  // namespace ps
