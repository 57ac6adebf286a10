// SPDX-License-Identifier: MIT

package config

import (
	"slices"
	"time"
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
	{Name: "model.alias", Flag: "alias", Aliases: []string{"-a"}, Kind: List, Default: []string{}, check: noBlanks,
		Allowed: "names without white space", Help: "names of the model in the API, the main one first; none: the model's own"},
	{Name: "model.tags", Flag: "tags", Kind: List, Default: []string{}, check: noBlanks,
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
	{Name: "model.fit_target", Flag: "fit-target", Aliases: []string{"-fitt"}, Unit: "MiB", Kind: Bytes, Default: int64(0), check: sized(0, 1<<50),
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
	{Name: "models.memory", Flag: "models-memory", Kind: Bytes, Default: int64(0), check: sized(0, 1<<50),
		Allowed: "0 to 1PiB", Help: "most main memory for all models together; 0: nine tenths of what is available at the start"},
	{Name: "models.idle", Flag: "model-idle", Kind: Duration, Default: 10 * time.Minute, check: lasting(0, 1000*time.Hour),
		Allowed: "0 to 1000h", Help: "time without requests after which a model is unloaded, unless --model names it; 0: never"},
	{Name: "models.idle_main", Flag: "sleep-idle-seconds", Unit: "s", Words: map[string]string{"-1": "0"}, Kind: Duration, Default: time.Duration(0), check: lasting(0, 1000*time.Hour),
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
	{Name: "chat.reasoning_effort", Flag: "reasoning-effort", Kind: Text, Default: "default", check: noBlanks,
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
	{Name: "server.api_keys", Flag: "api-key", Kind: List, Default: []string{}, Protects: true, check: noBlanks, Secret: true,
		Allowed: "keys without white space", Help: "a client must send one of these keys as a bearer token; none: open to all"},
	{Name: "server.api_key_file", Flag: "api-key-file", Kind: Text, Default: "", Protects: true,
		Help: "file with more such keys, one on each line, optionally followed by a name; it is read again when it changes"},
	{Name: "server.admin_key", Flag: "admin-key", Kind: Text, Default: "", Protects: true, check: noBlanks, Secret: true,
		Allowed: "a key without white space", Help: "key for the admin routes; empty: they are off"},
	{Name: "server.priority_keys", Flag: "priority-key", Kind: List, Default: []string{}, Protects: true, check: noBlanks, Secret: true,
		Allowed: "keys of server.api_keys or server.api_key_file, where there are any", Help: "keys whose requests may ask for a priority above 0; none: no request may"},
	{Name: "server.cache_scope", Flag: "cache-scope", Kind: Text, Default: "key", check: oneOf("key", "all"),
		Allowed: "key or all", Help: "whose cached prompts a request may reuse: those of the same API key, or all"},
	{Name: "server.cache_disk", Flag: "cache-disk", Unit: "MiB", Kind: Bytes, Default: int64(0), check: sized(0, 1<<50),
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
	{Name: "server.timeout", Flag: "timeout", Aliases: []string{"-to"}, Unit: "s", Kind: Duration, Default: time.Duration(0), check: lasting(0, 1000*time.Hour),
		Allowed: "0 to 1000h", Help: "replaces server.body_timeout and server.write_timeout; 0: does not"},
	{Name: "server.header_timeout", Kind: Duration, Default: 10 * time.Second, check: lasting(10*time.Millisecond, time.Hour),
		Allowed: "10ms to 1h", Help: "how long a client may take to send the headers of a request"},
	{Name: "server.body_timeout", Kind: Duration, Default: time.Minute, check: lasting(10*time.Millisecond, 1000*time.Hour),
		Allowed: "10ms to 1000h", Help: "how long it may take to send the body, or a frame of a WebSocket; a large frame may take longer"},
	{Name: "server.idle_timeout", Kind: Duration, Default: 2 * time.Minute, check: lasting(10*time.Millisecond, 24*time.Hour),
		Allowed: "10ms to 24h", Help: "how long a connection may wait for its next request"},
	{Name: "server.body_limit", Kind: Bytes, Default: int64(16 << 20), check: sized(1<<10, 1<<30),
		Allowed: "1KiB to 1GiB", Help: "largest request body, and largest frame of a WebSocket"},
	{Name: "server.body_memory", Kind: Bytes, Default: int64(256 << 20), check: sized(1<<20, 1<<40),
		Allowed: "1MiB to 1TiB", Help: "most memory for all request bodies together: their bytes, and 128 more for each JSON value and key until the request is read; small ones do not count, and one client cannot take all of it"},
	{Name: "server.go_memory", Kind: Bytes, Default: int64(0), check: func(v any) bool { return v == int64(0) || sized(32<<20, 1<<40)(v) },
		Allowed: "0, or 32MiB to 1TiB", Help: "soft limit of the memory that Go manages, without models, KV caches and plugins: near it garbage is collected more often, but no request fails; 0: GOMEMLIMIT of the environment, or none"},
	{Name: "server.write_timeout", Kind: Duration, Default: 5 * time.Minute, check: lasting(time.Second, 1000*time.Hour),
		Allowed: "1s to 1000h", Help: "how long a client may accept no data before its connection is closed"},
	{Name: "server.shutdown_delay", Flag: "shutdown-delay", Kind: Duration, Default: time.Duration(0),
		check: lasting(0, time.Hour), Allowed: "0s to 1h", Help: "how long new requests are accepted at shutdown, while /readyz already returns 503, so that proxies notice"},
	{Name: "server.shutdown_timeout", Flag: "shutdown-timeout", Kind: Duration, Default: 30 * time.Second,
		check: lasting(0, time.Hour), Allowed: "0s to 1h", Help: "how long running answers may continue at shutdown"},
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
		check: lasting(0, time.Minute), Allowed: "0 to 1m; a plain number is milliseconds",
		Help: "target for the time between two tokens of a stream while prompts are computed; 0: the measured default"},
	{Name: "scheduler.prefill_share", Flag: "prefill-share", Kind: Number, Default: 0.0, check: within(0, 0.95),
		Allowed: "0 to 0.95", Help: "least share of a tick's time for prompts; 0: the measured default"},
	{Name: "scheduler.cache_ram", Flag: "cache-ram", Aliases: []string{"-cram"}, Unit: "MiB", Kind: Bytes, Default: int64(512 << 20), check: sized(0, 1<<40),
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
		Allowed: "none, draft-mtp, draft-eagle3, draft-simple or ngram-simple; llama-server's other ngram types mean the same here",
		Help:    "how the next tokens of answers are guessed, so that one pass computes several: draft-mtp uses the head in the model's own file, if it has one and there is room for it, or in speculation.draft_model, as draft-eagle3 does; ngram-simple looks for the last tokens in the text before them; draft-simple uses speculation.draft_model; the text stays the same"},
	{Name: "speculation.draft_model", Flag: "spec-draft-model", Aliases: []string{"-md", "--model-draft"}, Kind: Text, Default: "",
		Help: "GGUF file or name in the model folder of a smaller model with the same tokens, which guesses instead of the lookup, or of a head (Gemma 4's assistant, EAGLE-3), which guesses beside it; empty: none"},
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
	{Name: "plugins.indexes", Kind: List, Default: []string{}, check: noBlanks,
		Allowed: "URLs, oci:// references or paths, and then #ed25519:KEY or #sha256:HEX", Help: "the indexes of penstock plugin search and install"},
	{Name: "plugins.default", Flag: "plugin", Kind: List, Default: []string{}, check: noBlanks,
		Allowed: "plugin names", Help: "plugins that every request uses, and that none can drop or configure"},
	{Name: "plugins.policy_file", Flag: "plugin-policy-file", Kind: Text, Default: "", Protects: true,
		Help: "YAML or JSON file of the plugins that requests use by model, API key and route, each with its configuration; it is read again when it changes"},
	{Name: "plugins.lock", Flag: "plugin-lock", Kind: List, Default: []string{}, Protects: true, check: noBlanks,
		Allowed: "entries like NAME@sha256:HEX, as penstock plugin list --lock prints them", Help: "the only plugin modules that are loaded; empty: any"},
	{Name: "plugins.memory", Flag: "plugin-memory", Kind: Bytes, Default: int64(2 << 30), check: sized(1<<20, 1<<40),
		Allowed: "1MiB to 1TiB", Help: "most memory for all running plugins of the server together, whatever models they are used with; a request that needs more gets an error"},
	{Name: "plugins.log", Flag: "plugin-log", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "log what plugins print and log in requests; the log may then have texts of prompts and answers"},
}, codeKeys, programKeys, []Key{
	{Name: "recordings.enabled", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "let requests ask for a recording with \"record\": true"},
	{Name: "recordings.dir", Kind: Text, Default: "",
		Help: "folder of the recordings; empty: penstock/recordings in the user's cache folder"},
	{Name: "recordings.size", Kind: Bytes, Default: int64(64 << 20), check: sized(1<<10, 1<<34),
		Allowed: "1KiB to 16GiB", Help: "most memory of one recording while its answer is computed; what comes after that is not recorded; all together have four times as much"},
	{Name: "recordings.keep", Kind: Integer, Default: 100, check: between(1, 1<<20),
		Allowed: "1 to 1048576", Help: "recordings that are kept; the oldest go"},
	{Name: "recordings.keep_for", Kind: Duration, Default: 7 * 24 * time.Hour, check: lasting(time.Minute, 10000*time.Hour),
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
