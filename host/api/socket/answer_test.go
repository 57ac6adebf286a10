// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/api/answerlog"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
)

// oneStream is a scheduler that takes one request, or refuses it, once the test says so.
type oneStream struct {
	servingtest.NoScheduler
	stream serving.Stream
	takes  chan bool
	asked  atomic.Bool
}

func (s *oneStream) SubmitBuilt(caller string, n int, build func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	if s.asked.Swap(true) || !<-s.takes {
		return s.NoScheduler.SubmitBuilt(caller, n, build)
	}
	_, err := build()
	return []serving.Stream{s.stream}, err
}

// connect makes a connection whose model takes one request, which becomes a stream.
func connect(ctx context.Context, stream serving.Stream) (*connection, *oneStream) {
	s := &oneStream{stream: stream, takes: make(chan bool, 1)}
	m := &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}, Scheduler: s}
	k := newConnection(ctx, &API{Server: &wire.Server{Service: completion.NewService(servingtest.OneModel{Model: m})}})
	k.client.allow = anybody
	k.api.shelf.Hold = func() func() { return func() {} }
	return k, s
}

// clientOf opens a connection whose server's side is k's, and hands on the types of the frames that
// it is sent.
func clientOf(t *testing.T, k *connection) <-chan string {
	t.Helper()
	accepted, types := make(chan *websocket.Conn), make(chan string, 9)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}))
	client, _, err := websocket.Dial(t.Context(), server.URL, nil) //nolint:bodyclose // the connection's own
	if err != nil {
		t.Fatal(err)
	}
	k.conn = <-accepted
	t.Cleanup(func() {
		_, _ = client.CloseNow(), k.conn.CloseNow()
		server.Close()
	})
	go func() {
		defer close(types)
		for {
			_, data, err := client.Read(context.Background())
			var f struct{ Type string }
			if err != nil || json.Unmarshal(data, &f) != nil {
				return
			}
			types <- f.Type
		}
	}()
	return types
}

// endsLater is a stream whose answer ends when the test says so. It is resumed when that is told.
type endsLater struct {
	obedient
	end, goOn chan struct{}
}

func (s endsLater) Resume(context.Context) error {
	<-s.goOn
	<-s.goOn
	return nil
}

func (s endsLater) Next(context.Context) (scheduler.Event, error) {
	<-s.end
	return scheduler.Event{Kind: scheduler.KindEnd, End: &scheduler.End{}}, nil
}

// A resume may succeed just before the answer ends. Its id may have begun another answer when the
// client is told of the end, so nothing is told after that.
func TestAnswer_Steer_NoStateAfterTheEnd(t *testing.T) {
	end, goOn := make(chan struct{}), make(chan struct{})
	k, s := connect(t.Context(), endsLater{end: end, goOn: goOn})
	types := clientOf(t, k)
	s.takes <- true
	k.handle([]byte(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x"}}`), func() {})
	k.lanes.Wait()
	writeOne := func() {
		if next, ok := k.next(); !ok || !k.writeNext(next) {
			t.Error("nothing was written")
		}
	}
	k.handle([]byte(`{"type":"pause","id":"a"}`), func() {})
	k.lanes.Wait() // though nothing is written yet
	writeOne()
	writeOne() // whatever follows is not there yet
	k.handle([]byte(`{"type":"resume","id":"a"}`), func() {})
	goOn <- struct{}{} // it is being resumed
	close(end)
	writeOne()
	close(goOn)
	k.lanes.Wait()
	for len(k.ready.some) > 0 {
		writeOne()
	}
	k.writeFrame(json.RawMessage(`{"type":"last"}`))
	var got []string
	for kind := range types {
		if kind == "last" {
			break
		}
		got = append(got, kind)
	}
	if diff := cmp.Diff([]string{"paused", "end"}, got); diff != "" {
		t.Error(diff)
	}
}

// However many answers have something to read, each is looked into once, in its turn, and none
// waits until the writer takes it.
func TestQueue_Add_NeverWaits(t *testing.T) {
	k := newConnection(t.Context(), &API{})
	answers := make([]*answer, 3*maxAnswers)
	for i := range answers {
		answers[i] = k.newAnswer(strconv.Itoa(i), func() {})
	}
	for range 2 {
		for _, a := range answers {
			a.reader.Wake()
		}
	}
	for i, a := range answers {
		if next, ok := k.next(); next != any(a) || !ok {
			t.Fatalf("after %d the writer looks into %v", i, next)
		}
		if i == 0 {
			a.reader.Wake()
		}
	}
	if next, ok := k.next(); next != any(answers[0]) || !ok || len(k.ready.some) > 0 {
		t.Errorf("at last it looks into %v", next)
	}
}

// A log that waits for its client does not keep the connection that is lost, with the other answers
// and the files of that.
func TestConnection_LostIsNotKept(t *testing.T) {
	for _, end := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			stream := endsLater{end: make(chan struct{}), goOn: make(chan struct{})}
			var told answerlog.Told
			lost := func() weak.Pointer[connection] {
				k, s := connect(t.Context(), stream)
				s.takes <- true
				k.handle([]byte(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x"}}`), func() {})
				k.lanes.Wait()
				a := k.byID["a"]
				if told = a.reader.Told(); end {
					close(stream.end)
					synctest.Wait()
					if _, last, _ := a.reader.Read(); !last {
						t.Error("it goes on")
					}
				}
				a.reader.Leave()
				return weak.Make(k)
			}()
			synctest.Wait()
			for range 3 {
				runtime.GC()
			}
			if lost.Value() != nil || !told.Stays() {
				t.Errorf("ended %v: the connection is kept %v, the log %v", end, lost.Value() != nil, told.Stays())
			}
			time.Sleep(time.Hour) // nobody comes back
			if !end {
				close(stream.end)
			}
		})
	}
}

// A client that never says that it has an answer keeps nothing of it in its connection once nobody
// can come back for it.
func TestConnection_Finish_GoneIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := endsLater{end: make(chan struct{}), goOn: make(chan struct{})}
		k, s := connect(t.Context(), stream)
		s.takes <- true
		log := func() weak.Pointer[answerlog.Log] {
			k.handle([]byte(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x"}}`), func() {})
			k.lanes.Wait()
			a := k.byID["a"]
			close(stream.end)
			synctest.Wait()
			if _, last, _ := a.reader.Read(); !last {
				t.Error("it goes on")
			}
			k.freeID(a)
			a.reader.Leave()
			k.finish(true, a.reader.Told())
			for len(k.ready.some) > 0 {
				<-k.ready.some
				k.ready.take()
			}
			return weak.Make(a.reader.Log())
		}()
		if len(k.told) != 1 {
			t.Fatalf("the client is asked about %d answers", len(k.told))
		}
		time.Sleep(time.Hour) // nobody comes back
		for range 3 {
			runtime.GC()
		}
		if log.Value() != nil {
			t.Error("the log is kept")
		}
		k.settle(k.told)
	})
}
