// SPDX-License-Identifier: MIT
#include "model_params.h"

#include "remote.h"

#include "ggml-backend.h"
#include "gguf.h"

#include <algorithm>
#include <cmath>
#include <regex>

namespace ps {

namespace {

[[noreturn]] void refuse(const std::string & text) { throw fault(PS_INVALID, text); }

bool is_gpu(ggml_backend_dev_t device) {
    const auto type = ggml_backend_dev_type(device);
    return type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU;
}

// All devices, or those that a model can be put on besides the CPU.
std::vector<ggml_backend_dev_t> all_devices(bool besides_cpu) {
    std::vector<ggml_backend_dev_t> out;
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        auto * device = ggml_backend_dev_get(i);
        if (!besides_cpu || ggml_backend_dev_type(device) != GGML_BACKEND_DEVICE_TYPE_CPU) {
            out.push_back(device);
        }
    }
    return out;
}

std::string list(const std::vector<ggml_backend_dev_t> & devices, const char * (*name)(ggml_backend_dev_t) ) {
    std::string out;
    for (auto * device : devices) {
        const char * text = name(device);
        if (*text) {
            out += (out.empty() ? "" : ", ") + std::string(text);
        }
    }
    return out.empty() ? "none" : out;
}

const char * buffer_name(ggml_backend_dev_t device) {
    auto * buffer = ggml_backend_dev_buffer_type(device);
    return buffer ? ggml_backend_buft_name(buffer) : "";
}

// The longest pattern for names of tensors, which have at most 63 characters: std::regex goes
// deeper with each of both.
constexpr size_t max_pattern = 1024;

void check_pattern(const char * pattern) {
    if (!*pattern || std::strlen(pattern) > max_pattern) {
        refuse("the pattern of a tensor override has " + std::to_string(std::strlen(pattern)) + " bytes; it must have 1 to " + std::to_string(max_pattern));
    }
    try {
        const std::regex compiled(pattern);
    } catch (const std::regex_error & e) {
        refuse("the pattern \"" + std::string(pattern) + "\" of a tensor override is no regular expression: " + e.what());
    }
}

void check_range(const char * field, int32_t value, int32_t low, int32_t high) {
    if (value < low || value > high) {
        refuse(std::string(field) + " is " + std::to_string(value) + "; it must be " + std::to_string(low) + " to " + std::to_string(high));
    }
}

}  // namespace

model_params::model_params(const ps_model_params & p) : params(llama_model_default_params()) {
    check_range("the split mode", p.split_mode, LLAMA_SPLIT_MODE_NONE, LLAMA_SPLIT_MODE_TENSOR);
    check_range("the load mode", p.load_mode, LLAMA_LOAD_MODE_AUTO, LLAMA_LOAD_MODE_DIRECT_IO);
    check_range("the lazy mode", p.lazy_mode, LLAMA_LAZY_MODE_OFF, LLAMA_LAZY_MODE_ON);
    params.n_gpu_layers    = p.gpu_layers;
    params.split_mode      = static_cast<llama_split_mode>(p.split_mode);
    choose_load_mode(p);
    params.lazy_mode       = static_cast<llama_lazy_mode>(p.lazy_mode);
    params.main_gpu        = p.main_gpu;
    params.vocab_only      = p.vocab_only;
    params.check_tensors   = p.check_tensors;
    params.use_extra_bufts = !p.no_repack;
    params.no_host         = p.no_host;
    params.no_alloc        = p.no_alloc;
    params.load_mtp        = p.load_mtp;
    choose_devices(p);
    override_tensors(p);
    override_metadata(p);
    split_tensors(p);
}

// llama.cpp never unlocks what it locked, and memory that goes back to the heap stays locked then.
// So memory is locked by who loads the model, and here only chosen.
void model_params::choose_load_mode(const ps_model_params & p) {
    params.load_mode = static_cast<llama_load_mode>(p.load_mode);
    lock             = params.load_mode == LLAMA_LOAD_MODE_MLOCK || params.load_mode == LLAMA_LOAD_MODE_MMAP_MLOCK;
    if (lock) {
        // The file is only mapped where all weights stay as they are in it: those that are laid out
        // anew would be in RAM twice.
        const bool map   = params.load_mode == LLAMA_LOAD_MODE_MMAP_MLOCK && p.no_repack;
        params.load_mode = map ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
    }
    if (p.no_alloc) {
        params.load_mode = LLAMA_LOAD_MODE_NONE;  // llama.cpp asserts it
        lock             = false;
    }
}

