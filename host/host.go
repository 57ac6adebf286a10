// SPDX-License-Identifier: MIT

// Package host assembles a server: configuration, model, scheduler, API. It starts and stops them.
//
// # Why a delay before new requests are refused?
//
// A proxy can send a refused request again only if it still has all of it, which HAProxy has of
// those that fit into a buffer. So none is refused before the proxy has noticed, and sending
// again is for what comes late.
//
// # Why is a conversation's replica remembered, and not found by a hash?
//
// Both survive a replica that leaves. With a consistent hash a conversation moves when its
// replica leaves and once more when that comes back, with a cold cache both times; remembered, it
// moves once. New conversations go to the least loaded replica, which a hash does not know.
//
// # Why does Go run three goroutines at once on two processors?
//
// Go checks the network when it has no goroutine to run, and otherwise only every 10 ms. A guest
// can always run, so with a guest and a forward pass on two processors, finished tokens lay
// waiting for 10 or 20 ms. With a third goroutine, one is free to wait for the network, and the
// operating system divides the processors by microseconds. The longest gaps beside hostile guests
// (TestHost_HostileGuests_HoldUpNobody) went from 10 to 34 ms down to 8 to 18 ms.
package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/policy"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/cgroup"
	"github.com/penstock/penstock/plugins/script"
)

// Options are what Open needs besides the configuration.
type Options struct {
	Config   config.Config
	Log      *slog.Logger       // nil: as configured, to standard error, with a level that the admin may change
	UI       fs.FS              // the browser UI's files; nil: none
	Version  string             // of this program
	Progress func(done float32) // called with 0 to 1 while the weights load; may be nil
	Ready    func(url string)   // called once requests are taken; may be nil
}

// Host is a server with its models and its plugins.
type Host struct {
	plugins  *loading.Plugins
	models   *models
	core     *loading.Core // the first model's, as it was loaded at the start; nil if there is none
	config   config.Config
	log      *slog.Logger
	listener net.Listener
	tls      *tls.Config // nil: connections are not encrypted
	server   *http.Server
	ready    func(url string)
	level    *slog.LevelVar // of the log; nil where it is not the host's own
	keys     func() access.Keys
	metrics  *telemetry.Server
	traces   *telemetry.Traces // nil: none
	front
	ending
}

// front is what answers requests: the page and what leads to the API.
type front struct {
	files   *os.Root // in the place of the page; nil: none
	ui      fs.FS    // the files of the page; nil: none
	handler atomic.Pointer[http.Handler]
	loaded  atomic.Uint32 // the bits of a float32: how much of the first model is loaded, from 0 to 1
}

// ending is how a host comes to its end.
type ending struct {
	accepts  atomic.Bool   // new requests are taken
	requests inFlight      // those being answered, WebSockets too
	held     inFlight      // what is to reach its client before the host ends
	draining chan struct{} // closed when no new answers are taken any more
	done     chan struct{} // closed when every answer has ended and is sent, or time is up
	abort    context.CancelFunc
	served   chan error
	finish   func() error // what Close does, once
}

