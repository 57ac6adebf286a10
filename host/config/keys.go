// SPDX-License-Identifier: MIT

package config

import (
	"cmp"
	"encoding"
	"net"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/sampling"
)

// Kind is the type of a key's value.
type Kind string

// The kinds of values, by the Go type they load as.
const (
	Text     Kind = "text"     // string
	Integer  Kind = "integer"  // int
	Number   Kind = "number"   // float64
	Bytes    Kind = "size"     // int64; "16MiB" or a plain number of bytes
	Duration Kind = "duration" // time.Duration; "30s" or a plain number of milliseconds
	List     Kind = "list"     // []string; commas separate in the environment
	Switch   Kind = "switch"   // bool; a flag of its own means true
)

// Key is one entry of the configuration.
type Key struct {
	Name    string   // section.key
	Flag    string   // of penstock serve, without dashes; empty: none
	Aliases []string // llama-server's other spellings of the flag, with dashes
	Off     []string // its spellings besides --no-FLAG that switch it off
	// Spelt are flags of llama-server that stand for a value, with dashes; Words are values that
	// it spells otherwise.
	Spelt, Words map[string]string
	Numbered     []string // words that it numbers from 0 on; numbers above mean the last
	Unit         string   // of a plain number that the flag is given, as with llama-server's; empty: the kind's own
	Kind         Kind
	Default      any
	Allowed      string // what a value must be, as an error says it
	Help         string // one line
	Secret       bool   // never printed
	Once         bool   // a second flag with another value is a mistake: it would not be added to the first
	Protects     bool   // without it the server is open to more, so an empty text is a mistake

	check func(v any) bool // v has the kind's Go type; nil: everything is allowed
}

// Keys returns the table of all keys.
func Keys() []Key { return append([]Key(nil), table...) }

