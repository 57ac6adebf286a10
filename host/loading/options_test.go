// SPDX-License-Identifier: MIT

package loading

import (
	"reflect"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/must"
)

// Every key of how llama.cpp loads and computes arrives there.
func TestEngineOptions_NoKeyIsLost(t *testing.T) {
	type options struct {
		loading   native.ModelOptions
		computing native.ContextOptions
	}
	of := func(keys map[string]any) options {
		c := must.Get(config.Load(config.Sources{Flags: keys}))(t)
		return options{modelOptions(c.Model), contextOptions(c.Model)}
	}
	plain := of(nil)
	for key, value := range map[string]string{
		"device": "none", "split_mode": "row", "tensor_split": "3/1", "main_gpu": "1", "override_tensor": "a=CPU", "cpu_moe": "true", "n_cpu_moe": "2",
		"n_cpu_ffn": "2", "kv_offload": "false", "op_offload": "false", "repack": "false", "no_host": "true", "load_mode": "dio", "lazy_mode": "off",
		"check_tensors": "true", "override_kv": "a=int:1", "threads_batch": "3", "cache_type_k": "q8_0", "cache_type_v": "q8_0", "flash_attn": "on",
		"swa_full": "true", "rope_scaling": "none", "rope_scale": "2", "rope_freq_base": "500", "rope_freq_scale": "0.5", "yarn_orig_ctx": "512",
		"yarn_ext_factor": "0", "yarn_attn_factor": "0", "yarn_beta_slow": "0", "yarn_beta_fast": "0",
	} {
		if reflect.DeepEqual(of(map[string]any{"model." + key: value}), plain) {
			t.Errorf("model.%s = %s changes nothing", key, value)
		}
	}
	moe := of(map[string]any{"model.n_cpu_moe": "2", "model.override_tensor": `b\.c=CPU`, "model.tensor_split": "3/1"}).loading
	want := []native.TensorOverride{{Pattern: `b\.c`, Buffer: "CPU"}, {Pattern: `blk\.0` + experts, Buffer: "CPU"}, {Pattern: `blk\.1` + experts, Buffer: "CPU"}}
	if !reflect.DeepEqual(moe.TensorOverrides, want) || !reflect.DeepEqual(moe.TensorSplit, []float32{3, 1}) {
		t.Errorf("%+v", moe)
	}
}
