// SPDX-License-Identifier: MIT

package config

// kvTypes are what the KV cache may hold.
var kvTypes = []string{"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"}

const allowedKVTypes = "f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0 or q5_1"

// computeKeys say how llama.cpp loads a model and computes with it: the keys of Compute, with
// llama-server's flags.
var computeKeys = []Key{
	{Name: "model.device", Flag: "device", Aliases: []string{"-dev"}, Kind: List, Default: []string{}, check: noBlanks,
		Allowed: "names that penstock doctor shows, or none", Help: "devices besides the CPU that compute; none: only the CPU; empty: all GPUs"},
	{Name: "model.split_mode", Flag: "split-mode", Aliases: []string{"-sm"}, Kind: Text, Default: "layer", check: oneOf("none", "layer", "row", "tensor"),
		Allowed: "none, layer, row or tensor", Help: "how several GPUs share the model: not at all, by layers, by rows of weights, or by weights and KV cache"},
	{Name: "model.tensor_split", Flag: "tensor-split", Aliases: []string{"-ts"}, Kind: Text, Default: "", check: reads[Shares],
		Allowed: "numbers from 0 on such as 3,1, not all 0", Help: "share of the model that each GPU gets, in the order of the devices; empty: by their free memory"},
	{Name: "model.main_gpu", Flag: "main-gpu", Aliases: []string{"-mg"}, Kind: Integer, Default: 0, check: between(0, 1<<10),
		Allowed: "0 to 1024", Help: "number of the GPU, from 0 on, that has the whole model in split mode none, and the parts that are not split in split mode row"},
	{Name: "model.override_tensor", Flag: "override-tensor", Aliases: []string{"-ot"}, Kind: List, Default: []string{}, check: reads[TensorOverride],
		Allowed: "PATTERN=BUFFER with a regular expression for names of tensors", Help: "where tensors are kept, such as ffn_up=CPU; the first pattern that matches is used"},
	{Name: "model.cpu_moe", Flag: "cpu-moe", Aliases: []string{"-cmoe"}, Kind: Switch, Default: false,
		Allowed: "true or false", Help: "keep the experts of all layers in main memory"},
	{Name: "model.n_cpu_moe", Flag: "n-cpu-moe", Aliases: []string{"-ncmoe"}, Kind: Integer, Default: 0, check: between(0, 1000),
		Allowed: "0 to 1000", Help: "keep the experts of this many first layers in main memory"},
	{Name: "model.n_cpu_ffn", Flag: "n-cpu-ffn", Aliases: []string{"-ncffn"}, Kind: Integer, Default: 0, check: between(0, 1000),
		Allowed: "0 to 1000", Help: "keep the dense feed-forward weights of this many first layers in main memory"},
	{Name: "model.kv_offload", Flag: "kv-offload", Aliases: []string{"-kvo"}, Off: []string{"-nkvo"}, Kind: Switch, Default: true,
		Allowed: "true or false", Help: "keep the KV cache of a layer where the layer is; false: in main memory, and compute attention there"},
	{Name: "model.op_offload", Flag: "op-offload", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "let a GPU compute large passes with weights that are in main memory"},
	{Name: "model.repack", Flag: "repack", Off: []string{"-nr"}, Kind: Switch, Default: true,
		Allowed: "true or false", Help: "rearrange weights if CPU kernels are faster with that"},
	{Name: "model.no_host", Flag: "no-host", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "keep weights of the CPU out of a GPU's host buffers, so that they can be rearranged"},

	{Name: "model.load_mode", Flag: "load-mode", Aliases: []string{"-lm"}, Kind: Text, Default: "auto", check: oneOf("auto", "none", "mmap", "mlock", "mmap+mlock", "dio"),
		Spelt:   map[string]string{"--mlock": "mmap+mlock", "--no-mmap": "none", "--mmap": "mmap", "-dio": "dio", "--direct-io": "dio"},
		Allowed: "auto, none, mmap, mlock, mmap+mlock or dio", Help: "how the file comes into memory: mapped, read, and either locked there, or read past the system's cache; auto: mapped, unless a GPU cannot"},
	{Name: "model.lazy_mode", Flag: "lazy-mode", Aliases: []string{"-lzm"}, Kind: Text, Default: "auto", check: oneOf("on", "auto", "off"),
		Allowed: "on, auto or off", Help: "whether the lookup tables of some models are read row by row; auto: those above 4 GiB"},
	{Name: "model.check_tensors", Flag: "check-tensors", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "check for damaged weights at each load, and not only for a new file"},
	{Name: "model.override_kv", Flag: "override-kv", Kind: List, Default: []string{}, check: reads[MetadataOverride],
		Allowed: "KEY=TYPE:VALUE with the type int, float, bool or str", Help: "entries of the file's metadata to override, such as tokenizer.ggml.add_bos_token=bool:false"},

	{Name: "model.threads_batch", Flag: "threads-batch", Aliases: []string{"-tb"}, Kind: Integer, Default: 0, check: between(0, 512),
		Words: map[string]string{"-1": "0"}, Allowed: "0 to 512", Help: "threads that compute a pass of more tokens than one; 0: model.threads"},
	{Name: "model.numa", Flag: "numa", Kind: Text, Default: "none", check: oneOf("none", "distribute", "isolate", "numactl"),
		Allowed: "none, distribute, isolate or numactl", Help: "how threads are bound to the memory of a machine with several processors: spread over all, kept on one, or as numactl sets it; it applies to all models"},
	{Name: "model.cache_type_k", Flag: "cache-type-k", Aliases: []string{"-ctk"}, Kind: Text, Default: "f16", check: oneOf(kvTypes...),
		Allowed: allowedKVTypes, Help: "type of the keys in the KV cache"},
	{Name: "model.cache_type_v", Flag: "cache-type-v", Aliases: []string{"-ctv"}, Kind: Text, Default: "f16", check: oneOf(kvTypes...),
		Allowed: allowedKVTypes + "; the quantised types need flash attention", Help: "type of the values in the KV cache"},
	{Name: "model.flash_attn", Flag: "flash-attn", Aliases: []string{"-fa"}, Kind: Text, Default: "auto", check: oneOf("on", "off", "auto"),
		Words:   map[string]string{"1": "on", "true": "on", "enabled": "on", "0": "off", "false": "off", "disabled": "off", "-1": "auto"},
		Allowed: "on, off or auto", Help: "compute attention in one step; auto: if the model and the device support it"},
	{Name: "model.swa_full", Flag: "swa-full", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "keep every position of sliding-window layers, so that any part of a prompt can be reused; takes as much memory as a model without windows"},
	{Name: "model.rope_scaling", Flag: "rope-scaling", Kind: Text, Default: "model", check: oneOf("model", "none", "linear", "yarn"),
		Allowed: "model, none, linear or yarn", Help: "how positions beyond the trained context are scaled; model: as its file says"},
	{Name: "model.rope_scale", Flag: "rope-scale", Kind: Number, Default: 0.0, check: within(0, 1e6),
		Allowed: "0 to 1000000, without model.rope_freq_scale", Help: "factor by which the context is extended; 0: as the file says"},
	{Name: "model.rope_freq_base", Flag: "rope-freq-base", Kind: Number, Default: 0.0, check: within(0, 1e12),
		Allowed: "0 to 1e12", Help: "base of the frequencies of positions; 0: as the file says"},
	{Name: "model.rope_freq_scale", Flag: "rope-freq-scale", Kind: Number, Default: 0.0, check: func(v any) bool { f := v.(float64); return f == 0 || f >= 1e-6 && f <= 1e6 },
		Allowed: "0, or 0.000001 to 1000000", Help: "factor of the frequencies of positions, 1 divided by model.rope_scale; 0: as the file says"},
	{Name: "model.yarn_orig_ctx", Flag: "yarn-orig-ctx", Kind: Integer, Default: 0, check: between(0, 1<<28),
		Allowed: "0 or more tokens", Help: "context that the model was trained for before YaRN extends it; 0: as the file says"},
	{Name: "model.yarn_ext_factor", Flag: "yarn-ext-factor", Kind: Number, Default: -1.0, check: within(-1, 1000),
		Allowed: "-1 to 1000", Help: "YaRN's mix of extrapolation; 0: interpolation only; -1: as the file says"},
	{Name: "model.yarn_attn_factor", Flag: "yarn-attn-factor", Kind: Number, Default: -1.0, check: within(-1, 1000),
		Allowed: "-1 to 1000", Help: "YaRN's factor of the attention's magnitude; -1: as the file says"},
	{Name: "model.yarn_beta_slow", Flag: "yarn-beta-slow", Kind: Number, Default: -1.0, check: within(-1, 1e6),
		Allowed: "-1 to 1000000", Help: "YaRN's number of rotations below which a frequency is interpolated; -1: as the file says"},
	{Name: "model.yarn_beta_fast", Flag: "yarn-beta-fast", Kind: Number, Default: -1.0, check: within(-1, 1e6),
		Allowed: "-1 to 1000000", Help: "YaRN's number of rotations above which a frequency is left as it is; -1: as the file says"},
}

