// SPDX-License-Identifier: MIT

// Package config reads the configuration: defaults, then a file, the environment and flags, later
// ones winning. Every key stands once, in the table of keys.go; the code that reads, checks, prints
// and documents keys uses that table.
package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Config is a loaded configuration. It is a value: nothing changes it after Load.
type Config struct {
	Model       Model       `koanf:"model"`
	Models      Models      `koanf:"models"`
	Workers     Workers     `koanf:"workers"`
	Chat        Chat        `koanf:"chat"`
	Schema      Schema      `koanf:"schema"`
	Sampling    Sampling    `koanf:"sampling"`
	Media       Media       `koanf:"media"`
	Server      Server      `koanf:"server"`
	Scheduler   Scheduler   `koanf:"scheduler"`
	Speculation Speculation `koanf:"speculation"`
	Embedding   Embedding   `koanf:"embedding"`
	Rerank      Rerank      `koanf:"rerank"`
	Plugins     Plugins     `koanf:"plugins"`
	Programs    Programs    `koanf:"programs"`
	Recordings  Recordings  `koanf:"recordings"`
	Receipts    Receipts    `koanf:"receipts"`
	Log         Log         `koanf:"log"`
	Telemetry   Telemetry   `koanf:"telemetry"`

	settings []Setting         // one for each key, in the table's order
	named    map[string]Config // the models that the file's section models names
	services []string
}

