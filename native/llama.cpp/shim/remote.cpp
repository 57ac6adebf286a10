// SPDX-License-Identifier: MIT
#include "remote.h"

#include "shim.h"

#include "rpc/endpoint.h"

#include "ggml-rpc.h"

#include <algorithm>
#include <string>

namespace ps {

namespace {

// They are not in ggml's register: there they would have to stay, and each listing of it would ask
// workers that are gone.
struct remote_device {
    std::string        name;
    int                endpoint;
    ggml_backend_dev_t device;
};

std::mutex                 mutex;
std::vector<remote_device> open_devices;

}  // namespace

ggml_backend_dev_t find_device(const char * name) {
    {
        const std::lock_guard<std::mutex> lock(mutex);
        for (const auto & d : open_devices) {
            if (d.name == name) {
                return d.device;
            }
        }
    }
    return ggml_backend_dev_by_name(name);
}

std::vector<ggml_backend_dev_t> remote_devices() {
    const std::lock_guard<std::mutex> lock(mutex);
    std::vector<ggml_backend_dev_t>   out;
    for (const auto & d : open_devices) {
        out.push_back(d.device);
    }
    return out;
}

}  // namespace ps

int32_t ps_remote_open(int32_t socket, const char * const * names, size_t n, int32_t * endpoint, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        const int number = ps::add_endpoint(socket);
        auto *    reg    = ggml_backend_rpc_add_server(ps::endpoint_address(number).c_str());
        if (!reg || ggml_backend_reg_dev_count(reg) != n) {
            ps::forget_endpoint(number);
            throw ps::fault(PS_FAILED, "the worker offers " + std::to_string(reg ? ggml_backend_reg_dev_count(reg) : 0) + " devices in place of " + std::to_string(n));
        }
        const std::lock_guard<std::mutex> lock(ps::mutex);
        for (size_t i = 0; i < n; i++) {
            ps::open_devices.push_back({ names[i], number, ggml_backend_reg_dev_get(reg, i) });
        }
        *endpoint = number;
    });
}

void ps_remote_close(int32_t endpoint) noexcept {
    {
        const std::lock_guard<std::mutex> lock(ps::mutex);
        auto &                            all = ps::open_devices;
        all.erase(std::remove_if(all.begin(), all.end(), [&](const auto & d) { return d.endpoint == endpoint; }), all.end());
    }
    ps::forget_endpoint(endpoint);
}

int32_t ps_serve_devices(int32_t socket, const char * const * names, size_t n, size_t threads, const char * cache, ps_error * err) noexcept {
    return ps::guarded(err, [&] {
        std::vector<ggml_backend_dev_t> devices;
        for (size_t i = 0; i < n; i++) {
            auto * device = ggml_backend_dev_by_name(names[i]);
            if (!device) {
                throw ps::fault(PS_INVALID, "there is no device \"" + std::string(names[i]) + "\"");
            }
            devices.push_back(device);
        }
        const int number = ps::add_endpoint(socket);
        ggml_backend_rpc_start_server(ps::endpoint_address(number).c_str(), *cache ? cache : nullptr, threads, devices.size(), devices.data());
        ps::forget_endpoint(number);
    });
}
