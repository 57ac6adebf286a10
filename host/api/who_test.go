// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// who may use a route or a frame.
type who int

const (
	anybody who = iota // without a key, too
	client             // with any key
	owner              // with the key whose thing it is: to others it does not exist
	ownerOrAdmin
	admin
)

// routeAccess says who may use a route, and what it shows a client of others.
type routeAccess struct {
	method, route string
	who           who
	shows         string // of others; "": nothing
	query, body   string // of a call; :id is the owner's recording
}

const (
	countsOnly = "how many tokens, slots and requests the server has, and for how long; no name, no text"
	poolOnly   = "how long a text waits for others'"
	answers    = "how long the answer waits for others'"
)

var routeTable = []routeAccess{
	{"GET", "/health", anybody, "", "", ""}, {"GET", "/v1/health", anybody, "", "", ""}, {"GET", "/livez", anybody, "", "", ""}, {"GET", "/readyz", anybody, "", "", ""},
	{"GET", "/*", anybody, "", "", ""}, {"GET", "/.well-known/penstock-receipts", anybody, "", "", ""},

	{"POST", "/v1/chat/completions", client, answers, "", "{}"}, {"POST", "/chat/completions", client, answers, "", "{}"},
	{"POST", "/v1/chat/completions/input_tokens", client, poolOnly, "", "{}"}, {"POST", "/chat/completions/input_tokens", client, poolOnly, "", "{}"},
	{"POST", "/v1/completions", client, answers, "", `{"prompt":"a","max_tokens":1}`}, {"POST", "/v1/embeddings", client, answers, "", "{}"},
	{"POST", "/v1/audio/transcriptions", client, answers, "", "{}"}, {"POST", "/audio/transcriptions", client, answers, "", "{}"},
	{"POST", "/v1/responses", client, answers, "", "{}"}, {"POST", "/responses", client, answers, "", "{}"},
	{"POST", "/v1/responses/input_tokens", client, poolOnly, "", "{}"}, {"POST", "/responses/input_tokens", client, poolOnly, "", "{}"},
	{"POST", "/v1/messages", client, answers, "", "{}"}, {"POST", "/v1/messages/count_tokens", client, poolOnly, "", "{}"},
	{"POST", "/api/chat", client, answers, "", "{}"}, {"POST", "/api/generate", client, answers, "", "{}"},
	{"POST", "/api/embed", client, answers, "", "{}"}, {"POST", "/api/embeddings", client, answers, "", "{}"}, {"POST", "/api/show", client, "", "", "{}"},
	{"GET", "/api/tags", client, "", "", ""}, {"GET", "/api/ps", client, "", "", ""},
	{"GET", "/api/version", client, "", "", ""},
	{"GET", "/api/*", client, "", "", ""}, {"POST", "/api/*", client, "", "", ""}, {"DELETE", "/api/*", client, "", "", ""},
	{"POST", "/completion", client, answers, "", "{}"}, {"POST", "/completions", client, answers, "", "{}"}, {"POST", "/infill", client, answers, "", "{}"},
	{"POST", "/tokenize", client, poolOnly, "", "{}"}, {"POST", "/detokenize", client, poolOnly, "", "{}"}, {"POST", "/apply-template", client, poolOnly, "", "{}"},
	{"POST", "/embedding", client, answers, "", "{}"}, {"POST", "/embeddings", client, answers, "", "{}"},
	{"POST", "/rerank", client, answers, "", "{}"}, {"POST", "/reranking", client, answers, "", "{}"},
	{"POST", "/v1/rerank", client, answers, "", "{}"}, {"POST", "/v1/reranking", client, answers, "", "{}"},
	{"GET", "/props", client, "", "", ""}, {"POST", "/props", client, "", "", "{}"}, {"GET", "/slots", client, countsOnly, "", ""},
	{"POST", "/slots/:id", client, "whether a slot is idle", "action=erase", ""}, // conversations of the key alone, see below
	{"GET", "/lora-adapters", client, "", "", ""}, {"POST", "/lora-adapters", admin, "", "", "[]"},
	{"GET", "/v1/models", client, "", "", ""}, {"GET", "/models", client, "", "", ""}, {"GET", "/v1/models/*", client, "", "", ""},
	{"GET", "/v1/load", client, countsOnly + "; digests of the key's own prompts alone", "", ""},
	{"GET", "/v1/ws", client, "see the frames", "", ""},
	{"GET", "/metrics", client, countsOnly + ", by the names of keys", "", ""},

	{"GET", "/v1/plugins", client, "that plugins fail", "", ""}, {"GET", "/v1/plugins/:name", client, "that it fails", "", ""},
	{"GET", "/v1/plugins/:name/source", admin, "", "", ""},
	{"POST", "/v1/scripts/check", client, poolOnly, "", "{}"}, {"GET", "/v1/scripts/penstock.d.ts", client, "", "", ""},
	{"POST", "/v1/watermark/detect", client, poolOnly, "", "{}"},
	{"POST", "/v1/plugins", admin, "", "", "module"}, {"DELETE", "/v1/plugins/:name", admin, "", "", ""}, {"POST", "/v1/plugins/:name/reset", admin, "", "", ""},
	{"POST", "/v1/modules", client, "how long the module waits for others'", "", "module"}, {"GET", "/v1/modules", client, "", "", ""}, // lists the key's own
	{"GET", "/v1/modules/:id", owner, "", "", ""}, {"DELETE", "/v1/modules/:id", owner, "", "", ""},
	{"GET", "/v1/recordings", client, "", "", ""}, // lists the key's own; the admin's lists all
	{"GET", "/v1/recordings/:id", ownerOrAdmin, "", "", ""}, {"DELETE", "/v1/recordings/:id", ownerOrAdmin, "", "", ""},
	{"GET", "/v1/adapters", client, "", "", ""}, {"POST", "/v1/adapters", admin, "", "", `{"name":"tales"}`}, {"DELETE", "/v1/adapters/:name", admin, "", "", ""},
	{"POST", "/models/load", admin, "", "", `{"model":"toy"}`}, {"POST", "/models/unload", admin, "", "", `{"model":"toy"}`},
	{"POST", "/api/pull", admin, "", "", `{"model":"no-toy"}`}, // of one that is served it asks for nothing, see TestAPI_Pull_ServedAlready
	{"DELETE", "/api/delete", admin, "", "", `{"model":"toy"}`},
	{"GET", "/v1/log-level", admin, "", "", ""}, {"PUT", "/v1/log-level", admin, "", "", `{"level":"info"}`},
	{"GET", "/debug/pprof/", admin, "", "", ""}, {"GET", "/debug/pprof/cmdline", admin, "", "", ""}, {"GET", "/debug/pprof/symbol", admin, "", "", ""},
	{"GET", "/debug/pprof/profile", admin, "", "seconds=1", ""}, {"GET", "/debug/pprof/trace", admin, "", "seconds=1", ""}, {"GET", "/debug/pprof/:name", admin, "", "debug=1", ""},
}