var table = slices.Concat([]Key{
	{Name: "model.path", Flag: "model", Aliases: []string{"-m"}, Kind: Text, Default: "",
		Help: "GGUF file or name in the model folder; empty: the built-in model"},
	{Name: "model.alias", Flag: "alias", Aliases: []string{"-a"}, Kind: List, Default: []string{}, check: hasNoBlanks,
		Allowed: "names without white space", Help: "names of the model in the API, the main one first; none: the model's own"},
	{Name: "model.tags", Flag: "tags", Kind: List, Default: []string{}, check: hasNoBlanks,
		Allowed: "texts without white space", Help: "texts that the list of models shows for it; they have no other effect"},
	{Name: "model.strict", Flag: "strict-model", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "refuse requests that name another model; otherwise the one model that is served answers them"},
	{Name: "model.ctx_size", Flag: "ctx-size", Aliases: []string{"-c"}, Kind: Integer, Default: 0, check: between(0, 1<<30),
		Allowed: "0 or more tokens", Help: "tokens of context for all slots together; 0: from model and slots"},
	{Name: "model.threads", Flag: "threads", Aliases: []string{"-t"}, Kind: Integer, Default: 0, check: between(0, 1024),
		Allowed: "0 to 1024", Help: "most threads that compute a forward pass, fewer while other programs use the processors; 0: by the physical cores and the size of the model"},
	{Name: "model.gpu_layers", Flag: "gpu-layers", Aliases: []string{"-ngl", "--n-gpu-layers"}, Words: map[string]string{"all": "-1", "auto": "-1"}, Kind: Integer, Default: -1, check: between(-1, 1<<20),
		Allowed: "-1 or more", Help: "layers that the GPU computes; 0: none; -1: all that fit"},
	{Name: "model.fit", Flag: "fit", Aliases: []string{"-fit"}, Kind: Text, Default: "on", check: oneOf("on", "off"),
		Allowed: "on or off", Help: "on: context, slots and GPU layers that are not set are reduced if the model does not fit into memory, and a model that cannot fit is refused; off: the settings are used unchanged"},
	{Name: "model.fit_target", Flag: "fit-target", Aliases: []string{"-fitt"}, Unit: "MiB", Kind: Bytes, Default: int64(0), check: between[int64](0, 1<<50),
		Allowed: "0 to 1PiB", Help: "memory to leave free on each device; 0: 1GiB on a GPU, a tenth of what is available in main memory"},
	{Name: "model.fit_ctx", Flag: "fit-ctx", Aliases: []string{"-fitc"}, Kind: Integer, Default: 4096, check: between(1, 1<<30),
		Allowed: "1 or more tokens", Help: "smallest context of a conversation that model.fit may choose"},

	{Name: "model.kv_layout", Flag: "kv-layout",
		Spelt: map[string]string{"-kvu": "shared", "--kv-unified": "shared", "-no-kvu": "split", "--no-kv-unified": "split"}, Kind: Text, Default: "auto", check: oneOf("auto", "shared", "split"),
		Allowed: "auto, shared or split", Help: "KV cells: shared by all slots, or split so that each has its own; auto: split on a CPU; on a GPU split if each slot then has as many as the model was trained for, else shared"},
	{Name: "model.kernels", Flag: "kernels", Kind: Text, Default: "penstock", check: oneOf("penstock", "amx", "ggml", "plain"),
		Allowed: "penstock, amx, ggml or plain", Help: "CPU kernels to prefer: Penstock's, AMX, those that llama.cpp prefers, or plain ones; they differ in speed and rounding"},
}, computeKeys, projectorKeys, []Key{
	{Name: "model.lora", Flag: "lora", Kind: List, Default: []string{},
		Help: "LoRA adapters (GGUF files) for all requests that name no adapters, with a scale of 1"},
	{Name: "model.lora_scaled", Flag: "lora-scaled", Kind: List, Default: []string{}, check: reads[Scaled],
		Allowed: "FILE:SCALE", Help: "LoRA adapters with another scale"},
	{Name: "model.lora_init_without_apply", Flag: "lora-init-without-apply", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "load LoRA adapters with a scale of 0, for requests that name them"},
	{Name: "model.control_vector", Flag: "control-vector", Kind: List, Default: []string{},
		Help: "control vectors (GGUF files) for all requests"},
	{Name: "model.control_vector_scaled", Flag: "control-vector-scaled", Kind: List, Default: []string{}, check: reads[Scaled],
		Allowed: "FILE:SCALE", Help: "control vectors with a scale other than 1"},
	{Name: "model.control_vector_layer_range", Flag: "control-vector-layer-range", Kind: Text, Default: "", check: reads[Layers],
		Allowed: "FIRST,LAST from 1 on", Help: "layers that control vectors change; empty: all but layer 0"},

	{Name: "models.dir", Flag: "models-dir", Kind: Text, Default: "",
		Help: "folder of the models, for names and for penstock model; if it is given to serve, all models in it are served; empty: penstock/models in the user's data folder"},
	{Name: "models.hub", Flag: "hub", Kind: Text, Default: "", check: isHub,
		Allowed: "a URL such as https://hub.example.org", Help: "hub that models are pulled from, or a mirror of it; empty: HF_ENDPOINT, else https://huggingface.co"},
	{Name: "models.max", Flag: "models-max", Kind: Integer, Default: 4, check: between(0, 1<<16),
		Allowed: "0 or more", Help: "models that are loaded at the same time; 0: any number"},
	{Name: "models.memory", Flag: "models-memory", Kind: Bytes, Default: int64(0), check: between[int64](0, 1<<50),
		Allowed: "0 to 1PiB", Help: "most main memory for all models together; 0: nine tenths of what is available at the start"},
	{Name: "models.idle", Flag: "model-idle", Kind: Duration, Default: 10 * time.Minute, check: between(0, 1000*time.Hour),
		Allowed: "0 to 1000h", Help: "time without requests after which a model is unloaded, unless --model names it; 0: never"},
	{Name: "models.idle_main", Flag: "sleep-idle-seconds", Unit: "s", Words: map[string]string{"-1": "0"}, Kind: Duration, Default: time.Duration(0), check: between(0, 1000*time.Hour),
		Allowed: "0 to 1000h", Help: "time without requests after which the model that --model names is unloaded too; the next request loads it again; 0: never"},

	{Name: "chat.template", Flag: "chat-template", Kind: Text, Default: "",
		Help: "chat template: a file of Jinja, Jinja itself, or the name of one that llama.cpp has code for, such as llama3; empty: NAME.jinja beside NAME.gguf, else the model's own"},
	{Name: "chat.template_file", Flag: "chat-template-file", Kind: Text, Default: "",
		Allowed: "a file, without chat.template", Help: "file of the chat template, in Jinja"},
	{Name: "chat.template_kwargs", Flag: "chat-template-kwargs", Kind: Text, Default: "", check: reads[Object],
		Allowed: "a JSON object", Help: "additional variables for the chat template; a request's chat_template_kwargs are added"},
	{Name: "chat.reasoning", Flag: "reasoning", Aliases: []string{"-rea"}, Kind: Text, Default: "auto", check: oneOf("on", "off", "auto"),
		Allowed: "on, off or auto", Help: "whether models reason before they answer; auto: as the chat template sets it"},
	{Name: "chat.reasoning_format", Flag: "reasoning-format", Kind: Text, Default: "deepseek", check: oneOf("auto", "none", "deepseek", "deepseek-legacy"),
		Allowed: "auto, none, deepseek or deepseek-legacy", Help: "where reasoning goes: none leaves it in the content, the others put it into reasoning_content"},
	{Name: "chat.reasoning_effort", Flag: "reasoning-effort", Kind: Text, Default: "default", check: hasNoBlanks,
		Allowed: "default, or a level that the template knows, such as low", Help: "level of reasoning that the chat template gets"},
	{Name: "chat.reasoning_preserve", Flag: "reasoning-preserve", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "show the model the reasoning of all its turns, if the chat template can"},
	{Name: "chat.reasoning_budget", Flag: "reasoning-budget", Kind: Integer, Default: -1, check: between(-1, 1<<30),
		Allowed: "-1 or more tokens", Help: "longest reasoning; then its end is forced; -1: no limit"},
	{Name: "chat.reasoning_budget_message", Flag: "reasoning-budget-message", Kind: Text, Default: "",
		Help: "text at the end of reasoning that the budget has cut"},
	{Name: "chat.prefill_assistant", Flag: "prefill-assistant", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "let an answer continue the last message if it is the assistant's"},
}, schemaKeys, samplingKeys, mediaKeys, []Key{
	{Name: "server.listen", Flag: "listen", Kind: Text, Default: "127.0.0.1:" + defaultPort, Once: true, check: reads[Address],
		Allowed: "HOST:PORT with a port from 0 to 65535, or the path of a Unix socket that ends in .sock", Help: "address to serve on; without a host all of this machine's; port 0 takes a free one"},
	{Name: "server.host", Flag: "host", Kind: Text, Default: "", Once: true, check: isHost,
		Allowed: "one host name or address, without a port, or the path of a Unix socket that ends in .sock", Help: "replaces the host of server.listen"},
	{Name: "server.port", Flag: "port", Kind: Integer, Default: -1, check: between(-1, 65535),
		Allowed: "-1 to 65535", Help: "replaces the port of server.listen; -1: does not"},
	{Name: "server.ui", Flag: "ui", Aliases: []string{"--webui"}, Kind: Switch, Default: true,
		Allowed: "true or false", Help: "serve the browser UI"},
	{Name: "server.ui_dir", Flag: "path", Kind: Text, Default: "", check: isFolder,
		Allowed: "a folder that exists", Help: "folder of static files to serve in place of the browser UI, also to clients without a key; empty: none"},
	{Name: "server.api_prefix", Flag: "api-prefix", Kind: Text, Default: "", check: isPrefix,
		Allowed: "a path such as /llm, without a slash at the end", Help: "prefix of the paths of all routes, including health, the browser UI and the WebSocket; empty: none"},
	{Name: "server.slots_route", Flag: "slots", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "answer GET /slots, which shows what each slot does"},
	{Name: "server.metrics_route", Flag: "metrics", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "answer GET /metrics, which Prometheus reads"},
	{Name: "server.props_route", Flag: "props", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "answer POST /props as llama-server does with this flag: it reports success and sets nothing"},
	{Name: "server.reuse_port", Flag: "reuse-port", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "let several servers of this machine listen on the same port (SO_REUSEPORT); the system spreads the connections"},
	{Name: "server.ssl_cert_file", Flag: "ssl-cert-file", Kind: Text, Default: "", Protects: true,
		Allowed: "a PEM file, with server.ssl_key_file", Help: "certificate for HTTPS; it is read again when it changes; empty: HTTP"},
	{Name: "server.ssl_key_file", Flag: "ssl-key-file", Kind: Text, Default: "", Protects: true,
		Allowed: "a PEM file, with server.ssl_cert_file", Help: "private key of the certificate"},
	{Name: "server.api_keys", Flag: "api-key", Kind: List, Default: []string{}, Protects: true, check: hasNoBlanks, Secret: true,
		Allowed: "keys without white space", Help: "a client must send one of these keys as a bearer token; none: open to all"},
	{Name: "server.api_key_file", Flag: "api-key-file", Kind: Text, Default: "", Protects: true,
		Help: "file with more such keys, one on each line, optionally followed by a name; it is read again when it changes"},
	{Name: "server.admin_key", Flag: "admin-key", Kind: Text, Default: "", Protects: true, check: hasNoBlanks, Secret: true,
		Allowed: "a key without white space", Help: "key for the admin routes; empty: they are off"},
	{Name: "server.priority_keys", Flag: "priority-key", Kind: List, Default: []string{}, Protects: true, check: hasNoBlanks, Secret: true,
		Allowed: "keys of server.api_keys or server.api_key_file, where there are any", Help: "keys whose requests may ask for a priority above 0; none: no request may"},
	{Name: "server.cache_scope", Flag: "cache-scope", Kind: Text, Default: "key", check: oneOf("key", "all"),
		Allowed: "key or all", Help: "whose cached prompts a request may reuse: those of the same API key, or all"},
	{Name: "server.cache_disk", Flag: "cache-disk", Unit: "MiB", Kind: Bytes, Default: int64(0), check: between[int64](0, 1<<50),
		Allowed: "0 to 1PiB", Help: "disk for long conversations of all models, encrypted, so that a prompt which begins as one of them need not be computed again, even after a restart; 0: none"},
	{Name: "server.cache_disk_dir", Flag: "cache-disk-dir", Kind: Text, Default: "",
		Help: "folder of these conversations, which without server.cache_disk_key_file nobody else may write to; it is made if need be; empty: penstock/conversations in the user's cache folder"},
	{Name: "server.cache_disk_key_file", Flag: "cache-disk-key-file", Kind: Text, Default: "",
		Allowed: "a file of at least 32 bytes", Help: "key that encrypts them; empty: one in their folder, which keeps them from being changed, and not from who can read the folder"},
	{Name: "server.cors_origins", Flag: "cors-origins", Kind: List, Default: []string{}, check: areOrigins,
		Allowed: "origins such as https://chat.example.org, localhost (this machine's, with any port) or *", Help: "other web origins whose pages may call the API"},
	{Name: "server.trusted_proxies", Kind: List, Default: []string{}, check: reads[Network],
		Allowed: "addresses or networks such as 10.0.0.0/8", Help: "proxies whose X-Forwarded-For gives the client's address, for the log and the rate limits; none: the header is ignored"},
	{Name: "server.rate_limit_requests", Flag: "rate-limit-requests", Kind: Integer, Default: 0, check: between(0, 1<<30),
		Allowed: "0 or more", Help: "most requests in a minute for each API key, or each address where no key is asked for; 0: any number"},
	{Name: "server.rate_limit_tokens", Flag: "rate-limit-tokens", Kind: Integer, Default: 0, check: between(0, 1<<30),
		Allowed: "0 or more", Help: "most tokens of prompts and answers in a minute, likewise; 0: any number"},
	{Name: "server.timeout", Flag: "timeout", Aliases: []string{"-to"}, Unit: "s", Kind: Duration, Default: time.Duration(0), check: between(0, 1000*time.Hour),
		Allowed: "0 to 1000h", Help: "replaces server.body_timeout and server.write_timeout; 0: does not"},
	{Name: "server.header_timeout", Kind: Duration, Default: 10 * time.Second, check: between(10*time.Millisecond, time.Hour),
		Allowed: "10ms to 1h", Help: "how long a client may take to send the headers of a request"},
	{Name: "server.body_timeout", Kind: Duration, Default: time.Minute, check: between(10*time.Millisecond, 1000*time.Hour),
		Allowed: "10ms to 1000h", Help: "how long it may take to send the body, or a frame of a WebSocket; a large frame may take longer"},
	{Name: "server.idle_timeout", Kind: Duration, Default: 2 * time.Minute, check: between(10*time.Millisecond, 24*time.Hour),
		Allowed: "10ms to 24h", Help: "how long a connection may wait for its next request"},
	{Name: "server.body_limit", Kind: Bytes, Default: int64(16 << 20), check: between[int64](1<<10, 1<<30),
		Allowed: "1KiB to 1GiB", Help: "largest request body, and largest frame of a WebSocket"},
	{Name: "server.body_memory", Kind: Bytes, Default: int64(256 << 20), check: between[int64](1<<20, 1<<40),
		Allowed: "1MiB to 1TiB", Help: "most memory for all request bodies together: their bytes, and 128 more for each JSON value and key until the request is read; small ones do not count, and one client cannot take all of it"},
	{Name: "server.go_memory", Kind: Bytes, Default: int64(0), check: func(v any) bool { return v == int64(0) || between[int64](32<<20, 1<<40)(v) },
		Allowed: "0, or 32MiB to 1TiB", Help: "soft limit of the memory that Go manages, without models, KV caches and plugins: near it garbage is collected more often, but no request fails; 0: GOMEMLIMIT of the environment, or none"},
	{Name: "server.write_timeout", Kind: Duration, Default: 5 * time.Minute, check: between(time.Second, 1000*time.Hour),
		Allowed: "1s to 1000h", Help: "how long a client may accept no data before its connection is closed"},
	{Name: "server.shutdown_delay", Flag: "shutdown-delay", Kind: Duration, Default: time.Duration(0),
		check: between(0, time.Hour), Allowed: "0s to 1h", Help: "how long new requests are accepted at shutdown, while /readyz already returns 503, so that proxies notice"},
	{Name: "server.shutdown_timeout", Flag: "shutdown-timeout", Kind: Duration, Default: 30 * time.Second,
		check: between(0, time.Hour), Allowed: "0s to 1h", Help: "how long running answers may continue at shutdown"},
	{Name: "server.replica_name", Flag: "replica-name", Kind: Text, Default: "",
		Help: "name of this server among several replicas, in GET /v1/load and the streams of the WebSocket; empty: the machine's"},

	{Name: "scheduler.slots", Flag: "parallel", Aliases: []string{"-np"}, Kind: Integer, Default: 8, check: between(1, 256),
		Allowed: "1 to 256", Help: "answers computed at the same time"},
	{Name: "scheduler.batch_size", Flag: "batch-size", Aliases: []string{"-b"}, Kind: Integer, Default: 2048, check: between(1, 1<<20),
		Allowed: "1 to 1048576 tokens", Help: "most tokens in a forward pass"},
	{Name: "scheduler.ubatch_size", Flag: "ubatch-size", Aliases: []string{"-ub"}, Kind: Integer, Default: 512, check: between(1, 1<<20),
		Allowed: "1 to 1048576 tokens, at most scheduler.batch_size", Help: "most tokens that a pass computes at once"},
	{Name: "scheduler.max_queue", Flag: "max-queue", Kind: Integer, Default: 256, check: between(1, 1<<20),
		Allowed: "1 to 1048576", Help: "requests that may wait for a slot, of one client at most half of what others leave"},
	{Name: "scheduler.n_predict", Flag: "n-predict", Aliases: []string{"-n", "--predict"}, Kind: Integer, Default: -1, check: between(-1, 1<<30),
		Allowed: "-1 or more tokens", Help: "length of an answer whose request sets no limit; -1: until the context is full"},
	{Name: "scheduler.context_shift", Flag: "context-shift", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "let an answer continue when the context is full: the oldest tokens leave it"},
	{Name: "scheduler.keep", Flag: "keep", Kind: Integer, Default: 0, check: between(-1, 1<<30),
		Allowed: "-1 or more tokens", Help: "tokens at the beginning of a prompt that a context shift keeps; -1: all of the prompt"},
	{Name: "scheduler.itl_target", Flag: "itl-target", Kind: Duration, Default: time.Duration(0),
		check: between(0, time.Minute), Allowed: "0 to 1m; a plain number is milliseconds",
		Help: "target for the time between two tokens of a stream while prompts are computed; 0: the measured default"},
	{Name: "scheduler.prefill_share", Flag: "prefill-share", Kind: Number, Default: 0.0, check: between[float64](0, 0.95),
		Allowed: "0 to 0.95", Help: "least share of a tick's time for prompts; 0: the measured default"},
	{Name: "scheduler.cache_ram", Flag: "cache-ram", Aliases: []string{"-cram"}, Unit: "MiB", Kind: Bytes, Default: int64(512 << 20), check: between[int64](0, 1<<40),
		Allowed: "0 to 1TiB", Help: "memory for conversations that leave the KV cache, so that their next turn need not be computed again; 0: none"},
	{Name: "scheduler.ctx_checkpoints", Flag: "ctx-checkpoints", Aliases: []string{"-ctxcp", "--swa-checkpoints"}, Kind: Integer, Default: 32, check: between(0, 1024),
		Allowed: "0 to 1024", Help: "most checkpoints of a conversation, for models whose memory cannot be cut: recurrent and hybrid ones, and those with a sliding window; together they take at most scheduler.cache_ram; 0: none"},
	{Name: "scheduler.checkpoint_min_step", Flag: "checkpoint-min-step", Aliases: []string{"-cms"}, Kind: Integer, Default: 8192, check: between(0, 1<<30),
		Allowed: "0 or more tokens", Help: "tokens of a prompt between two checkpoints, besides those where requests are likely to diverge"},
	{Name: "scheduler.slot_save_path", Flag: "slot-save-path", Kind: Text, Default: "", check: isFolder,
		Allowed: "a folder that exists", Help: "folder to which POST /slots/ID saves the conversations of slots, and from which it restores them; empty: the route is off"},
	{Name: "scheduler.strategy", Flag: "strategy", Kind: Text, Default: "decode-maximal",
		check:   oneOf("decode-maximal", "prefill-priority", "balanced"),
		Allowed: "decode-maximal, prefill-priority or balanced", Help: "what has priority in a tick"},

	{Name: "speculation.type", Flag: "spec-type", Kind: List, Default: []string{"draft-mtp", "ngram-simple"}, check: areDrafters,
		Allowed: "none, draft-mtp, draft-eagle3, draft-dflash, draft-dspark, draft-simple or ngram-simple; llama-server's other ngram types mean the same here",
		Help:    "how the next tokens of answers are guessed, so that one pass computes several: draft-mtp uses the head in the model's own file, if it has one and there is room for it, or in speculation.draft_model, as draft-eagle3, draft-dflash and draft-dspark do; ngram-simple looks for the last tokens in the text before them; draft-simple uses speculation.draft_model; the text stays the same"},
	{Name: "speculation.draft_model", Flag: "spec-draft-model", Aliases: []string{"-md", "--model-draft"}, Kind: Text, Default: "",
		Help: "GGUF file or name in the model folder of a smaller model with the same tokens, which guesses instead of the lookup, or of a head (Gemma 4's assistant, EAGLE-3, DFlash, DSpark), which guesses beside it; empty: none"},
	{Name: "speculation.draft_gpu_layers", Flag: "spec-draft-ngl", Aliases: []string{"-ngld", "--gpu-layers-draft", "--n-gpu-layers-draft"}, Kind: Integer, Default: -1,
		check: between(-1, 1<<20), Allowed: "-1 or more", Help: "layers of the draft model that the GPU computes; 0: none; -1: all that fit"},
	{Name: "speculation.draft_n_max", Flag: "spec-draft-n-max", Aliases: []string{"--draft", "--draft-n", "--draft-max", "--spec-ngram-simple-size-m",
		"--spec-ngram-mod-n-max"}, Kind: Integer, Default: 32, check: between(1, 256),
		Allowed: "1 to 256 tokens", Help: "most tokens guessed at once; the number depends on the accepted guesses and on the load"},
	{Name: "speculation.ngram_size_n", Flag: "spec-ngram-simple-size-n", Aliases: []string{"--spec-ngram-mod-n-match"}, Kind: Integer, Default: 3,
		check: between(1, 1024), Allowed: "1 to 1024 tokens", Help: "fewest last tokens that must have occurred before, so that the tokens after them are guessed"},

	{Name: "embedding.enabled", Flag: "embeddings", Aliases: []string{"--embedding"}, Kind: Switch, Default: false,
		Allowed: "true or false", Help: "load embeddings at the start and not at the first request; MODEL may then be one that only embeds, beside the built-in model"},
	{Name: "embedding.model", Flag: "embedding-model", Kind: Text, Default: "",
		Help: "GGUF file or name in the model folder of a model for embeddings; empty: the model that is served"},
	{Name: "embedding.pooling", Flag: "pooling", Kind: Text, Default: "auto", check: oneOf("auto", "none", "mean", "cls", "last", "rank"),
		Allowed: "auto, none, mean, cls, last or rank", Help: "how the embeddings of a text's tokens become one; auto: as the model's file says; rank: as --reranking"},
	{Name: "embedding.normalize", Flag: "embd-normalize", Kind: Integer, Default: 2, check: between(-1, 64),
		Allowed: "-1 to 64", Help: "how embeddings are normalised: -1: not; 0: to 16-bit integers; 1: taxicab; 2: Euclidean; more: that p-norm"},
	{Name: "rerank.enabled", Flag: "reranking", Aliases: []string{"--rerank"}, Kind: Switch, Default: false,
		Allowed: "true or false", Help: "score documents with the served model, loaded at the start; MODEL may be one that only scores, beside the built-in model"},
	{Name: "rerank.model", Flag: "rerank-model", Kind: Text, Default: "",
		Help: "GGUF file or name in the model folder of a model that scores documents for a query; empty: the model that is served"},

	{Name: "plugins.dir", Flag: "plugin-dir", Kind: Text, Default: "plugins",
		Help: "folder of the plugins"},
	{Name: "plugins.bundled", Flag: "plugin-bundled", Kind: Text, Default: "auto",
		Allowed: "auto, off or a folder with an index.json", Help: "folder of the plugins that come with the server, which those of plugins.dir with the same names replace; auto: ../share/penstock/plugins beside the program's folder, once it is there"},
	{Name: "plugins.indexes", Kind: List, Default: []string{}, check: hasNoBlanks,
		Allowed: "URLs, oci:// references or paths, and then #ed25519:KEY or #sha256:HEX", Help: "the indexes of penstock plugin search and install"},
	{Name: "plugins.default", Flag: "plugin", Kind: List, Default: []string{}, check: hasNoBlanks,
		Allowed: "plugin names", Help: "plugins that every request uses, and that none can drop or configure"},
	{Name: "plugins.policy_file", Flag: "plugin-policy-file", Kind: Text, Default: "", Protects: true,
		Help: "YAML or JSON file of the plugins that requests use by model, API key and route, each with its configuration; it is read again when it changes"},
	{Name: "plugins.lock", Flag: "plugin-lock", Kind: List, Default: []string{}, Protects: true, check: hasNoBlanks,
		Allowed: "entries like NAME@sha256:HEX, as penstock plugin list --lock prints them", Help: "the only plugin modules that are loaded; empty: any"},
	{Name: "plugins.memory", Flag: "plugin-memory", Kind: Bytes, Default: int64(2 << 30), check: between[int64](1<<20, 1<<40),
		Allowed: "1MiB to 1TiB", Help: "most memory for all running plugins of the server together, whatever models they are used with; a request that needs more gets an error"},
	{Name: "plugins.log", Flag: "plugin-log", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "log what plugins print and log in requests; the log may then have texts of prompts and answers"},
}, codeKeys, programKeys, []Key{
	{Name: "recordings.enabled", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "let requests ask for a recording with \"record\": true"},
	{Name: "recordings.dir", Kind: Text, Default: "",
		Help: "folder of the recordings; empty: penstock/recordings in the user's cache folder"},
	{Name: "recordings.size", Kind: Bytes, Default: int64(64 << 20), check: between[int64](1<<10, 1<<34),
		Allowed: "1KiB to 16GiB", Help: "most memory of one recording while its answer is computed; what comes after that is not recorded; all together have four times as much"},
	{Name: "recordings.keep", Kind: Integer, Default: 100, check: between(1, 1<<20),
		Allowed: "1 to 1048576", Help: "recordings that are kept; the oldest go"},
	{Name: "recordings.keep_for", Kind: Duration, Default: 7 * 24 * time.Hour, check: between(time.Minute, 10000*time.Hour),
		Allowed: "1m to 10000h", Help: "how long each is kept"},

	{Name: "receipts.key_file", Flag: "receipt-key-file", Kind: Text, Default: "",
		Allowed: "a PEM file, as penstock receipt key writes it", Help: "key that signs receipts for requests with \"receipt\": true; empty: there are no receipts"},

	{Name: "log.level", Flag: "log-level", Aliases: []string{"-lv", "--verbosity", "--log-verbosity"}, Numbered: []string{"error", "error", "warn", "info", "debug"}, Kind: Text, Default: "info",
		Spelt: map[string]string{"-v": "debug", "--verbose": "debug", "--log-verbose": "debug", "--log-disable": "error"}, check: oneOf("debug", "info", "warn", "error"),
		Allowed: "debug, info, warn or error", Help: "least level that is logged"},
	{Name: "log.format", Flag: "log-format", Spelt: map[string]string{"--log-jsonl": "json", "--no-log-jsonl": "auto"}, Kind: Text, Default: "auto", check: oneOf("auto", "text", "json"),
		Allowed: "auto, text or json", Help: "auto: text on a terminal, json elsewhere"},

	{Name: "telemetry.otlp_endpoint", Flag: "otlp-endpoint", Kind: Text, Default: "", check: isEndpoint,
		Allowed: "an address such as http://127.0.0.1:4318", Help: "OpenTelemetry collector that gets traces over HTTP; empty: as OTEL_EXPORTER_OTLP_ENDPOINT says, or none"},
}, workerKeys)