// Even with no layer on a GPU, llama.cpp has it compute large passes and hold buffers; so it is
// told of no device then.
void model_params::choose_devices(const ps_model_params & p) {
    if (!p.devices && p.gpu_layers != 0) {
        for (auto * device : all_devices(true)) {
            if (is_gpu(device)) {
                devices.push_back(device);  // for the checks; llama.cpp itself leaves out those that are there twice
            }
        }
    }
    for (size_t i = 0; i < p.n_devices; i++) {
        auto * device = find_device(p.devices[i]);
        if (!device || ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU) {
            refuse("device \"" + std::string(p.devices[i]) + "\" does not exist; besides the CPU there are: " + list(all_devices(true), ggml_backend_dev_name));
        }
        if (computes(device)) {
            refuse("device \"" + std::string(p.devices[i]) + "\" is named twice");
        }
        devices.push_back(device);
    }
    if (p.split_mode == LLAMA_SPLIT_MODE_NONE && p.main_gpu >= static_cast<int32_t>(devices.size()) && !devices.empty()) {
        refuse("the main GPU is " + std::to_string(p.main_gpu) + "; with split mode none it must be one of the " +
               std::to_string(devices.size()) + " devices " + list(devices, ggml_backend_dev_name) + ", counted from 0");
    }
    if (p.split_mode == LLAMA_SPLIT_MODE_TENSOR && devices.empty()) {
        refuse("split mode tensor needs a GPU; there are: " + list(all_devices(true), ggml_backend_dev_name));
    }
    for (auto * device : p.split_mode == LLAMA_SPLIT_MODE_ROW ? devices : std::vector<ggml_backend_dev_t>{}) {
        if (!ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_split_buffer_type")) {
            refuse("split mode row needs GPUs that can split weights by rows, which " + std::string(ggml_backend_dev_name(device)) +
                   " cannot; use split mode layer or tensor");
        }
    }
    if (p.devices || p.gpu_layers == 0) {
        devices.push_back(nullptr);
        params.devices = devices.data();
    }
}

bool model_params::computes(ggml_backend_dev_t device) const {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
}

void model_params::override_tensors(const ps_model_params & p) {
    if (p.n_tensor_overrides == 0) {
        return;
    }
    if (p.n_tensor_overrides >= llama_max_tensor_buft_overrides()) {
        refuse(std::to_string(p.n_tensor_overrides) + " overrides of tensors; there may be " +
               std::to_string(llama_max_tensor_buft_overrides() - 1));
    }
    for (size_t i = 0; i < p.n_tensor_overrides; i++) {
        const auto & o = p.tensor_overrides[i];
        check_pattern(o.pattern);
        ggml_backend_buffer_type_t buffer = nullptr;
        for (auto * device : all_devices(false)) {
            // A tensor on a device that does not compute would have nobody to compute with it.
            if (std::strcmp(buffer_name(device), o.buffer) == 0 && (!is_gpu(device) || computes(device))) {
                buffer = ggml_backend_dev_buffer_type(device);
            }
        }
        if (!buffer) {
            auto usable = all_devices(false);
            usable.erase(std::remove_if(usable.begin(), usable.end(), [&](auto * d) { return is_gpu(d) && !computes(d); }), usable.end());
            refuse("the tensor override \"" + std::string(o.pattern) + "\" names the buffers \"" + o.buffer + "\"; there are: " + list(usable, buffer_name));
        }
        tensors.push_back({ o.pattern, buffer });
    }
    tensors.push_back({ nullptr, nullptr });
    params.tensor_buft_overrides = tensors.data();
}

