// SPDX-License-Identifier: MIT

package isolation

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// neighbour reads one stream. It returns what was written and the longest time between two tokens.
func neighbour(t *testing.T, h *host.Host) (written string, longest time.Duration) {
	t.Helper()
	const body = `{` + hosts.Frog + `,"temperature":0,"ignore_eos":true,"max_tokens":300,"cache_prompt":false,"stream":true}`
	answer, err := http.DefaultClient.Do(hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/chat/completions", []byte(body), "Content-Type", "application/json"))
	if err != nil {
		t.Error(err)
		return "", 0
	}
	defer answer.Body.Close() //nolint:errcheck // it was read to its end
	var text strings.Builder
	last := time.Now()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		_, content, ok := strings.Cut(lines.Text(), `"delta":`)
		if !ok {
			continue
		}
		content, _, _ = strings.Cut(content, `"logprobs"`) // the rest has times
		text.WriteString(content)
		longest = max(longest, time.Since(last))
		last = time.Now()
	}
	if err := lines.Err(); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s %v", answer.Status, err)
	}
	return text.String(), longest
}

// neighbours reads stream after stream, each of which must be as it is alone. The function that it
// returns ends that, and returns the longest time between two tokens.
func neighbours(t *testing.T, h *host.Host, alone string) (stop func() time.Duration) {
	end, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for going := true; going; {
			text, gap := neighbour(t, h)
			most = max(most, gap)
			if text != alone {
				t.Errorf("the stream beside it has another text: %.2000q, alone %.2000q", text, alone)
			}
			select {
			case <-end:
				going = false
			default:
			}
		}
		longest <- most
	}()
	return func() time.Duration { close(end); return <-longest }
}

// connect connects to the host's address, without a client that would behave.
func connect(t *testing.T, h *host.Host) net.Conn {
	t.Helper()
	conn := must.Get(net.Dial("tcp", hosts.Address(h)))(t)
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // it may be closed already
	must.Do(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

// write sends text that the host may not want: errors do not count.
func write(conn net.Conn, text string) { _, _ = io.WriteString(conn, text) }

// isCut waits until the host has ended a connection, and returns what it has sent before.
func isCut(t *testing.T, conn net.Conn) string {
	t.Helper()
	text, err := io.ReadAll(conn)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Error("the connection is still open")
	}
	return string(text)
}

// drip sends a byte of text now and then until the connection is closed.
func drip(conn net.Conn, text string) {
	for {
		for i := range len(text) {
			if _, err := conn.Write([]byte{text[i]}); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond) // slow by design, within the limits of the test
		}
	}
}