// frameTable are the frames for the owner's answer a, whose stream is STREAM.
var frameTable = []struct {
	kind  string
	who   who
	shows string // of others
	frame string
}{
	{"authenticate", anybody, "", `{"type":"authenticate","key":"one"}`},
	{"generate", client, answers, `{"type":"generate","id":"fresh","request":{"prompt":"x","max_tokens":1}}`},
	{"watch", client, countsOnly, `{"type":"watch","every_ms":100}`},
	{"set", owner, "", `{"type":"set","id":"a","sampling":{"temperature":0.5}}`},
	{"inject", owner, "", `{"type":"inject","id":"a","text":"A"}`},
	{"rewind", owner, "", `{"type":"rewind","id":"a","tokens":1}`},
	{"fork", owner, "", `{"type":"fork","id":"a","as":"b"}`},
	{"pause", owner, "", `{"type":"pause","id":"a"}`},
	{"attach", owner, "", `{"type":"attach","id":"c","stream":"STREAM","after":-1}`},
	{"resume", owner, "", `{"type":"resume","id":"a"}`},
	{"cancel", owner, "", `{"type":"cancel","id":"a"}`},
}

const canary = "canary-of-one"

// TestWho_Routes walks the table of routes with no key, with those of two clients and with the
// admin's.
func TestWho_Routes(t *testing.T) {
	r, conversations := newWhoRig(t)
	one := r.dialAs("one")
	one.send(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":%q,"max_tokens":3}}`, canary)
	stream := one.until("started").Stream
	one.until("end")
	secrets := []string{canary, stream, "recording-of-one", "key one", completionText(canary)}
	table := map[string]bool{}
	for _, a := range routeTable {
		table[a.method+" "+a.route] = true
		path := strings.NewReplacer("/slots/:id", "/slots/0", "/debug/pprof/:name", "/debug/pprof/threadcreate", ":name", "tales", ":id", "recording-of-one", "/v1/models/*", "/v1/models/toy", "*", "").Replace(a.route)
		for _, key := range []string{"", "one", "two", "the-admin"} {
			headers := []string{"Content-Type", "application/json"}
			if a.route == "/v1/plugins" || a.route == "/v1/modules" {
				headers[1] = "application/wasm"
			}
			if key != "" {
				headers = append(headers, "Authorization", "Bearer "+key)
			}
			status, _, body := r.call(a.method, path+"?"+a.query, a.body, headers...)
			want := map[who]bool{anybody: true, client: key != "", owner: key == "one", ownerOrAdmin: key == "one" || key == "the-admin", admin: key == "the-admin"}[a.who]
			refused := status == http.StatusUnauthorized || status == http.StatusForbidden || (a.who == owner || a.who == ownerOrAdmin) && status == http.StatusNotFound
			if want == refused {
				t.Errorf("%s %s with key %q: %d %s", a.method, path, key, status, body)
			}
			if i := slices.IndexFunc(secrets, func(s string) bool { return strings.Contains(body, s) }); key == "two" && i >= 0 {
				t.Errorf("%s %s shows %q of one to two, and may show %q: %s", a.method, path, secrets[i], a.shows, body)
			}
		}
	}
	for _, route := range r.handler.(headAsGet).Routes() {
		if name := route.Method + " " + route.Path; route.Method != echo.RouteNotFound && !table[name] {
			t.Errorf("%s is not in the table: who may use it, and what of others does it show?", name)
		}
	}
	if salts := conversations.seen(); len(salts) != 3 || salts[""] {
		t.Errorf("conversations of slots are looked for with %d salts; each of three keys has its own", len(salts))
	}
}

// TestWho_Frames walks the table of frames: the owner's own frames do what they say, and with
// another key, the admin's too, there is no such answer.
func TestWho_Frames(t *testing.T) {
	g := newGate()
	r := newRig(t, func(s *setup) { g.on(s); s.queue, s.Keys = 8, keys("the-admin", nil, "one", "two") })
	one := r.dialAs("one")
	started := one.hold(r, g, "a", `,"detach_ms":60000`)
	table := []string{}
	for _, a := range frameTable {
		if a.kind != "authenticate" {
			table = append(table, a.kind)
		}
		frame := strings.ReplaceAll(a.frame, "STREAM", started.Stream)
		if p := r.dial(); a.who != anybody {
			p.send("%s", frame)
			if f := p.next(); f.Error.Code != "invalid_api_key" {
				t.Errorf("%s without a key: %+v", a.kind, f)
			}
		}
		for _, key := range []string{"two", "the-admin"} {
			p := r.dialAs(key)
			p.send("%s", frame)
			f := p.next()
			if strange := f.Error.Code == "unknown_id" || f.Error.Code == "unknown_stream"; strange != (a.who == owner) {
				t.Errorf("%s with the key %s: %+v", a.kind, key, f)
			}
			p.conn.CloseNow() //nolint:errcheck // what it began ends
		}
	}
	slices.Sort(table)
	if kinds := r.frameKinds(); !slices.Equal(kinds, table) {
		t.Errorf("the server takes the frames %v, and the table has %v: who may use each, and what of others does it show?", kinds, table)
	}
	mine := one
	for _, a := range frameTable {
		if a.who != owner {
			continue
		}
		if a.kind == "attach" { // on another connection, which has the answer then
			mine = r.dialAs("one")
		}
		frame := strings.NewReplacer("STREAM", started.Stream, `"id":"c"`, `"id":"a"`).Replace(a.frame)
		mine.send("%s", frame)
		mine.send(`{"type":"cancel","id":"sent"}`)
		for f := mine.next(); f.ID != "sent"; f = mine.next() {
			if f.Type == "error" {
				t.Errorf("the owner's %s: %+v", a.kind, f)
			}
		}
	}
}

// frameKinds are the types of frames that the server says it takes.
func (r *rig) frameKinds() []string {
	p := r.dialAs("one")
	p.send(`{"type":"dance","id":"a"}`)
	_, list, _ := strings.Cut(p.until("error").Error.Message, "it must be ")
	kinds := regexp.MustCompile(", | or ").Split(list, -1)
	slices.Sort(kinds)
	return kinds
}

// completionText is a text as the toy's answer shows it.
func completionText(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, " %d", c)
	}
	return b.String()
}

