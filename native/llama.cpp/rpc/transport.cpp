// SPDX-License-Identifier: MIT
// What stands in for llama.cpp's transport.cpp: its transport.h over the sockets of endpoint.h.
// ggml's addresses are HOST:PORT; here the port is an endpoint's number.
#include "transport.h"

#include "endpoint.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

struct socket_t::impl {
    std::shared_ptr<ps::endpoint> to;
    bool                          listens;

    impl(std::shared_ptr<ps::endpoint> to, bool listens) : to(std::move(to)), listens(listens) {
        if (!listens) {
            this->to->begin();
        }
    }

    ~impl() {
        if (!listens) {
            to->end();
        }
    }
};

socket_t::socket_t(std::unique_ptr<impl> p) : pimpl(std::move(p)) {}

socket_t::~socket_t() = default;

bool socket_t::send_data(const void * data, size_t size) {
    const char * from = static_cast<const char *>(data);
    while (size > 0) {
        const ssize_t n = ::write(pimpl->to->socket, from, size < MAX_CHUNK_SIZE ? size : MAX_CHUNK_SIZE);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        from += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

bool socket_t::recv_data(void * data, size_t size) {
    char * to = static_cast<char *>(data);
    while (size > 0) {
        const ssize_t n = ::read(pimpl->to->socket, to, size < MAX_CHUNK_SIZE ? size : MAX_CHUNK_SIZE);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        to += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

bool socket_t::flush() { return true; }

// Go has accepted the connection already. There is one, so a server that waits for the next ends.
socket_ptr socket_t::accept() {
    if (!pimpl->to) {
        return nullptr;
    }
    return socket_ptr(new socket_t(std::make_unique<impl>(std::move(pimpl->to), false)));
}

// What else than bytes over this socket a side can do: nothing.
void socket_t::get_caps(uint8_t * local_caps) {
    for (size_t i = 0; i < RPC_CONN_CAPS_SIZE; i++) {
        local_caps[i] = 0;
    }
}

void socket_t::update_caps(const uint8_t *) {}

socket_ptr socket_t::create_server(const char *, int port) {
    auto to = ps::find_endpoint(port);
    return to ? socket_ptr(new socket_t(std::make_unique<impl>(std::move(to), true))) : nullptr;
}

socket_ptr socket_t::connect(const char *, int port) {
    auto to = ps::find_endpoint(port);
    return to ? socket_ptr(new socket_t(std::make_unique<impl>(std::move(to), false))) : nullptr;
}

bool rpc_transport_init() { return true; }

void rpc_transport_shutdown() {}