// Model says which model is served and with what.
type Model struct {
	Path      string   `koanf:"path"`  // a file, a name in the model folder, or empty: the built-in model
	Alias     []string `koanf:"alias"` // the names clients see, the first its true one; none: the model's own
	Tags      []string `koanf:"tags"`
	Strict    bool     `koanf:"strict"`     // requests that name another model are refused
	CtxSize   int      `koanf:"ctx_size"`   // KV cells in all; 0: from model and slots
	Threads   int      `koanf:"threads"`    // 0: one for each physical core
	GPULayers int      `koanf:"gpu_layers"` // -1: all that fit
	Fit       string   `koanf:"fit"`        // on, off
	FitTarget int64    `koanf:"fit_target"` // bytes to leave free on each device; 0: the usual
	FitCtx    int      `koanf:"fit_ctx"`    // tokens that a conversation has at least
	KVLayout  string   `koanf:"kv_layout"`  // auto, shared, split
	Kernels   string   `koanf:"kernels"`    // penstock, amx, ggml, plain

	Compute   `koanf:",squash"`
	Projector `koanf:",squash"`

	Lora                    []string `koanf:"lora"` // files
	LoraScaled              []Scaled `koanf:"lora_scaled"`
	LoraInitWithoutApply    bool     `koanf:"lora_init_without_apply"` // they count only in requests that name them
	ControlVector           []string `koanf:"control_vector"`          // files
	ControlVectorScaled     []Scaled `koanf:"control_vector_scaled"`
	ControlVectorLayerRange Layers   `koanf:"control_vector_layer_range"`
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

// hasQuantisedV reports whether the KV cache stores values in blocks, with which only flash
// attention computes.
func (c Compute) hasQuantisedV() bool {
	return c.CacheTypeV != "f32" && c.CacheTypeV != "f16" && c.CacheTypeV != "bf16"
}

// Projector says with what a model sees and hears.
type Projector struct {
	MMProj         string `koanf:"mmproj"`           // a file; empty: what lies beside the model
	MMProjAuto     bool   `koanf:"mmproj_auto"`      // look for one there
	MMProjOffload  bool   `koanf:"mmproj_offload"`   // a GPU computes it
	MMProjDevice   string `koanf:"mmproj_device"`    // which; empty: as the model
	ImageMinTokens int    `koanf:"image_min_tokens"` // of a picture; 0: as the projector's file says
	ImageMaxTokens int    `koanf:"image_max_tokens"` // likewise
}

// tokensInOrder reports whether a picture's least number of tokens is within its most.
func (p Projector) tokensInOrder() bool {
	return p.ImageMaxTokens == 0 || p.ImageMinTokens <= p.ImageMaxTokens
}

// ProjectorDevice names the device that computes the projector of a model, given those that are
// there besides the CPU, the GPUs first. It is empty if the CPU does.
func (m Model) ProjectorDevice(gpus []string) string {
	switch {
	case m.MMProjDevice == "none", m.MMProjDevice == "" && !m.MMProjOffload:
		return ""
	case m.MMProjDevice != "":
		return m.MMProjDevice
	}
	if i := slices.IndexFunc(m.Device, func(name string) bool { return slices.Contains(gpus, name) || name == "none" }); i >= 0 {
		if m.Device[i] == "none" {
			return ""
		}
		return m.Device[i]
	}
	if len(m.Device) > 0 || len(gpus) == 0 {
		return ""
	}
	return gpus[0]
}

// Models says where models lie and come from, and how many are served.
type Models struct {
	Dir    string        `koanf:"dir"`    // empty: library.DefaultFolder, whose models are not all served
	Hub    string        `koanf:"hub"`    // base URL; empty: HF_ENDPOINT, else the usual hub
	Max    int           `koanf:"max"`    // loaded at once; 0: any number
	Memory int64         `koanf:"memory"` // bytes of all; 0: nine tenths of what is available
	Idle   time.Duration `koanf:"idle"`   // 0: never unloaded
	// IdleMain is Idle for the model of the section model; 0: never unloaded.
	IdleMain time.Duration `koanf:"idle_main"`
}

// Workers says which devices of other machines compute the model, and how they are reached.
type Workers struct {
	RPC      []string `koanf:"rpc"` // HOST:PORT of each
	TLSCert  string   `koanf:"tls_cert"`
	TLSKey   string   `koanf:"tls_key"`
	TLSCA    string   `koanf:"tls_ca"`
	Insecure bool     `koanf:"insecure"`
}

// Encrypted reports whether workers are reached with TLS.
func (w Workers) Encrypted() bool { return w.TLSCert != "" }

// Check says what is missing to reach a worker, or to be reached as one.
func (w Workers) Check(address string) error {
	if w.Encrypted() || w.Insecure || isLoopback(address) {
		return nil
	}
	return fmt.Errorf("%s is not on the loopback interface, and RPC has neither keys nor encryption: name --tls-cert, --tls-key and --tls-ca, or say --insecure where nobody else is on that network", address)
}

// hasWholeTLS reports whether TLS has all that it needs, or nothing.
func (w Workers) hasWholeTLS() bool {
	return (w.TLSCert == "") == (w.TLSKey == "") && (w.TLSCert == "") == (w.TLSCA == "")
}

// Chat says how conversations become prompts, and what their answers are taken for, unless a
// request says otherwise.
type Chat struct {
	Template          string `koanf:"template"`      // Jinja, a file of it, or a name of llama.cpp's; empty: the model's own
	TemplateFile      string `koanf:"template_file"` // a file of Jinja
	TemplateArgs      Object `koanf:"template_kwargs"`
	Reasoning         string `koanf:"reasoning"` // on, off, auto
	ReasoningFormat   string `koanf:"reasoning_format"`
	ReasoningEffort   string `koanf:"reasoning_effort"` // default: the template's own
	ReasoningPreserve bool   `koanf:"reasoning_preserve"`
	ReasoningBudget   int    `koanf:"reasoning_budget"` // tokens; -1: no limit
	ReasoningMessage  string `koanf:"reasoning_budget_message"`
	PrefillAssistant  bool   `koanf:"prefill_assistant"`
}

// Schema says how JSON schemas are read, unless a request says otherwise.
type Schema struct {
	PropertyOrder        string `koanf:"property_order"` // auto, schema, any
	AdditionalProperties bool   `koanf:"additional_properties"`
	WhiteSpace           string `koanf:"white_space"` // free, compact
}

// Sampling says which parameters requests get that do not set them. SamplingSaid has the others.
type Sampling struct {
	FromModel bool `koanf:"from_model"` // those that the model's file brings count
}

// Media bounds the pictures and sounds in requests.
type Media struct {
	ImagePixels  int           `koanf:"image_pixels"`  // of a picture
	SoundLength  time.Duration `koanf:"sound_length"`  // of a sound
	DecodeMemory int64         `koanf:"decode_memory"` // bytes for all requests together
	URLs         string        `koanf:"urls"`          // off, https, http
	URLNetworks  []Network     `koanf:"url_networks"`  // reached besides public addresses
	URLLimit     int64         `koanf:"url_limit"`     // bytes of a request's files
	URLTimeout   time.Duration `koanf:"url_timeout"`   // of a file
	Cache        int64         `koanf:"cache"`         // bytes of what a model's encoder has made
	MaxQueue     int           `koanf:"max_queue"`     // of a model's encoder
}

// Server is the HTTP side.
type Server struct {
	Listen            Address       `koanf:"listen"` // with server.host and server.port in it
	UI                bool          `koanf:"ui"`
	UIDir             string        `koanf:"ui_dir"`        // files in place of the UI's; empty: none
	APIPrefix         string        `koanf:"api_prefix"`    // of all paths; empty: none
	SlotsRoute        bool          `koanf:"slots_route"`   // GET /slots is answered
	MetricsRoute      bool          `koanf:"metrics_route"` // GET /metrics is answered
	PropsRoute        bool          `koanf:"props_route"`   // POST /props says success
	ReusePort         bool          `koanf:"reuse_port"`    // several servers may listen on the port
	SSLCertFile       string        `koanf:"ssl_cert_file"`
	SSLKeyFile        string        `koanf:"ssl_key_file"`
	APIKeys           []string      `koanf:"api_keys"`
	APIKeyFile        string        `koanf:"api_key_file"`
	AdminKey          string        `koanf:"admin_key"`
	PriorityKeys      []string      `koanf:"priority_keys"`       // keys that may ask for a priority above 0
	CacheScope        string        `koanf:"cache_scope"`         // key, all
	TrustedProxies    []Network     `koanf:"trusted_proxies"`     // whose X-Forwarded-For is believed
	CORSOrigins       []string      `koanf:"cors_origins"`        // other origins whose pages may call; "*": any
	RateLimitRequests int           `koanf:"rate_limit_requests"` // a minute for each client; 0: any number
	RateLimitTokens   int           `koanf:"rate_limit_tokens"`   // likewise
	HeaderTimeout     time.Duration `koanf:"header_timeout"`
	BodyTimeout       time.Duration `koanf:"body_timeout"`
	IdleTimeout       time.Duration `koanf:"idle_timeout"`
	BodyLimit         int64         `koanf:"body_limit"`  // bytes
	BodyMemory        int64         `koanf:"body_memory"` // bytes of all bodies together
	GoMemory          int64         `koanf:"go_memory"`   // bytes, a soft limit of what Go manages; 0: the environment's, or none
	WriteTimeout      time.Duration `koanf:"write_timeout"`
	ShutdownDelay     time.Duration `koanf:"shutdown_delay"` // for proxies to notice
	ShutdownTimeout   time.Duration `koanf:"shutdown_timeout"`
	ReplicaName       string        `koanf:"replica_name"`        // empty: the machine's name
	CacheDisk         int64         `koanf:"cache_disk"`          // bytes for conversations on the disk; 0: there are none
	CacheDiskDir      string        `koanf:"cache_disk_dir"`      // empty: penstock/conversations in the user's cache folder
	CacheDiskKeyFile  string        `koanf:"cache_disk_key_file"` // empty: the key is in the folder
}

// NeedsKey reports whether clients must send a key.
func (s Server) NeedsKey() bool { return len(s.APIKeys) > 0 || s.APIKeyFile != "" }

// admitsKeys reports whether the server lets each of the keys in that may do more than others. The
// keys of a file are not known here.
func (s Server) admitsKeys(keys []string) bool {
	return len(s.APIKeys) == 0 || s.APIKeyFile != "" ||
		!slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(s.APIKeys, key) })
}

