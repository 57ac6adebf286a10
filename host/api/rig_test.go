// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds how long a test waits for what must come.
const patience = 2 * time.Minute

const (
	vocabularySize = servingtest.Vocabulary
	contextSize    = servingtest.Context
)

type toy = servingtest.Toy

// inner adapts a scheduler, as package host does, and tells the test what the API does with it.
type inner struct {
	*scheduler.Scheduler
	submitted, cancelled, pausing, paused chan string // names of streams
}

func (i inner) SubmitBuilt(caller string, n int, build func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	all, err := i.Scheduler.SubmitBuilt(caller, n, build)
	out := make([]serving.Stream, len(all))
	for k, st := range all {
		i.submitted <- st.ID()
		out[k] = watched{st, i}
	}
	return out, err
}

// watched is a stream that tells when it is cancelled or paused.
type watched struct {
	*scheduler.Stream
	inner inner
}

func (w watched) Cancel() {
	w.Stream.Cancel()
	w.inner.cancelled <- w.ID()
}

func (w watched) Pause(ctx context.Context) error {
	w.inner.pausing <- w.ID()
	err := w.Stream.Pause(ctx)
	w.inner.paused <- w.ID()
	return err
}

// rig is an API over the real scheduler and a toy model.
type rig struct {
	t         *testing.T
	url       string
	handler   http.Handler // that answers there
	scheduler *scheduler.Scheduler
	ended     chan scheduler.RequestRecord
	stop      context.CancelFunc // ends the scheduler
	inner     inner
}

type setup struct {
	Options
	Engine            serving.Engine
	Finder            serving.PluginFinder
	adapters          serving.Adapters
	conversations     serving.Conversations
	wrap              func(servingtest.OneModel) serving.Models // nil: the model as it is
	strict            bool
	slots, queue, end int
	pieces            *piece.Table // of pictures and sounds; nil: there are none
	fail              func(*scheduler.Batch) error
}

func newRig(t *testing.T, change func(*setup)) *rig {
	t.Helper()
	s := setup{slots: 4, queue: 16, Engine: toy{}, Options: Options{
		Version: "test", Log: slog.New(slog.DiscardHandler),
		Bounds: Bounds{BodyLimit: 64 << 10}, Timing: Timing{WriteTimeout: patience},
		Served: Served{UI: fstest.MapFS{"index.html": {Data: []byte("<p>hello")}, "assets/a-1.js": {Data: []byte("1")}, "assets/mcp.worker-1.js": {Data: []byte("2")}, "assets/pdf.worker-1.js": {Data: []byte("3")}, "a.svg": {Data: []byte("<svg/>")}}},
	}}
	if change != nil {
		change(&s)
	}
	backend := schedulertest.New(scheduler.Limits{Vocabulary: vocabularySize, Cells: 8192, Context: contextSize})
	backend.End, backend.Fail = s.end, s.fail
	r := &rig{t: t, ended: make(chan scheduler.RequestRecord, 4096)}
	var err error
	r.scheduler, err = scheduler.New(backend, scheduler.Config{Pieces: s.pieces, Slots: s.slots, QueueLimit: s.queue})
	if err != nil {
		t.Fatal(err)
	}
	r.scheduler.Listen(scheduler.Listener{Ended: func(e scheduler.RequestRecord) { r.ended <- e }})
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	done := make(chan error, 1)
	go func() { done <- r.scheduler.Run(ctx) }()
	r.inner = inner{r.scheduler, make(chan string, 4096), make(chan string, 4096), make(chan string, 4096), make(chan string, 4096)}
	one := servingtest.OneModel{Strict: s.strict, Model: &serving.Model{Info: servingtest.Info(), Engine: s.Engine, Scheduler: r.inner, Plugins: s.Finder,
		Adapters: s.adapters, Conversations: s.conversations}}
	s.Models = one
	if s.wrap != nil {
		s.Models = s.wrap(one)
	}
	r.handler = New(s.Options)
	server := httptest.NewUnstartedServer(r.handler)
	server.Listener = tight{server.Listener}
	server.Start()
	r.url = server.URL
	t.Cleanup(func() {
		stop()
		<-done
		server.CloseClientConnections()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// tight gives connections small buffers, so that a client that does not read is felt soon.
type tight struct{ net.Listener }

func (l tight) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = tcp.SetWriteBuffer(4 << 10)
	}
	return c, err
}

// keys are an admin key ("": none), keys of clients, and which of those may raise priorities.
func keys(admin string, priority []string, clients ...string) func() access.Keys {
	secrets := make([]access.Secret, len(clients))
	for i, key := range clients {
		secrets[i] = access.Secret{Key: key}
	}
	set := access.NewKeys(secrets, admin, access.Listed{Priority: priority, Scripts: priority})
	return func() access.Keys { return set }
}

// call makes a request and returns the status, the headers and the body.
func (r *rig) call(method, path, body string, headers ...string) (int, http.Header, string) {
	r.t.Helper()
	q := must.Get(http.NewRequest(method, r.url+path, strings.NewReader(body)))(r.t)
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	a := must.Get(http.DefaultClient.Do(q))(r.t)
	defer a.Body.Close()
	text := must.Get(io.ReadAll(a.Body))(r.t)
	return a.StatusCode, a.Header, string(text)
}

// post expects a 200 and decodes its body into v.
func (r *rig) post(path, body string, v any) {
	r.t.Helper()
	status, _, text := r.call(http.MethodPost, path, body)
	if status != http.StatusOK {
		r.t.Fatalf("%s: %d %s", path, status, text)
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		r.t.Fatal(err, text)
	}
}

// outcome waits for the next request to end.
func (r *rig) outcome() scheduler.RequestRecord {
	r.t.Helper()
	return await(r.t, r.ended)
}

// await receives from a channel.
func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("it did not happen")
		panic("unreachable")
	}
}

// frames are the data of server-sent events.
func frames(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for event := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok {
			t.Fatalf("not an event: %q", event)
		}
		out = append(out, data)
	}
	return out
}