// Compute is how llama.cpp loads a model and computes with it.
type Compute struct {
	Device         []string           `koanf:"device"` // names, or none; empty: all GPUs
	SplitMode      string             `koanf:"split_mode"`
	TensorSplit    Shares             `koanf:"tensor_split"` // none: by the memory that is free
	MainGPU        int                `koanf:"main_gpu"`
	OverrideTensor []TensorOverride   `koanf:"override_tensor"`
	CPUMoE         bool               `koanf:"cpu_moe"`
	NCPUMoE        int                `koanf:"n_cpu_moe"`
	NCPUFFN        int                `koanf:"n_cpu_ffn"`
	KVOffload      bool               `koanf:"kv_offload"`
	OpOffload      bool               `koanf:"op_offload"`
	Repack         bool               `koanf:"repack"`
	NoHost         bool               `koanf:"no_host"`
	LoadMode       string             `koanf:"load_mode"`
	LazyMode       string             `koanf:"lazy_mode"`
	CheckTensors   bool               `koanf:"check_tensors"`
	OverrideKV     []MetadataOverride `koanf:"override_kv"`
	ThreadsBatch   int                `koanf:"threads_batch"` // 0: Model.Threads
	NUMA           string             `koanf:"numa"`
	CacheTypeK     string             `koanf:"cache_type_k"`
	CacheTypeV     string             `koanf:"cache_type_v"`
	FlashAttn      string             `koanf:"flash_attn"` // on, off, auto
	SWAFull        bool               `koanf:"swa_full"`
	RopeScaling    string             `koanf:"rope_scaling"`
	RopeScale      float64            `koanf:"rope_scale"`
	RopeFreqBase   float64            `koanf:"rope_freq_base"`
	RopeFreqScale  float64            `koanf:"rope_freq_scale"`
	YarnOrigCtx    int                `koanf:"yarn_orig_ctx"`
	YarnExtFactor  float64            `koanf:"yarn_ext_factor"`
	YarnAttnFactor float64            `koanf:"yarn_attn_factor"`
	YarnBetaSlow   float64            `koanf:"yarn_beta_slow"`
	YarnBetaFast   float64            `koanf:"yarn_beta_fast"`
}

// hasQuantisedV tells whether values of the KV cache are stored in blocks, which only flash
// attention computes with.
func (c Compute) hasQuantisedV() bool {
	return c.CacheTypeV != "f32" && c.CacheTypeV != "f16" && c.CacheTypeV != "bf16"
}

// Changed are the settings of how llama.cpp loads the model and computes that differ from the
// defaults, as KEY=VALUE without the section.
func (c Config) Changed() []string {
	var changed []string
	for _, s := range c.settings {
		for _, k := range computeKeys {
			if s.Key.Name == k.Name && show(s.Value) != show(k.Default) {
				changed = append(changed, k.Name[len("model."):]+"="+s.String())
			}
		}
	}
	return changed
}