// Scheduler is how requests share the model.
type Scheduler struct {
	Slots             int           `koanf:"slots"`
	BatchSize         int           `koanf:"batch_size"`
	UBatchSize        int           `koanf:"ubatch_size"`
	MaxQueue          int           `koanf:"max_queue"`
	CacheRAM          int64         `koanf:"cache_ram"`           // bytes for conversations that left the KV cache
	CtxCheckpoints    int           `koanf:"ctx_checkpoints"`     // of a conversation
	CheckpointMinStep int           `koanf:"checkpoint_min_step"` // tokens of a prompt
	NPredict          int           `koanf:"n_predict"`           // tokens of an answer without a limit of its own; -1: until the context is full
	ContextShift      bool          `koanf:"context_shift"`       // an answer goes on when the context is full
	Keep              int           `koanf:"keep"`                // tokens that a shift keeps; -1: the prompt
	ITLTarget         time.Duration `koanf:"itl_target"`          // 0: the scheduler's default
	PrefillShare      float64       `koanf:"prefill_share"`       // of a tick's time; 0: the scheduler's default
	Strategy          string        `koanf:"strategy"`
	SlotSavePath      string        `koanf:"slot_save_path"` // folder for the conversations of slots; empty: they are not saved
}

// Speculation says what guesses tokens of answers.
type Speculation struct {
	Type           []string `koanf:"type"`        // by llama-server's names
	DraftModel     string   `koanf:"draft_model"` // as Model.Path, or a model that is nothing but a head; empty: none
	DraftGPULayers int      `koanf:"draft_gpu_layers"`
	DraftNMax      int      `koanf:"draft_n_max"`  // tokens
	NgramSize      int      `koanf:"ngram_size_n"` // tokens that must be the same
}