// Open listens, loads the model and sets everything up. From the start /livez and the page are
// there, and everything else says 503, until Run takes requests. It stops soon after ctx is done.
func Open(ctx context.Context, o Options) (*Host, error) {
	h := &Host{config: o.Config, log: o.Log, ready: o.Ready,
		ending: ending{draining: make(chan struct{}), done: make(chan struct{}), served: make(chan error, 1)}}
	if h.log == nil {
		h.level = telemetry.Level(o.Config.Log.Level)
		h.log = telemetry.NewLogger(os.Stderr, h.level, o.Config.Log.Format)
	}
	h.finish = sync.OnceValue(h.close)
	chooseParallelism()
	limitMemory(o.Config.Server.GoMemory)
	var err error
	if h.tls, err = tlsConfig(o.Config.Server, h.log); err != nil {
		return nil, err
	}
	if h.listener, err = Listen(ctx, o.Config.Server.Listen, o.Config.Server.ReusePort); err != nil {
		return nil, fmt.Errorf("server.listen: %w", err)
	}
	h.log.Info("listening", slog.String("on", listeningOn(h.listener.Addr())))
	if h.ui, err = h.page(o.UI); err != nil {
		return nil, errors.Join(err, h.listener.Close())
	}
	h.serve()
	h.warn()
	if err = h.setUpAccess(ctx, o.Version); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	native.SetLogger(h.log.With(slog.String("from", "llama.cpp")))
	if h.plugins, err = loading.OpenPlugins(ctx, o.Config, h.log); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.metrics.PluginMemory(h.plugins.MemoryUse)
	receipts, err := openReceipts(o.Config.Receipts, o.Version, h.log)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	disk, err := openDisk(o.Config, h.log)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if disk != nil {
		h.metrics.Disk(disk.Stats)
	}
	h.models = newModels(o.Config, h.log, h.plugins, receipts, disk, h.noteProgress(o.Progress))
	if err = h.attachPlugins(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if err = h.openFirst(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.handle(h.api(o))
	return h, nil
}

// attachPlugins has requests use the plugins that the operator attaches to them, by what the file
// of policies says at the time.
func (h *Host) attachPlugins() error {
	c := h.config.Plugins
	if len(c.Default) == 0 && c.PolicyFile == "" {
		return nil
	}
	load := func() ([]policy.Attached, error) {
		known := policy.Known{Model: h.models.trueName, Key: func(name string) bool { return h.keys().Names(name) }}
		all, err := h.plugins.ReadPolicies(c, known)
		for i := range all {
			h.log.Info("a policy is in force", slog.String("plugin", all[i].String()))
		}
		return all, err
	}
	var files []string
	if c.PolicyFile != "" {
		files = append(files, c.PolicyFile)
	}
	policies, err := newReloaded(h.log, load, files...)
	if err != nil {
		return err
	}
	h.plugins.Attach(policies.Get)
	return nil
}

// openReceipts reads the key of receipts; nil: there are none.
func openReceipts(c config.Receipts, version string, log *slog.Logger) (*receipt.Signer, error) {
	if c.KeyFile == "" {
		return nil, nil
	}
	key, err := receipt.ReadKey(c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("receipts.key_file: %w", err)
	}
	if info, err := os.Stat(c.KeyFile); err == nil && info.Mode()&0o007 != 0 && runtime.GOOS != "windows" {
		log.Warn("every user of this machine may use the key that signs receipts", slog.String("file", c.KeyFile), slog.String("remedy", "chmod o= "+c.KeyFile))
	}
	log.Info("receipts are signed", slog.String("key", key.ID()))
	return receipt.NewSigner(key, "penstock "+version), nil
}

// openFirst loads the model that is served from the start. The others are loaded when they are
// asked for.
func (h *Host) openFirst(ctx context.Context) error {
	if h.models.first == "" {
		h.log.Info("models are loaded when they are asked for", slog.Any("models", h.models.names()))
		return nil
	}
	r, release, err := h.models.set.Use(ctx, h.models.first)
	if err != nil {
		return err
	}
	defer release()
	h.core = r
	return nil
}

func (h *Host) api(o Options) http.Handler {
	s := o.Config.Server
	var proxies []*net.IPNet
	for _, network := range s.TrustedProxies {
		proxies = append(proxies, network.IPNet())
	}
	options := api.Options{
		Models: h.models, Catalog: catalog{h.plugins}, Policies: h.plugins.Policies, Folder: folder{h.models},
		Log: h.log, LogLevel: h.level, Version: o.Version, Declarations: script.Declarations, Replica: replicaName(s),
		Sinks: []func(operation.Record){h.metrics.Ended},
		Clients: api.Clients{Keys: h.keys, Limiter: access.NewLimiter(access.Limits{Requests: s.RateLimitRequests, Tokens: s.RateLimitTokens}),
			Scripts: scriptAccess(o.Config), Uploads: moduleAccess(o.Config), ShareCache: s.CacheScope == "all", Proxies: proxies, Origins: s.CORSOrigins},
		Bounds: api.Bounds{BodyLimit: s.BodyLimit, BodyMemory: s.BodyMemory, ModuleLimit: int64(plugin.DefaultLimits().Module.ModuleBytes),
			Media: loading.MediaBounds(o.Config.Media)},
		Timing:  api.Timing{BodyTimeout: s.BodyTimeout, WriteTimeout: s.WriteTimeout},
		Served:  api.Served{Prefix: s.APIPrefix, NoSlots: !s.SlotsRoute, Props: s.PropsRoute, Metrics: h.metrics.Handler(h.models.metrics), UI: h.ui, OwnUI: s.UIDir != ""},
		Running: api.Running{Ready: h.isReady, Hold: h.hold, Draining: h.draining, Done: h.done},
	}
	if h.plugins.Modules != nil {
		options.Modules = modules{h.plugins.Modules}
	}
	if !s.MetricsRoute {
		options.Metrics = nil
	}
	if h.models.recordings != nil {
		options.Recordings = h.models.recordings
	}
	if r := h.models.receipts; r != nil {
		keys := r.Key.Public()
		options.ReceiptKeys = &keys
	}
	if h.traces != nil {
		options.Sinks = append(options.Sinks, h.traces.Ended)
	}
	return api.New(options)
}

// scriptAccess says who may bring scripts; nil: nobody.
func scriptAccess(c config.Config) *access.Code {
	if who := c.Scripts(); who != config.CodeOff {
		return access.NewScriptAccess(who == config.CodeKeys)
	}
	return nil
}

// moduleAccess says who may bring modules; nil: nobody.
func moduleAccess(c config.Config) *access.Code {
	if who := c.Plugins.Modules; who != config.CodeOff {
		return access.NewModuleAccess(who == config.CodeKeys)
	}
	return nil
}

// replicaName names this server among others that serve the same. In a pod of Kubernetes the
// machine's name is the pod's.
func replicaName(s config.Server) string {
	if s.ReplicaName != "" {
		return s.ReplicaName
	}
	name, _ := os.Hostname() // without one it is the empty text
	return name
}

// isReady reports whether new requests are taken and the first model can compute them. One that
// was unloaded is loaded for them.
func (h *Host) isReady() bool {
	if !h.accepts.Load() || h.core == nil {
		return h.accepts.Load()
	}
	first, loaded := h.models.set.Loaded(h.models.first)
	return !loaded || !first.Lost()
}

// warn logs what is unsafe, and what may be missed.
func (h *Host) warn() {
	for _, service := range h.config.Services() {
		h.log.Warn("variables that Kubernetes sets for a Service are ignored", slog.String("service", service), slog.String("variables", service+"_SERVICE_… and "+service+"_PORT…"),
			slog.String("remedy", "set enableServiceLinks: false for the pod, or name the Service otherwise"))
	}
	for _, risk := range h.config.Risks() {
		h.log.Warn(risk.What, slog.String("remedy", risk.Remedy))
	}
}

// Handler answers requests as they are answered on the listener.
func (h *Host) Handler() http.Handler { return http.HandlerFunc(h.answer) }

// Close ends the host, whatever it does. It may be called again.
func (h *Host) Close() error { return h.finish() }

// setUpAccess reads the keys, and prepares what is reported of requests.
func (h *Host) setUpAccess(ctx context.Context, version string) (err error) {
	s := h.config.Server
	clients := make([]access.Secret, len(s.APIKeys))
	for i, key := range s.APIKeys {
		clients[i] = access.Secret{Key: key}
	}
	may := access.Listed{Priority: s.PriorityKeys, Scripts: h.config.Plugins.ScriptKeys, Modules: h.config.Plugins.ModuleKeys}
	load := func() (access.Keys, error) {
		if s.APIKeyFile == "" {
			return access.NewKeys(clients, s.AdminKey, may), nil
		}
		more, err := access.ReadKeyFile(s.APIKeyFile)
		return access.NewKeys(append(clients[:len(clients):len(clients)], more...), s.AdminKey, may), err
	}
	var files []string
	if s.APIKeyFile != "" {
		files = append(files, s.APIKeyFile)
	}
	keys, err := newReloaded(h.log, load, files...)
	if err != nil {
		return err
	}
	h.keys = keys.Get
	h.metrics = telemetry.NewServer(version)
	h.traces, err = telemetry.NewTraces(ctx, h.config.Telemetry.OTLPEndpoint, version, h.log)
	return err
}

// leastParallel is how many goroutines must be able to run at once: one of a guest, which nothing
// preempts, one that waits for a forward pass, and one that sends what was generated. With fewer,
// Go looks at the network only every ten milliseconds while a guest computes.
const leastParallel = 3

// chooseParallelism lets Go run as many goroutines at once as this process may use processors, at
// least leastParallel, unless the environment says how many. The operating system preempts guests;
// Go cannot. Go itself knows of the processors, and of the limit of the innermost control group
// alone.
func chooseParallelism() {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	if n := parallelism(runtime.GOMAXPROCS(0), cgroup.Processors()); n != runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}

// parallelism is how many goroutines may run at once where Go would have had others, and there is
// so much processor time. A part of a processor counts as one: goroutines seldom compute all the
// time.
func parallelism(others int, processors float64) int {
	return max(leastParallel, int(min(float64(others), math.Ceil(processors))))
}

// limitMemory has Go collect garbage more often once it manages that many bytes; 0 leaves the
// limit as the environment has set it. The limit is a soft one: what is in use stays.
func limitMemory(bytes int64) {
	if bytes > 0 {
		debug.SetMemoryLimit(bytes)
	}
}

// reloadInterval is how often files are looked at, at most.
const reloadInterval = time.Second

// reloaded is what was read from files. It is read again when they change, and stays while they
// are broken. Its methods may be called from any goroutine.
type reloaded[T any] struct {
	load  func() (T, error)
	files []string
	log   *slog.Logger

	mu      sync.Mutex
	value   T
	stamps  []fileStamp
	checked time.Time
	failed  string // why the files as they are now could not be used
}

// fileStamp tells whether a file has changed. Another file under the same name, as a renamed or
// linked one, has another time.
type fileStamp struct {
	modified time.Time
	size     int64
}

// newReloaded reads the files with load. From then on Get calls load again when one of them has
// changed. If that fails, it is logged, and the value stays.
func newReloaded[T any](log *slog.Logger, load func() (T, error), files ...string) (*reloaded[T], error) {
	v := &reloaded[T]{load: load, files: files, log: log, stamps: stampsOf(files), checked: time.Now()}
	var err error
	if v.value, err = load(); err != nil {
		return nil, err
	}
	return v, nil
}

// Get returns the value. It looks at the files no more than once a second.
func (v *reloaded[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if now.Sub(v.checked) < reloadInterval {
		return v.value
	}
	v.checked = now
	current := stampsOf(v.files)
	if v.failed == "" && slices.EqualFunc(current, v.stamps, fileStamp.equal) {
		return v.value
	}
	v.stamps = current
	value, err := v.load()
	if err != nil {
		if v.failed != err.Error() { // what the files name may come to be there without a change of theirs
			v.log.Error("changed files cannot be used; what was read before stays until they can be", slog.Any("files", v.files), slog.Any("error", err))
		}
		v.failed = err.Error()
		return v.value
	}
	v.value, v.failed = value, ""
	v.log.Info("changed files were read again", slog.Any("files", v.files))
	return v.value
}

func stampsOf(files []string) []fileStamp {
	out := make([]fileStamp, len(files))
	for i, name := range files {
		if info, err := os.Stat(name); err == nil { // a missing file has a stamp of its own, the zero one
			out[i] = fileStamp{info.ModTime(), info.Size()}
		}
	}
	return out
}

func (s fileStamp) equal(o fileStamp) bool { return s.size == o.size && s.modified.Equal(o.modified) }