// newWhoRig is a server that has all routes.
func newWhoRig(t *testing.T) (*rig, *saltedConversations) {
	conversations := &saltedConversations{salts: map[string]bool{}}
	r := newRig(t, func(s *setup) {
		s.Keys, s.Catalog, s.Folder, s.LogLevel = keys("the-admin", nil, "one", "two"), whoCatalog{}, whoFolder{}, &slog.LevelVar{}
		s.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "penstock_requests_total 1") })
		s.Recordings = ownedRecordings{t.TempDir()}
		s.Modules, s.Uploads = ownedModules{}, access.NewModuleAccess(false)
		s.adapters, s.conversations = whoAdapters{}, conversations
	})
	return r, conversations
}

type whoCatalog struct{ listing }

func (whoCatalog) Get(string) (PluginInfo, error) { return PluginInfo{}, nil }
func (whoCatalog) Upload(context.Context, []byte) (PluginInfo, bool, error) {
	return PluginInfo{}, true, nil
}
func (whoCatalog) Remove(context.Context, string) error { return nil }
func (whoCatalog) Reset(string) (PluginInfo, error)     { return PluginInfo{}, nil }

type whoFolder struct{ pullFolder }

func (whoFolder) Remove(string) error { return nil }

type whoAdapters struct{ loadedAdapters }