// ByModel reports whether a second model guesses tokens.
func (s Speculation) ByModel() bool { return s.Drafts() && s.DraftModel != "" }

// ByHead reports whether a head guesses tokens, if there is one.
func (s Speculation) ByHead() bool {
	return s.DraftModel == "" && slices.Contains(s.Type, "draft-mtp")
}

// ByLookup reports whether tokens are looked up in the text itself.
func (s Speculation) ByLookup() bool {
	return slices.ContainsFunc(s.Type, func(name string) bool { return strings.HasPrefix(name, "ngram-") })
}

// Drafts reports whether anything guesses tokens.
func (s Speculation) Drafts() bool {
	return slices.ContainsFunc(s.Type, func(name string) bool { return name != "none" })
}

// Embedding says what gives embeddings.
type Embedding struct {
	Enabled   bool   `koanf:"enabled"`
	Model     string `koanf:"model"`     // as Model.Path; empty: the model that chats
	Pooling   string `koanf:"pooling"`   // auto, none, mean, cls, last
	Normalize int    `koanf:"normalize"` // as llama.cpp numbers the ways
}

// Rerank says what scores documents.
type Rerank struct {
	Enabled bool   `koanf:"enabled"`
	Model   string `koanf:"model"` // as Model.Path; empty: the model that chats, if it has a classifier
}

// Plugins says where plugins lie and which are always on.
type Plugins struct {
	Dir     string   `koanf:"dir"`
	Bundled string   `koanf:"bundled"` // folder, auto, off
	Indexes []string `koanf:"indexes"` // of which plugins can be installed
	Default []string `koanf:"default"`
	// PolicyFile has more plugins of this kind, with whose requests use them, and how; "": there is
	// no such file.
	PolicyFile string `koanf:"policy_file"`

	Lock   []string `koanf:"lock"`   // NAME@sha256:HEX; none: any module
	Memory int64    `koanf:"memory"` // bytes of all guests together
	Log    bool     `koanf:"log"`    // what guests log in requests is logged; it may quote them

	Scripts    string   `koanf:"scripts"`     // auto, on, off, keys; see Config.Scripts
	ScriptKeys []string `koanf:"script_keys"` // keys whose requests may bring scripts

	Modules    string        `koanf:"modules"`     // on, off, keys: who may upload modules for requests of their own
	ModuleKeys []string      `koanf:"module_keys"` // keys that may
	ModuleTTL  time.Duration `koanf:"module_ttl"`  // from the last use of such a module to its end
}