void model_params::override_metadata(const ps_model_params & p) {
    for (size_t i = 0; i < p.n_metadata_overrides; i++) {
        const auto &            o = p.metadata_overrides[i];
        llama_model_kv_override v{};
        if (!*o.key || std::strlen(o.key) >= sizeof(v.key)) {
            refuse("the metadata key \"" + std::string(o.key) + "\" must have 1 to " + std::to_string(sizeof(v.key) - 1) + " bytes");
        }
        std::strcpy(v.key, o.key);
        check_range("the type of a metadata override", o.type, LLAMA_KV_OVERRIDE_TYPE_INT, LLAMA_KV_OVERRIDE_TYPE_STR);
        v.tag = static_cast<llama_model_kv_override_type>(o.type);
        switch (v.tag) {
            case LLAMA_KV_OVERRIDE_TYPE_INT: v.val_i64 = o.integer; break;
            case LLAMA_KV_OVERRIDE_TYPE_FLOAT: v.val_f64 = o.number; break;
            case LLAMA_KV_OVERRIDE_TYPE_BOOL: v.val_bool = o.integer != 0; break;
            case LLAMA_KV_OVERRIDE_TYPE_STR:
                if (std::strlen(o.text) >= sizeof(v.val_str)) {
                    refuse("the text for the metadata key \"" + std::string(o.key) + "\" may have " + std::to_string(sizeof(v.val_str) - 1) + " bytes");
                }
                std::strcpy(v.val_str, o.text);
                break;
        }
        metadata.push_back(v);
    }
    if (!metadata.empty()) {
        metadata.push_back({});
        params.kv_overrides = metadata.data();
    }
}

bool model_params::computes_on_cpu() const {
    return std::all_of(devices.begin(), devices.end(), [](auto * device) { return !device; });
}

static std::unique_ptr<gguf_context, void (*)(gguf_context *)> open_header(const char * path) {
    return { gguf_init_from_file(path, { /*no_alloc=*/true, nullptr }), gguf_free };
}

bool has_tied_embedding(const char * path) {
    const auto file = open_header(path);
    return file && gguf_find_tensor(file.get(), "token_embd.weight") >= 0 && gguf_find_tensor(file.get(), "output.weight") < 0 &&
           gguf_find_key(file.get(), "split.count") < 0;
}

void model_params::leave_out_vocabulary(const char * path) {
    const auto file = open_header(path);
    if (!file) {
        return;
    }
    const auto find = [&](const char * key, gguf_type type) {
        const int64_t at = gguf_find_key(file.get(), key);
        return at >= 0 && gguf_get_kv_type(file.get(), at) == type ? at : -1;
    };
    const int64_t architecture = find("general.architecture", GGUF_TYPE_STRING), tokens = find("tokenizer.ggml.tokens", GGUF_TYPE_ARRAY);
    if (architecture < 0 || tokens < 0) {
        return;
    }
    llama_model_kv_override kind{}, count{};
    kind.tag = LLAMA_KV_OVERRIDE_TYPE_STR;
    std::strcpy(kind.key, "tokenizer.ggml.model");
    std::strcpy(kind.val_str, "no_vocab");
    count.tag     = LLAMA_KV_OVERRIDE_TYPE_INT;
    count.val_i64 = static_cast<int64_t>(gguf_get_arr_n(file.get(), tokens));
    std::snprintf(count.key, sizeof(count.key), "%s.vocab_size", gguf_get_val_str(file.get(), architecture));
    if (metadata.empty()) {
        metadata.push_back({});
    }
    metadata.insert(metadata.begin(), { kind, count });  // the first of a key counts
    params.kv_overrides = metadata.data();
}

// llama.cpp reads as many shares as there may be devices.
void model_params::split_tensors(const ps_model_params & p) {
    const size_t n = devices.size() - (params.devices ? 1 : 0);
    if (p.n_tensor_split == 0 || n == 0) {
        return;
    }
    if (p.n_tensor_split > n || n > llama_max_devices()) {
        refuse("the tensor split has " + std::to_string(p.n_tensor_split) + " shares; there are " + std::to_string(n) + " devices: " +
               list({ devices.begin(), devices.begin() + static_cast<ptrdiff_t>(n) }, ggml_backend_dev_name));
    }
    split.assign(llama_max_devices(), 0);
    std::copy_n(p.tensor_split, p.n_tensor_split, split.begin());
    float sum = 0;
    for (const float share : split) {
        if (!std::isfinite(share) || share < 0) {
            refuse("a share of the tensor split is " + std::to_string(share) + "; it must be 0 or more");
        }
        sum += share;
    }
    if (!(sum > 0) || !std::isfinite(sum)) {
        refuse("the tensor split adds up to " + std::to_string(sum) + "; one of its shares must be above 0");
    }
    params.tensor_split = split.data();
}

}  // namespace ps
