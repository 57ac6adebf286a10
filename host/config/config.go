// SPDX-License-Identifier: MIT

// Package config reads the configuration: defaults, then a file, the environment and flags, later
// ones winning. Every key stands once, in the table of keys.go; the code that reads, checks, prints
// and documents keys uses that table.
package config

import (
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

// Models says where models lie and come from, and how many are served.
type Models struct {
	Dir    string        `koanf:"dir"`    // empty: library.DefaultFolder, whose models are not all served
	Hub    string        `koanf:"hub"`    // base URL; empty: HF_ENDPOINT, else the usual hub
	Max    int           `koanf:"max"`    // loaded at once; 0: any number
	Memory int64         `koanf:"memory"` // bytes of all; 0: nine tenths of what is available
	Idle   time.Duration `koanf:"idle"`   // 0: never unloaded
	// IdleMain is that of the model of the section model; 0: never.
	IdleMain time.Duration `koanf:"idle_main"`
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

// Sampling says what requests have that do not say it themselves. The parameters are those of
// SamplingSaid.
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

// ByModel reports whether a second model guesses them.
func (s Speculation) ByModel() bool { return s.Drafts() && s.DraftModel != "" }

// ByHead reports whether a head is to guess them, if there is one.
func (s Speculation) ByHead() bool {
	return s.DraftModel == "" && slices.Contains(s.Type, "draft-mtp")
}

// ByLookup reports whether they are looked up in the text itself.
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

// Services are the beginnings of variables that were ignored, since Kubernetes has set them for
// Services that are named as this program's own variables are.
func (c Config) Services() []string { return c.services }

// Given reports whether a key was set, be it to its default.
func (c Config) Given(name string) bool {
	return slices.ContainsFunc(c.settings, func(s Setting) bool { return s.Key.Name == name && s.Origin != "default" })
}

// Settings returns every key with its value and where that came from, in the table's order.
func (c Config) Settings() []Setting { return append([]Setting(nil), c.settings...) }