// Who may bring code, as plugins.scripts and plugins.modules say it.
const (
	CodeOn   = "on"   // everybody who may use the model
	CodeOff  = "off"  // nobody
	CodeKeys = "keys" // whoever has one of plugins.script_keys, or of plugins.module_keys
)

// Scripts tells who may send scripts in requests: CodeOn, CodeOff or CodeKeys. Whether other
// machines reach the server is judged by server.listen, as in Risks.
func (c Config) Scripts() string {
	listen := c.Server.Listen
	switch {
	case c.Plugins.Scripts != "auto":
		return c.Plugins.Scripts
	case len(c.Plugins.ScriptKeys) > 0:
		return CodeKeys
	case len(c.Plugins.Lock) > 0: // the operator has said which code may run
		return CodeOff
	case c.Server.NeedsKey(), listen.Socket != "", listen.Loopback():
		return CodeOn
	}
	return CodeOff
}

// allowsCodeKeys reports whether the keys that may bring code count: the setting for who may bring
// it says keys, and the server lets each of them in.
func (s Server) allowsCodeKeys(who string, keys []string) bool {
	return (len(keys) == 0 || who == CodeKeys) && s.admitsKeys(keys)
}

// Programs bounds what a program, a plugin that writes an answer itself, may use in a request.
type Programs struct {
	Branches int `koanf:"branches"` // at once; 0: a half of the slots, at most 8
	Tokens   int `koanf:"tokens"`   // that it puts into branches; 0: by the request's prompt and max_tokens
	Fuel     int `koanf:"fuel"`     // of all its work, in units
}

// Recordings says what is kept of requests that ask to be recorded.
type Recordings struct {
	Enabled bool          `koanf:"enabled"` // requests may ask
	Dir     string        `koanf:"dir"`     // empty: penstock/recordings in the user's cache folder
	Size    int64         `koanf:"size"`    // bytes of one in memory
	Keep    int           `koanf:"keep"`
	KeepFor time.Duration `koanf:"keep_for"`
}

// Receipts says with what receipts are signed.
type Receipts struct {
	KeyFile string `koanf:"key_file"` // empty: there are none
}

// Log says what is logged and how.
type Log struct {
	Level  string `koanf:"level"`
	Format string `koanf:"format"`
}

// Telemetry says where traces go.
type Telemetry struct {
	OTLPEndpoint string `koanf:"otlp_endpoint"` // of a collector; empty: what the OTEL_ environment says
}

// Services lists the prefixes of variables that were ignored: Kubernetes has set them for Services
// whose names begin as this program's own variables do.
func (c Config) Services() []string { return c.services }

// Given reports whether a key was set, be it to its default.
func (c Config) Given(name string) bool {
	return slices.ContainsFunc(c.settings, func(s Setting) bool { return s.Key.Name == name && s.Origin != "default" })
}

// Settings returns every key with its value and where that came from, in the table's order.
func (c Config) Settings() []Setting { return append([]Setting(nil), c.settings...) }

// NamedModels returns the names of the models of the section models, sorted.
func (c Config) NamedModels() []string { return slices.Sorted(maps.Keys(c.named)) }

// ForModel returns the configuration of another model than that of the section model: for a name of
// the section models what that says, for the name of a file what applies to every model.
func (c Config) ForModel(name string) Config {
	if own, named := c.named[name]; named {
		return own
	}
	l := loader{settings: slices.Clone(c.settings)}
	l.resetForModel(name)
	own, err := l.merge()
	if err != nil {
		return c // it cannot fail: the settings were merged before
	}
	return own
}