func (whoAdapters) Choose([]serving.AdapterScale, []int32) (a scheduler.Adapters, from int, err error) {
	return nil, 0, nil
}
func (whoAdapters) SetScales([]serving.AdapterScale) error { return nil }
func (whoAdapters) Load(context.Context, string, float32) (serving.AdapterInfo, error) {
	return serving.AdapterInfo{}, nil
}
func (whoAdapters) Unload(string) error { return nil }

// saltedConversations notes with which salts slots are acted on.
type saltedConversations struct {
	serving.Conversations
	mu    sync.Mutex
	salts map[string]bool
}

func (c *saltedConversations) Erase(_ context.Context, _ int, salt string) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.salts[salt] = true
	return 0, nil
}

func (c *saltedConversations) seen() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.salts
}

// isOne reports whether a caller is the first client key.
func isOne(caller string) bool {
	key, _ := keys("the-admin", nil, "one", "two")().Find("one")
	return caller == "key "+key.Digest
}

// ownedModules has one module, of the first client key.
type ownedModules struct{}

func (ownedModules) List(client string) (list []ModuleInfo) {
	if isOne(client) {
		list = append(list, ModuleInfo{ID: canary})
	}
	return list
}

func (ownedModules) Get(client, _ string) (ModuleInfo, error) {
	if !isOne(client) {
		return ModuleInfo{}, &refusal.Error{Kind: refusal.KindNotFound, Code: "module_not_found", Message: "there is none"}
	}
	return ModuleInfo{ID: canary}, nil
}

func (ownedModules) Upload(context.Context, string, []byte) (ModuleInfo, bool, error) {
	return ModuleInfo{}, true, nil
}

func (o ownedModules) Remove(client, id string) error {
	_, err := o.Get(client, id)
	return err
}

// ownedRecordings has one recording, of the first client key.
type ownedRecordings struct{ dir string }

func (o ownedRecordings) mayRead(r serving.RecordingReader) error {
	if r.Admin || isOne(r.Caller) {
		return nil
	}
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "recording_not_found", Message: "there is none"}
}

func (o ownedRecordings) List(_ context.Context, r serving.RecordingReader) ([]serving.RecordingInfo, error) {
	list := []serving.RecordingInfo{}
	if o.mayRead(r) == nil {
		list = append(list, serving.RecordingInfo{ID: "recording-of-one"})
	}
	return list, nil
}

func (o ownedRecordings) Get(_ context.Context, r serving.RecordingReader, _ string) (*os.File, error) {
	if err := o.mayRead(r); err != nil {
		return nil, err
	}
	path := filepath.Join(o.dir, "recording")
	if err := os.WriteFile(path, []byte(canary), 0o600); err != nil {
		return nil, err
	}
	return os.Open(path)
}

func (o ownedRecordings) Remove(_ context.Context, r serving.RecordingReader, _ string) error {
	return o.mayRead(r)
}