// kvTypes are what the KV cache may hold.
var kvTypes = []string{"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"}

const allowedKVTypes = "f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0 or q5_1"

// computeKeys say how llama.cpp loads a model and computes with it: the keys of Compute, with
// llama-server's flags.
var computeKeys = []Key{
	{Name: "model.device", Flag: "device", Aliases: []string{"-dev"}, Kind: List, Default: []string{}, check: hasNoBlanks,
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
	{Name: "model.rope_scale", Flag: "rope-scale", Kind: Number, Default: 0.0, check: between[float64](0, 1e6),
		Allowed: "0 to 1000000, without model.rope_freq_scale", Help: "factor by which the context is extended; 0: as the file says"},
	{Name: "model.rope_freq_base", Flag: "rope-freq-base", Kind: Number, Default: 0.0, check: between[float64](0, 1e12),
		Allowed: "0 to 1e12", Help: "base of the frequencies of positions; 0: as the file says"},
	{Name: "model.rope_freq_scale", Flag: "rope-freq-scale", Kind: Number, Default: 0.0, check: func(v any) bool { f := v.(float64); return f == 0 || f >= 1e-6 && f <= 1e6 },
		Allowed: "0, or 0.000001 to 1000000", Help: "factor of the frequencies of positions, 1 divided by model.rope_scale; 0: as the file says"},
	{Name: "model.yarn_orig_ctx", Flag: "yarn-orig-ctx", Kind: Integer, Default: 0, check: between(0, 1<<28),
		Allowed: "0 or more tokens", Help: "context that the model was trained for before YaRN extends it; 0: as the file says"},
	{Name: "model.yarn_ext_factor", Flag: "yarn-ext-factor", Kind: Number, Default: -1.0, check: between[float64](-1, 1000),
		Allowed: "-1 to 1000", Help: "YaRN's mix of extrapolation; 0: interpolation only; -1: as the file says"},
	{Name: "model.yarn_attn_factor", Flag: "yarn-attn-factor", Kind: Number, Default: -1.0, check: between[float64](-1, 1000),
		Allowed: "-1 to 1000", Help: "YaRN's factor of the attention's magnitude; -1: as the file says"},
	{Name: "model.yarn_beta_slow", Flag: "yarn-beta-slow", Kind: Number, Default: -1.0, check: between[float64](-1, 1e6),
		Allowed: "-1 to 1000000", Help: "YaRN's number of rotations below which a frequency is interpolated; -1: as the file says"},
	{Name: "model.yarn_beta_fast", Flag: "yarn-beta-fast", Kind: Number, Default: -1.0, check: between[float64](-1, 1e6),
		Allowed: "-1 to 1000000", Help: "YaRN's number of rotations above which a frequency is left as it is; -1: as the file says"},
}

// projectorKeys are the keys of Projector, with llama-server's flags.
var projectorKeys = []Key{
	{Name: "model.mmproj", Flag: "mmproj", Aliases: []string{"-mm"}, Kind: Text, Default: "",
		Help: "GGUF file of the projector with which the model sees pictures or hears sounds; empty: the one beside the model's file"},
	{Name: "model.mmproj_auto", Flag: "mmproj-auto", Off: []string{"--no-mmproj"}, Kind: Switch, Default: true,
		Allowed: "true or false", Help: "use the projector beside the model's file: mmproj-NAME.gguf, or mmproj*.gguf if the folder has only this model; the file of model.mmproj is always used"},
	{Name: "model.mmproj_offload", Flag: "mmproj-offload", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "let a GPU compute the projector, where there is one"},
	{Name: "model.mmproj_device", Flag: "mmproj-device", Aliases: []string{"-mmdev"}, Kind: Text, Default: "",
		Allowed: "a name that penstock doctor shows, or none", Help: "device that computes the projector; none: the CPU; empty: the first of the model's devices, or the first GPU"},
	{Name: "model.image_min_tokens", Flag: "image-min-tokens", Kind: Integer, Default: 0, check: between(0, mostImageTokens),
		Allowed: "0 to 65536, at most model.image_max_tokens", Help: "fewest tokens of a picture, if the projector allows a choice; 0: as its file says"},
	{Name: "model.image_max_tokens", Flag: "image-max-tokens", Kind: Integer, Default: 0, check: between(0, mostImageTokens),
		Allowed: "0 to 65536", Help: "most tokens of a picture, if the projector allows a choice; 0: as its file says"},
}

const mostImageTokens = 1 << 16

// samplingSection has the sampling parameters of requests that do not set them, named as in a
// request.
const samplingSection = "sampling."

// samplingKeys are the keys of that section, with llama-server's flags. Ranges and defaults are as
// in requests.
var samplingKeys = []Key{
	{Name: samplingSection + "from_model", Flag: "model-sampling", Kind: Switch, Default: true, Allowed: "true or false",
		Help: "use the sampling parameters of the model's file (general.sampling) if neither the request nor these keys set others"},
	{Name: samplingSection + "seed", Flag: "seed", Aliases: []string{"-s"}, Kind: Integer, Default: -1, check: between(-1, 1<<31-1),
		Allowed: "-1 or more", Help: "seed of requests that name none; -1: a random one each time"},
	{Name: samplingSection + "samplers", Flag: "samplers", Aliases: []string{"--sampler-seq", "--sampling-seq"}, Kind: List,
		Default: []string(sampling.Default().Chain), check: areSamplers, Allowed: "names of samplers such as top_k;temperature, letters such as kt, or plugin:NAME",
		Help: "samplers and plugins of a request, in their order"},
	samplingKey("temperature", "", "--temp", "0 takes the most likely token each time"),
	samplingKey("dynatemp_range", "dynatemp-range", "", "the temperature moves up and down by so much, by the entropy; 0: off"),
	samplingKey("dynatemp_exponent", "dynatemp-exp", "", "how the temperature follows the entropy"),
	samplingKey("top_k", "", "", "so many of the most likely tokens stay; 0: all"),
	samplingKey("top_p", "", "", "the most likely tokens with this probability together stay; 1: all"),
	samplingKey("min_p", "", "", "tokens with less than this share of the most likely one's probability go; 0: none"),
	samplingKey("typical_p", "typical", "--typical-p", "the most typical tokens with this probability together stay; 1: all"),
	samplingKey("top_n_sigma", "", "--top-nsigma", "tokens whose logit is within so many standard deviations of the best stay; -1: all"),
	samplingKey("xtc_probability", "", "", "how often the most likely tokens go, so that rarer ones come; 0: never"),
	samplingKey("xtc_threshold", "", "", "probability from which xtc_probability counts; above 0.5: off"),
	samplingKey("repeat_last_n", "", "", "tokens that the penalties look back; -1: the whole context, 0: off"),
	samplingKey("repeat_penalty", "", "", "penalty of tokens that were there; 1: none"),
	samplingKey("presence_penalty", "", "", "subtracted from the logits of tokens that were there"),
	samplingKey("frequency_penalty", "", "", "subtracted from the logit of a token, times how often it was there"),
	samplingKey("dry_multiplier", "", "", "strength of the penalty of repeated sequences; 0: off"),
	samplingKey("dry_base", "", "", "how that penalty grows with the length"),
	samplingKey("dry_allowed_length", "", "", "tokens that may be repeated without that penalty"),
	samplingKey("dry_penalty_last_n", "", "", "tokens that it looks back; -1: the whole context, 0: off"),
	samplingKey("mirostat", "", "", "version of Mirostat, which then chooses alone; 0: off"),
	samplingKey("mirostat_tau", "mirostat-ent", "", "surprise that Mirostat aims at"),
	samplingKey("mirostat_eta", "mirostat-lr", "", "how fast Mirostat learns"),
	samplingKey("adaptive_target", "", "", "probability that adaptive_p aims at; -1: off"),
	samplingKey("adaptive_decay", "", "", "how long adaptive_p remembers"),
}

// samplingKey is the key of a number. An empty flag is the name with dashes.
func samplingKey(name, flag, alias, help string) Key {
	r := sampling.RangeOf(name)
	k := Key{Name: samplingSection + name, Flag: flag, Kind: Number, Default: r.Default, check: between[float64](r.Low, r.High),
		Allowed: strings.TrimPrefix(strings.TrimPrefix(r.Want, "a number "), "an integer "), Help: help}
	if flag == "" {
		k.Flag = strings.ReplaceAll(name, "_", "-")
	}
	if alias != "" {
		k.Aliases = []string{alias}
	}
	if r.Integer {
		k.Kind, k.Default, k.check = Integer, int(r.Default), between(int(r.Low), int(r.High))
	}
	return k
}

// schemaKeys are the section schema: how JSON schemas are read, by the names of a request.
var schemaKeys = []Key{
	{Name: "schema.property_order", Flag: "schema-property-order", Kind: Text, Default: "auto", check: oneOf(sampling.Orders...),
		Allowed: strings.Join(sampling.Orders[:2], ", ") + " or " + sampling.Orders[2],
		Help:    "order of an object's members: as the schema lists them, any, or auto: as it lists them where it forbids others, else any, but members of which it says nothing only after those that it requires"},
	{Name: "schema.additional_properties", Flag: "schema-additional-properties", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "objects may have members that their schema does not list, unless it forbids them; false: only where it says so"},
	{Name: "schema.white_space", Flag: "schema-white-space", Kind: Text, Default: "free", check: oneOf(sampling.Spacings...),
		Allowed: strings.Join(sampling.Spacings, " or "), Help: "white space between the parts of JSON: free within a bound, or compact: none"},
}

// mediaKeys are the section media: pictures and sounds in requests.
var mediaKeys = []Key{
	{Name: "media.image_pixels", Kind: Integer, Default: 50_000_000, check: between(1, 1<<30),
		Allowed: "1 to 1073741824", Help: "most pixels of a picture"},
	{Name: "media.sound_length", Kind: Duration, Default: 10 * time.Minute, check: between(time.Second, 24*time.Hour),
		Allowed: "1s to 24h", Help: "most time that a sound may last"},
	{Name: "media.decode_memory", Kind: Bytes, Default: int64(512 << 20), check: between[int64](1<<20, 1<<40),
		Allowed: "1MiB to 1TiB", Help: "most memory for decoding the pictures and sounds of all requests together, and for what they have become; requests wait for it, and one that needs more is refused"},
	{Name: "media.urls", Kind: Text, Default: "off", check: oneOf("off", "https", "http"),
		Allowed: "off, https or http", Help: "which URLs of pictures and sounds are fetched: none but data: URLs, https alone, or http too; only from public addresses, and without a proxy"},
	{Name: "media.url_networks", Kind: List, Default: []string{}, check: reads[Network],
		Allowed: "addresses or networks such as 10.1.0.0/16", Help: "addresses that such URLs may lead to besides public ones; none: no other"},
	{Name: "media.url_limit", Kind: Bytes, Default: int64(16 << 20), check: between[int64](1<<10, 1<<30),
		Allowed: "1KiB to 1GiB", Help: "most bytes of the files that a request names by URL, together"},
	{Name: "media.url_timeout", Kind: Duration, Default: 20 * time.Second, check: between(10*time.Millisecond, time.Hour),
		Allowed: "10ms to 1h", Help: "how long fetching such a file may take, from looking up its host to its last byte"},
	{Name: "media.cache", Kind: Bytes, Default: int64(256 << 20), check: between[int64](0, 1<<40),
		Allowed: "0 to 1TiB", Help: "most memory for the embeddings of pictures and sounds that a model has seen or heard, so that the same one is not encoded again; of each model; 0: none"},
	{Name: "media.max_queue", Kind: Integer, Default: 64, check: between(1, 1<<16),
		Allowed: "1 to 65536", Help: "pictures and sounds that may wait to be encoded for a model; one that is asked for by several requests counts once"},
}

var codeKeys = []Key{
	{Name: "plugins.scripts", Flag: "scripts", Kind: Text, Default: "auto", check: oneOf("auto", CodeOn, CodeOff, CodeKeys),
		Allowed: "auto, on, off, or keys with plugins.script_keys",
		Help: "who may send scripts in requests: all clients (on), nobody (off), or those of plugins.script_keys (keys); auto: keys where some are listed; " +
			"else off with plugins.lock; else on where the server asks for keys or listens on this machine alone; else off. Scripts in the plugin folder are the operator's, and always there"},
	{Name: "plugins.script_keys", Flag: "script-key", Kind: List, Default: []string{}, Protects: true, check: hasNoBlanks, Secret: true,
		Allowed: "keys of server.api_keys or server.api_key_file, where there are any, with plugins.scripts keys or auto",
		Help:    "keys whose requests may bring scripts; none: as plugins.scripts says"},
	{Name: "plugins.modules", Flag: "modules", Kind: Text, Default: CodeOff, check: oneOf(CodeOn, CodeOff, CodeKeys),
		Allowed: "on, off, or keys with plugins.module_keys",
		Help: "who may upload WebAssembly modules for requests of their own: all clients (on), nobody (off), or those of plugins.module_keys (keys). " +
			"With plugins.lock only modules that it lists are taken"},
	{Name: "plugins.module_keys", Flag: "module-key", Kind: List, Default: []string{}, Protects: true, check: hasNoBlanks, Secret: true,
		Allowed: "keys of server.api_keys or server.api_key_file, where there are any, with plugins.modules keys",
		Help:    "keys that may upload modules for requests of their own"},
	{Name: "plugins.module_ttl", Flag: "module-ttl", Kind: Duration, Default: time.Hour, check: between(time.Second, 10000*time.Hour),
		Allowed: "1s to 10000h", Help: "how long such a module is kept in memory after its last use"},
}

var programKeys = []Key{
	{Name: "programs.branches", Flag: "program-branches", Kind: Integer, Default: 0, check: between(0, 64),
		Allowed: "0 to 64", Help: "most branches that a program has at once, each of which takes a slot; 0: half of the slots, at least 1 and at most 8"},
	{Name: "programs.tokens", Flag: "program-tokens", Kind: Integer, Default: 0, check: between(0, 1<<30),
		Allowed: "0 or more tokens", Help: "most tokens that a program puts into its branches in a request, prompts included; 0: its prompt, and for each branch a prompt, max_tokens and 256"},
	{Name: "programs.fuel", Flag: "program-fuel", Kind: Integer, Default: 100_000_000_000, check: between(1, 1<<60),
		Allowed: "1 or more units", Help: "most fuel of a program in a request, about one unit for each WebAssembly instruction; how much it has between two waits is the ABI's"},
}

var workerKeys = []Key{
	{Name: "workers.rpc", Flag: "rpc", Kind: List, Default: []string{}, check: areWorkers,
		Allowed: "HOST:PORT with a port from 1 to 65535, each once", Help: "workers (penstock worker) whose devices compute the model together with this machine's"},
	{Name: "workers.tls_cert", Flag: "tls-cert", Kind: Text, Default: "", Protects: true,
		Allowed: "a PEM file, with workers.tls_key and workers.tls_ca", Help: "certificate that this host shows to workers"},
	{Name: "workers.tls_key", Flag: "tls-key", Kind: Text, Default: "", Protects: true,
		Allowed: "a PEM file, with workers.tls_cert and workers.tls_ca", Help: "private key of the certificate for workers"},
	{Name: "workers.tls_ca", Flag: "tls-ca", Kind: Text, Default: "", Protects: true,
		Allowed: "a PEM file, with workers.tls_cert and workers.tls_key", Help: "certificates of the authority that has signed those of the workers"},
	{Name: "workers.insecure", Flag: "insecure", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "reach workers of other machines without TLS: whoever can read or change what crosses the network can read all texts and change all answers"},
}

// between is a key's check: its value, of type T, lies between two others. NaN does not.
func between[T cmp.Ordered](low, high T) func(any) bool {
	return func(v any) bool { x := v.(T); return x >= low && x <= high }
}

func oneOf(names ...string) func(any) bool {
	return func(v any) bool { return slices.Contains(names, v.(string)) }
}

// areDrafters accepts llama-server's types of speculative decoding.
func areDrafters(v any) bool {
	return !slices.ContainsFunc(v.([]string), func(s string) bool {
		return !slices.Contains([]string{"none", "draft-simple", "draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"}, s)
	})
}

// hasNoBlanks accepts a text, which may be empty, or a list of texts that are not.
func hasNoBlanks(v any) bool {
	if text, ok := v.(string); ok {
		return !strings.ContainsAny(text, " \t\r\n")
	}
	return !slices.ContainsFunc(v.([]string), func(s string) bool { return s == "" || strings.ContainsAny(s, " \t\r\n") })
}

func areOrigins(v any) bool {
	return !slices.ContainsFunc(v.([]string), func(s string) bool {
		if s == "*" || s == "localhost" {
			return false
		}
		u, err := url.Parse(s)
		return err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.Path != ""
	})
}

func isEndpoint(v any) bool {
	if v.(string) == "" {
		return true
	}
	u, err := url.Parse(v.(string))
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func isHub(v any) bool {
	text := v.(string)
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.RawQuery == ""
}

func isFolder(v any) bool {
	folder := v.(string)
	stat, err := os.Stat(folder)
	return folder == "" || err == nil && stat.IsDir()
}

// isPrefix accepts paths without escapes, so that each has one spelling.
func isPrefix(v any) bool {
	prefix := v.(string)
	return prefix == "" || prefix != "/" && strings.HasPrefix(prefix, "/") && path.Clean(prefix) == prefix &&
		!strings.ContainsFunc(prefix, func(r rune) bool { return !strings.ContainsRune("/-._~", r) && !isLetterOrDigit(r) })
}

func isLetterOrDigit(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

func areWorkers(v any) bool {
	known := map[string]bool{}
	for _, address := range v.([]string) {
		host, port, err := net.SplitHostPort(address)
		n, badPort := strconv.Atoi(port)
		if err != nil || badPort != nil || host == "" || n < 1 || n > 65535 || known[address] {
			return false
		}
		known[address] = true
	}
	return true
}

func areSamplers(v any) bool {
	_, err := sampling.Default().Over(map[string]string{"samplers": strings.Join(v.([]string), ",")})
	return err == nil
}

// reads is a key's check: a T reads each text of the value, as the field of Config does when the
// configuration is loaded.
func reads[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](v any) bool {
	texts, isList := v.([]string)
	if !isList {
		texts = []string{v.(string)}
	}
	for _, text := range texts {
		if P(new(T)).UnmarshalText([]byte(text)) != nil {
			return false
		}
	}
	return true
}

func isHost(v any) bool {
	_, err := parseHost(v.(string))
	return v.(string) == "" || err == nil
}