// Changed lists the settings of Compute that differ from the defaults, as KEY=VALUE without the
// section.
func (c Config) Changed() []string {
	var changed []string
	for _, s := range c.settings {
		for _, k := range computeKeys {
			if s.Key.Name == k.Name && formatValue(s.Value) != formatValue(k.Default) {
				changed = append(changed, k.Name[len("model."):]+"="+s.String())
			}
		}
	}
	return changed
}

// SamplingSaid returns the sampling parameters that the configuration sets, as texts by the names
// of a request.
func (c Config) SamplingSaid() map[string]string {
	said := map[string]string{}
	for _, s := range c.settings {
		name, is := strings.CutPrefix(s.Key.Name, samplingSection)
		if !is || s.Origin == "default" || name == "from_model" {
			continue
		}
		said[name] = formatValue(s.Value)
	}
	return said
}

// Risk is something that the configuration allows and that is rarely meant.
type Risk struct {
	What   string
	Remedy string
}

// Risks lists what is unsafe. Whether other machines reach the server is judged by server.listen
// alone: a proxy or a container may hide it.
func (c Config) Risks() []Risk {
	s := c.Server
	public := s.Listen.Socket == "" && !s.Listen.Loopback()
	var risks []Risk
	isEverywhere := func(n Network) bool { return n.Bits() == 0 }
	add := func(holds bool, what, remedy string) {
		if holds {
			risks = append(risks, Risk{what, remedy})
		}
	}
	add(public && !s.NeedsKey(), "everybody who can reach "+s.Listen.String()+" may use the model", "ask for a key with --api-key or --api-key-file, or listen on 127.0.0.1")
	add(public && !s.NeedsKey() && c.Plugins.Modules == CodeOn, "everybody who can reach "+s.Listen.String()+" may upload code, which runs in the sandbox of plugins",
		"ask for a key, or name the keys that may with --modules keys --module-key")
	add(public && s.SSLCertFile == "" && (s.NeedsKey() || s.AdminKey != ""), "keys and texts cross the network unencrypted",
		"set --ssl-cert-file and --ssl-key-file, or listen on 127.0.0.1 behind a proxy that has TLS")
	add(slices.Contains(s.CORSOrigins, "*") && !s.NeedsKey(), "every page that a user of this network visits may use the model",
		"name the origins in --cors-origins, or ask for a key")
	short := func(key string) bool { return len(key) < 16 }
	add(slices.ContainsFunc(s.APIKeys, short) || s.AdminKey != "" && short(s.AdminKey), "a key has fewer than 16 characters and may be guessed",
		"make one with openssl rand -hex 32")
	add(slices.Contains(s.APIKeys, s.AdminKey), "an API key is the admin key, so that clients may remove plugins", "use different keys")
	add(slices.ContainsFunc(s.TrustedProxies, isEverywhere), "every client may claim any address",
		"name the addresses of the proxies in server.trusted_proxies")
	add(c.Media.URLs != "off" && slices.ContainsFunc(c.Media.URLNetworks, isEverywhere),
		"every client may have the server fetch from its own machine and network", "name the addresses of the servers with pictures in media.url_networks")
	return risks
}

// namedModel is an entry of the section models whose value is a section of its own: a model with
// its settings, such as
//
//	models:
//	  small:
//	    path: qwen2.5-0.5b-q8_0
//	    ctx_size: 8192
//
// Its keys are those of the sections model, scheduler, chat and sampling.
type namedModel struct {
	name   string
	values map[string]any
	origin string
}

const modelsSection = "models"