// abuses are what clients do that are broken or mean harm.
var abuses = map[string]func(t *testing.T, h *host.Host){
	"headers that never end": func(t *testing.T, h *host.Host) {
		each(100, func(int) {
			conn := connect(t, h)
			write(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n")
			go drip(conn, "X-More: 1\r\n")
			isCut(t, conn)
		})
	},
	"headers that are too large": func(t *testing.T, h *host.Host) {
		conn := connect(t, h)
		go write(conn, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"+strings.Repeat("X-More: "+strings.Repeat("a", 1000)+"\r\n", 200)+"\r\n")
		if text := isCut(t, conn); !strings.Contains(text, "431") {
			t.Errorf("answered %q", text)
		}
	},
	"bodies that never end": func(t *testing.T, h *host.Host) {
		each(100, func(int) {
			conn := connect(t, h)
			write(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
			go drip(conn, `{"messages":[`)
			if text := isCut(t, conn); !strings.Contains(text, "HTTP/1.1 400") || !strings.Contains(text, "did not arrive in time") {
				t.Errorf("answered %q", text)
			}
		})
	},
	"a body of endless chunks": func(t *testing.T, h *host.Host) {
		conn := connect(t, h)
		write(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
		go func() {
			chunk := "10000\r\n" + strings.Repeat(" ", 1<<16) + "\r\n"
			for {
				if _, err := io.WriteString(conn, chunk); err != nil {
					return
				}
			}
		}()
		if text := isCut(t, conn); !strings.Contains(text, "HTTP/1.1 413") {
			t.Errorf("answered %q", text)
		}
	},
	"half-closed connections": func(t *testing.T, h *host.Host) {
		each(50, func(int) {
			conn := connect(t, h)
			body := `{` + hosts.Frog + `,"ignore_eos":true,"stream":true}`
			write(conn, fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Error(err)
			}
			isCut(t, conn) // a client that has hung up its side counts as one that has left
		})
		hosts.Await(t, func() bool { running, waiting := hosts.Requests(t, h); return running <= 1 && waiting == 0 }) // the neighbour's
	},
	"1,000 idle connections": func(t *testing.T, h *host.Host) {
		conns := make([]net.Conn, 1000)
		for i := range conns {
			if conns[i] = connect(t, h); i%2 == 0 { // half of them between two requests
				write(conns[i], "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
			}
		}
		for _, conn := range conns {
			isCut(t, conn)
		}
	},
	"10 MB of nesting": func(t *testing.T, h *host.Host) {
		for _, path := range postRoutes {
			for _, nest := range []string{"[", `{"a":`, `{"messages":[{"content":`} {
				status, text := hosts.Post(t, h.URL()+path, strings.Repeat(nest, 10<<20/len(nest)))
				if status != 400 || !strings.Contains(text, "deep") {
					t.Errorf("%s of %s: %d %.200s", path, nest, status, text)
				}
			}
		}
	},
	"invalid UTF-8 and double keys": func(t *testing.T, h *host.Host) {
		for _, path := range postRoutes {
			for _, body := range []string{"{\"prompt\":\"\xff\"}", `{"model":"a","model":"b"}`, `{"messages":[{"role":"user","content":"\ud800"}]}`} {
				if status, text := hosts.Post(t, h.URL()+path, body); status != 400 {
					t.Errorf("%s, %q: %d %.200s", path, body, status, text)
				}
			}
		}
	},
	"no HTTP": func(t *testing.T, h *host.Host) {
		for _, text := range []string{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "SSH-2.0-x\r\n", "\r\n\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", strings.Repeat("\x00", 1<<20)} {
			conn := connect(t, h)
			go write(conn, text)
			isCut(t, conn)
		}
	},
	"a WebSocket that floods": func(t *testing.T, h *host.Host) {
		flood(t, h, `{"type":"generate","id":"a","request":{"prompt":"a","max_tokens":-1}}`)
	},
	"a WebSocket that floods with large frames": func(t *testing.T, h *host.Host) {
		flood(t, h, `{"type":"generate","id":"a","request":{"prompt":"`+strings.Repeat("a", 1<<20)+`","temperature":-1}}`)
	},
	"WebSockets with frames that never end": func(t *testing.T, h *host.Host) {
		frame := make([]byte, 12<<20)
		var whole atomic.Int32
		each(24, func(int) {
			conn := openSilent(t, h)
			conn.CloseRead(t.Context()) // it answers pings, or it is cut where writing takes longer than their interval
			w, err := conn.Writer(t.Context(), websocket.MessageText)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := w.Write(frame); err == nil { // all of it is read
				whole.Add(1)
			}
		})
		if whole.Load() == 0 { // where the machine is slow, some are late and cut
			t.Error("no frame was read whole")
		}
	},
	"a WebSocket that never reads": func(t *testing.T, h *host.Host) {
		conn := openSilent(t, h)
		for i := range 4 {
			frame := fmt.Sprintf(`{"type":"generate","id":"%d","request":{"prompt":"a","ignore_eos":true,"logprobs":20}}`, i)
			must.Do(t, conn.Write(t.Context(), websocket.MessageText, []byte(frame)))
		}
		hosts.Await(t, func() bool { running, _ := hosts.Requests(t, h); return running > 0 })
		hosts.Await(t, func() bool { running, _ := hosts.Requests(t, h); return running <= 1 }) // parked, then cut by the write timeout, or done
	},
}

var postRoutes = []string{"/v1/chat/completions", "/v1/completions", "/completion", "/tokenize", "/apply-template"}

// openSilent opens a WebSocket that nobody reads.
func openSilent(t *testing.T, h *host.Host) *websocket.Conn {
	t.Helper()
	conn, _ := must.Both(websocket.Dial(t.Context(), h.URL()+"/v1/ws", nil))(t)
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // it may be closed already
	return conn
}

// flood sends a frame, which is refused, again and again for a second, without reading what the
// host says.
func flood(t *testing.T, h *host.Host, frame string) {
	conn := openSilent(t, h)
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	for n := 0; ; n++ {
		if err := conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			t.Logf("%d frames", n)
			return
		}
	}
}

// each calls f n times, all at once.
func each(n int, f func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { f(i) })
	}
	group.Wait()
}

// heap is what all that is in use takes, in bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// Clients that are broken or mean harm change nothing for others: a stream beside them has the
// same text as alone, memory stays bounded by the configuration while they are at work and is free
// afterwards, and nothing of them is left. The gaps are for reading, since they are the machine's
// too.
func TestHost_Abuse_OthersAreUnaffected(t *testing.T) {
	// Who is slow is cut soon, but no client of this test that a busy machine makes slow.
	h := hosts.Open(t, map[string]any{"server.header_timeout": "3s", "server.body_timeout": "5s", "server.idle_timeout": "3s", "server.write_timeout": "1s",
		"server.body_memory": "32MiB"})
	hosts.Run(t, h)
	neighbour(t, h) // what is set up once is set up
	alone, gap := neighbour(t, h)
	t.Logf("alone: longest gap %v", gap.Round(time.Millisecond))
	http.DefaultClient.CloseIdleConnections()
	before, usual := heap(), goleak.IgnoreCurrent()
	for _, name := range slices.Sorted(maps.Keys(abuses)) {
		t.Run(name, func(t *testing.T) {
			stop, peak := neighbours(t, h, alone), watchHeap()
			abuses[name](t, h)
			gap, most := stop(), peak()
			t.Logf("longest gap %v, memory +%d MiB", gap.Round(time.Millisecond), (int64(most)-int64(before))>>20)
			if most > before+(192<<20) {
				t.Errorf("memory grew from %d to %d MiB", before>>20, most>>20)
			}
		})
		http.DefaultClient.CloseIdleConnections()
	}
	left := goleak.Find(usual) // what a request that does not end has
	for until := time.Now().Add(time.Minute); left != nil && time.Now().Before(until); {
		left = goleak.Find(usual)
	}
	if left != nil {
		t.Error(left)
	}
	hosts.Await(t, func() bool { return heap() < before+(16<<20) })
}

// watchHeap looks at what is in use, which garbage is not, until the function that it returns is
// called, which returns the most.
func watchHeap() (stop func() uint64) {
	end, most := make(chan struct{}), make(chan uint64)
	go func() {
		var highest uint64
		for {
			highest = max(highest, heap())
			select {
			case <-end:
				most <- highest
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(end); return <-most }
}