// inheritedKeys are the keys of the section model that apply to every model without a value of its
// own. The others describe one model, as do keysOfOneModel.
var inheritedKeys = []string{"model.ctx_size", "model.threads", "model.gpu_layers", "model.fit", "model.fit_target", "model.fit_ctx", "model.kv_layout", "model.kernels", "model.strict",
	"model.device", "model.split_mode", "model.tensor_split", "model.main_gpu", "model.cpu_moe", "model.kv_offload", "model.op_offload", "model.repack", "model.no_host",
	"model.load_mode", "model.lazy_mode", "model.check_tensors", "model.threads_batch", "model.numa",
	"model.mmproj_auto", "model.mmproj_offload", "model.mmproj_device", "model.image_min_tokens", "model.image_max_tokens",
	"model.cache_type_k", "model.cache_type_v", "model.flash_attn", "model.swa_full"}

// keysOfAllModels are keys of the section model of which no model can have a value of its own.
var keysOfAllModels = map[string]bool{"kernels": true, "numa": true}

var keysOfOneModel = []string{"chat.template", "chat.template_file", "embedding.model", "rerank.model"}

// readNamedModels finds the entries in the file's own tree: a name may have dots.
func (l *loader) readNamedModels(file map[string]any, origin string) {
	section, _ := file[modelsSection].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(section)) {
		values, isSection := section[name].(map[string]any)
		known := l.find(modelsSection+"."+name) != nil
		if !isSection && (section[name] != nil || known) {
			continue // a key
		}
		if strings.TrimSpace(name) != name || name == "" {
			l.problems = append(l.problems, fmt.Errorf("%w %s.%q (%s): a name without white space around it", ErrWrongValue, modelsSection, name, origin))
			continue
		}
		l.models = append(l.models, namedModel{name, values, origin})
	}
}

// isOfNamedModel reports whether a flattened key belongs to a model's own section.
func (l *loader) isOfNamedModel(key string) bool {
	return slices.ContainsFunc(l.models, func(m namedModel) bool {
		prefix := modelsSection + "." + m.name
		return key == prefix || strings.HasPrefix(key, prefix+".")
	})
}

// buildNamedModels makes the configurations of the named models. What is wrong with them becomes a
// problem.
func (l *loader) buildNamedModels() map[string]Config {
	configs := map[string]Config{}
	for _, m := range l.models {
		own := &loader{settings: slices.Clone(l.settings)}
		own.resetForModel(m.name)
		for _, key := range slices.Sorted(maps.Keys(m.values)) {
			own.setModelKey(m, key)
		}
		own.fitMicroBatch()
		c, err := own.build()
		if err = errors.Join(append(own.problems, err)...); err != nil {
			l.problems = append(l.problems, fmt.Errorf("model %q (%s.%s): %w", m.name, modelsSection, m.name, err))
		}
		configs[m.name] = c
	}
	return configs
}

// resetForModel makes the settings those of a model by its name, without what the section model
// says of its own model.
func (l *loader) resetForModel(name string) {
	for i := range l.settings {
		s := &l.settings[i]
		if strings.HasPrefix(s.Key.Name, "model.") && !slices.Contains(inheritedKeys, s.Key.Name) || slices.Contains(keysOfOneModel, s.Key.Name) {
			s.Value, s.Origin = s.Key.Default, "default"
		}
	}
	path := l.find("model.path")
	path.Value, path.Origin = name, "the model's name"
}

// setModelKey sets a key of a model's own section.
func (l *loader) setModelKey(m namedModel, key string) {
	for _, section := range []string{"model.", "scheduler.", "chat.", samplingSection} {
		if !keysOfAllModels[key] && l.find(section+key) != nil {
			l.set(section+key, m.values[key], m.origin+", "+modelsSection+"."+m.name)
			return
		}
	}
	want := "keys of the sections model, scheduler, chat and sampling, such as path, ctx_size, slots and temperature"
	if keysOfAllModels[key] {
		want = "it is the same for all models: model." + key
	}
	l.problems = append(l.problems, &Problem{Key: modelsSection + "." + m.name + "." + key, Value: formatValue(m.values[key]), Origin: m.origin, Want: want, kind: ErrUnknownKey})
}
