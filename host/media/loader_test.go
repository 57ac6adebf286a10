// SPDX-License-Identifier: MIT

package media

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/host/media/fetch"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func pngOf(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return b.Bytes()
}

// wavOf is a sound of silence with 16 bits and 8 kHz.
func wavOf(samples int) []byte {
	le := binary.LittleEndian
	out := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"), le.AppendUint32(le.AppendUint32(nil, 8000), 16000)...)
	out = append(out, 2, 0, 16, 0)
	return append(le.AppendUint32(append(out, "data"...), uint32(2*samples)), make([]byte, 2*samples)...)
}

func dataURL(kind string, data []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

var (
	all    = Abilities{Images: true, AudioRate: 16000}
	bounds = Bounds{Pixels: 1 << 20, Sound: time.Minute, Memory: 64 << 20}
)

func TestLoader_Load(t *testing.T) {
	picture, sound := pngOf(t, 3, 2), wavOf(8000)
	l := NewLoader(bounds)
	items, release, err := l.Load(context.Background(), "a", []Part{
		{Field: "a", Kind: Image, Source: dataURL("image/png", picture), Detail: "low"},
		{Field: "b", Kind: Audio, Source: base64.StdEncoding.EncodeToString(sound), Base64: true},
		{Field: "c", Source: dataURL("application/octet-stream;name=x", picture)},
		{Field: "d", Kind: Image, Source: "frame:1"},
		{Field: "e", Kind: Image, Source: dataURL("image/jpeg", picture), Base64: true}, // as Ollama's clients may send it
	}, all, "m", func(id string) []byte {
		if id == "1" {
			return picture
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for i, want := range []Kind{Image, Audio, Image, Image, Image} {
		got, data := items[i], picture
		if want == Audio {
			data = sound
		}
		if got.Kind != want || got.Hash != sha256.Sum256(data) || got.Field != string(rune('a'+i)) {
			t.Errorf("part %d is %+v", i, got)
		}
	}
	if p := items[0].Picture; p.Width != 3 || p.Height != 2 || len(p.Pixels) != 18 || items[0].Detail != "low" {
		t.Errorf("the picture is %+v", items[0])
	}
	if s := items[1].Sound; s.Rate != 16000 || len(s.Mono) != 16000 {
		t.Errorf("the sound has %d samples of %d Hz", len(s.Mono), s.Rate)
	}
}

func TestLoader_Load_Refusals(t *testing.T) {
	picture, sound := pngOf(t, 3, 2), wavOf(100)
	sees, hears := Abilities{Images: true}, Abilities{AudioRate: 16000}
	encode := base64.StdEncoding.EncodeToString
	for name, c := range map[string]struct {
		part Part
		can  Abilities
		says string
	}{
		"text model":      {Part{Kind: Image, Source: "x"}, Abilities{}, "f is a picture, and the model m reads text only; leave it out, or name a model that takes a picture"},
		"deaf model":      {Part{Kind: Audio, Source: "x"}, sees, "f is a sound, and the model m reads text and pictures"},
		"blind model":     {Part{Kind: Image, Source: "x"}, hears, "f is a picture, and the model m reads text and sounds"},
		"file":            {Part{Source: "x"}, Abilities{}, "f is a file, and the model m reads text only"},
		"file of sound":   {Part{Source: dataURL("", sound)}, sees, "f is a sound, and the model m reads text and pictures"},
		"detail":          {Part{Kind: Image, Detail: "huge"}, sees, `f has the detail "huge"; it must be auto, low, high or original`},
		"wrong kind":      {Part{Kind: Image, Source: dataURL("image/png", sound)}, all, "f stands for a picture, and the file is a sound by its bytes"},
		"nothing":         {Part{Kind: Image}, all, "f is empty"},
		"no data":         {Part{Kind: Image, Source: "data:image/png;base64,"}, all, "f is empty"},
		"no comma":        {Part{Kind: Image, Source: "data:image/png;base64"}, all, "without a comma"},
		"a long type":     {Part{Kind: Image, Source: "data:" + strings.Repeat("a", 300) + ";base64,aGk="}, all, "without a comma"},
		"no base64":       {Part{Kind: Image, Source: "data:image/png,hello"}, all, "is a data: URL that is not in base64"},
		"broken base64":   {Part{Kind: Image, Source: "data:image/png;base64,aGk*"}, all, "f is no base64 at byte 3 of 4"},
		"a space":         {Part{Kind: Image, Source: "data:image/png;base64,aG k="}, all, "f is no base64 at byte 2"},
		"bits left over":  {Part{Kind: Image, Source: "data:image/png;base64,aGl="}, all, "f is no base64"},
		"two paddings":    {Part{Kind: Image, Source: "data:image/png;base64,aGk=aGk="}, all, "f is no base64"},
		"plain base64":    {Part{Kind: Audio, Source: "###", Base64: true}, all, "f is no base64 at byte 0 of 3"},
		"a URL":           {Part{Kind: Image, Source: "https://example.com/a.png"}, all, "f is no data: URL, and this server fetches no others (media.urls)"},
		"a path":          {Part{Kind: Image, Source: "/etc/passwd"}, all, "f is no data: URL"},
		"a frame":         {Part{Kind: Image, Source: "frame:1"}, all, "f names a binary frame, which only requests over the WebSocket have"},
		"a PDF":           {Part{Source: dataURL("application/pdf", []byte("%PDF-1.7 ..."))}, all, "f is a PDF, which is not read here; send its pages as pictures, or its text"},
		"an SVG":          {Part{Kind: Image, Source: dataURL("image/svg+xml", []byte("\xef\xbb\xbf\n<svg xmlns=''/>"))}, all, "f is an SVG or another text with markup"},
		"XML":             {Part{Kind: Image, Source: dataURL("image/png", []byte(`<?xml version="1.0"?><svg/>`))}, all, "draw it as PNG first"},
		"HEIC":            {Part{Kind: Image, Source: dataURL("image/heic", []byte("\x00\x00\x00\x18ftypheic0000"))}, all, "f is a HEIC or AVIF picture"},
		"MP4":             {Part{Kind: Image, Source: dataURL("video/mp4", []byte("\x00\x00\x00\x18ftypisom0000"))}, all, "f is a video"},
		"Ogg":             {Part{Kind: Audio, Source: dataURL("audio/ogg", []byte("OggS0000"))}, all, "save it as WAV or MP3"},
		"an archive":      {Part{Source: dataURL("", []byte("PK\x03\x04"))}, all, "f is an archive"},
		"text":            {Part{Source: dataURL("text/plain", []byte("hello"))}, all, "f is no file of a kind that is read here; send a picture as JPEG"},
		"a broken file":   {Part{Kind: Image, Source: encode(picture[:40]), Base64: true}, all, "f is a PNG that cannot be decoded"},
		"too many pixels": {Part{Kind: Image, Source: encode(pngOf(t, 2000, 600)), Base64: true}, all, "at most 1048576 are taken (media.image_pixels)"},
	} {
		t.Run(name, func(t *testing.T) {
			c.part.Field = "f"
			_, _, err := NewLoader(bounds).Load(context.Background(), "a", []Part{c.part}, c.can, "m", nil)
			var refused *refusal.Error
			if !errors.As(err, &refused) || refused.Field != "f" || !strings.Contains(refused.Message, c.says) {
				t.Errorf("%v; want %q", err, c.says)
			}
		})
	}
}

func TestLoader_Load_TooMany(t *testing.T) {
	parts := make([]Part, MaxParts+1)
	for i := range parts {
		parts[i] = Part{Field: "f", Kind: Image, Source: "x"}
	}
	_, _, err := NewLoader(bounds).Load(context.Background(), "a", parts, all, "m", nil)
	if err == nil || !strings.Contains(err.Error(), "one of 129 pictures and sounds; a request may have 128") {
		t.Error(err)
	}
}

// Pictures that together need more memory than there is are refused; those that need it beside
// others wait for it, and no memory is lost by what is refused or given up.
func TestLoader_Load_Memory(t *testing.T) {
	picture := Part{Field: "f", Kind: Image, Source: dataURL("image/png", pngOf(t, 1000, 1000))} // 3 MB, and 4 MB more to decode it
	o := bounds
	o.Memory = 12 << 20
	l := NewLoader(o)
	_, _, err := l.Load(context.Background(), "a", []Part{picture, picture, picture}, all, "m", nil)
	if err == nil || !strings.Contains(err.Error(), "f takes too much memory to decode, with those before it") {
		t.Fatal(err)
	}
	broken := picture
	broken.Source = dataURL("image/png", pngOf(t, 1000, 1000)[:60])
	for range 10 {
		if _, _, err := l.Load(context.Background(), "a", []Part{broken}, all, "m", nil); err == nil {
			t.Fatal("a broken picture was decoded")
		}
	}
	_, release := must.Both(l.Load(context.Background(), "a", []Part{picture, picture}, all, "m", nil))(t)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(gone)
	if _, _, err := l.Load(ctx, "a", []Part{picture, picture}, all, "m", nil); !errors.Is(err, gone) {
		t.Errorf("beside what is there: %v; want to wait", err)
	}
	release()
	_, release = must.Both(l.Load(context.Background(), "a", []Part{picture, picture}, all, "m", nil))(t)
	release()
	if l.memory.room.Used() != 0 {
		t.Error("not all memory came back")
	}
}

// All files that a request names by URL count together.
func TestLoader_Load_URLs(t *testing.T) {
	picture := pngOf(t, 40, 40)
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served++
		_, _ = w.Write(picture)
	}))
	defer server.Close()
	o := bounds
	o.Fetch = &fetch.Options{HTTP: true, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Limit: int64(len(picture))*2 + 1, Timeout: time.Minute}
	l := NewLoader(o)
	part := Part{Field: "f", Kind: Image, Source: server.URL + "/a.png"}
	items, release := must.Both(l.Load(context.Background(), "a", []Part{part, part}, all, "m", nil))(t)
	release()
	if items[0].Hash != sha256.Sum256(picture) {
		t.Error("another file was fetched")
	}
	if _, _, err := l.Load(context.Background(), "a", []Part{part, part, part}, all, "m", nil); err == nil || !strings.Contains(err.Error(), "media.url_limit") {
		t.Errorf("three files: %v", err)
	}
	served = 0
	if _, _, err := l.Load(context.Background(), "a", []Part{part}, Abilities{}, "m", nil); err == nil || served > 0 {
		t.Errorf("a model that reads text had %d files fetched: %v", served, err)
	}
}

func FuzzDataURL(f *testing.F) {
	f.Add("data:image/png;base64,aGk=")
	f.Add("DATA:;name=\"a,b\";BASE64,aGk")
	f.Add("data:,")
	f.Fuzz(func(t *testing.T, s string) {
		if !isDataURL(s) {
			return
		}
		data, err := decodeDataURL(s)
		if err == nil && (len(data) == 0 || len(data) > len(s)) {
			t.Errorf("%d bytes of %d", len(data), len(s))
		}
		if err == nil {
			_, _ = kindOf(data)
		}
	})
}

// TestDecodeDataURL_Spellings: base64 as clients write it, with either alphabet, escaped as in
// other URLs, with and without padding and line breaks.
func TestDecodeDataURL_Spellings(t *testing.T) {
	want := []byte{0xfb, 0xff, 0xbf, 0x3e, 0x3f}
	for _, data := range []string{"+/+/Pj8=", "-_-_Pj8=", "-_-_Pj8", "+/+/Pj8", "%2B%2F%2b%2FPj8%3D", "-_-_Pj8%3D", "+/+/\r\nPj8=\r\n", "-_-_\nPj8\n"} {
		got, err := decodeDataURL("data:image/png;base64," + data)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q is %x, %v", data, got, err)
		}
	}
	for _, data := range []string{"+_+_Pj8=", "%2", "%zz", "-_-_Pj9=", "-_-_ Pj8="} {
		if got, err := decodeDataURL("data:image/png;base64," + data); err == nil {
			t.Errorf("%q was read as %x", data, got)
		}
	}
}

// world is a gate, and who was let in, in order; those at once by their names.
type world struct {
	gate   *gate
	mu     sync.Mutex
	inside []*visitor
	seen   int
}

// queueUp has callers come to the gate, one after another.
func (w *world) queueUp(t *testing.T, n int64, callers ...string) {
	for _, caller := range callers {
		go func() {
			v, err := w.gate.enter(t.Context(), caller, n)
			if err != nil {
				t.Error(err)
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.inside = append(w.inside, v)
		}()
		w.wait()
	}
}

func (w *world) wait() {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.inside[w.seen:], func(a, b *visitor) int { return cmp.Compare(a.caller, b.caller) })
	w.seen = len(w.inside)
}

// leave has all leave, in the order in which they came in, and gives that order.
func (w *world) leave() (order []string) {
	for i := 0; i < len(w.inside); i++ {
		v := w.inside[i]
		order = append(order, v.caller)
		v.leave()
		w.wait()
	}
	return order
}

// One caller's twelve files delay another's single one by the one that is being decoded.
func TestGate_Enter_CallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{gate: newGate(1, 1)}
		w.queueUp(t, 1, slices.Repeat([]string{"one"}, 12)...)
		w.queueUp(t, 1, "two", "three", "two")
		order, g := w.leave(), w.gate
		want := append([]string{"one", "two", "three", "one", "two"}, slices.Repeat([]string{"one"}, 10)...)
		if !slices.Equal(order, want) {
			t.Errorf("%v\nwant %v", order, want)
		}
		if g.room.Used() != 0 || len(g.served) != 0 {
			t.Errorf("left: %d, %v", g.room.Used(), g.served)
		}
	})
}

// A caller has half of what others leave. What one request needs beyond that it gets when nobody
// else has any, and nobody who comes later goes before it.
func TestGate_Enter_Shares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{gate: newGate(100, 0)}
		w.queueUp(t, 25, "one", "one", "one", "two", "two")
		if len(w.inside) != 3 || w.gate.room.Has("one") != 50 || w.gate.room.Has("two") != 25 {
			t.Fatalf("%d are let in; one has %d, two %d", len(w.inside), w.gate.room.Has("one"), w.gate.room.Has("two"))
		}
		w.queueUp(t, 80, "three")
		w.queueUp(t, 1, "four")
		if order, want := w.leave(), []string{"one", "one", "two", "one", "four", "three", "two"}; !slices.Equal(order, want) {
			t.Errorf("let in: %v, want %v", order, want) // four beside three, and not before
		}
	})
}

// Whoever comes, leaves or gives up, all is given back, and nobody waits while there is room.
func TestGate_World(t *testing.T) {
	r := steadytest.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1+r.Int64N(50), 0)
		gone := errors.New("gone")
		var stops []context.CancelCauseFunc
		inside := make(chan *visitor, 1000)
		for range 300 {
			switch n := 1 + r.Int64N(g.room.Limit); {
			case r.IntN(2) == 0:
				ctx, stop := context.WithCancelCause(t.Context())
				stops = append(stops, stop)
				caller := fmt.Sprint(r.IntN(4))
				go func() {
					if v, err := g.enter(ctx, caller, n); err == nil {
						inside <- v
					} else if !errors.Is(err, gone) {
						t.Error(err)
					}
				}()
			case len(inside) > 0 && r.IntN(3) == 0:
				v := <-inside
				time.Sleep(usualTurn)
				ctx, stop := context.WithCancelCause(t.Context())
				stops = append(stops, stop)
				go func() {
					v.rest(ctx)
					inside <- v
				}()
			case len(inside) > 0:
				v := <-inside
				v.leave()
			case len(stops) > 0:
				stops[r.IntN(len(stops))](gone)
			}
			synctest.Wait()
			if used := g.room.Used(); used > g.room.Limit || used == 0 && len(g.waiting) > 0 {
				t.Fatalf("%d of %d are used, %d wait", used, g.room.Limit, len(g.waiting))
			}
		}
		for len(inside) > 0 {
			v := <-inside
			v.leave()
			synctest.Wait()
		}
		if g.room.Used() != 0 || len(g.waiting) != 0 {
			t.Errorf("%d are used, %d wait", g.room.Used(), len(g.waiting))
		}
		for _, stop := range stops {
			stop(gone)
		}
	})
}

// Whoever is inside for long lets another caller in, and goes on after that one and before what
// else its own caller waits for.
func TestVisitor_Rest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{gate: newGate(1, 1)}
		w.queueUp(t, 1, "one", "one")
		first := w.inside[0]
		time.Sleep(usualTurn)
		first.rest(t.Context())
		if len(w.inside) != 1 {
			t.Fatal("it rests for its own caller")
		}
		w.queueUp(t, 1, "two")
		first.since = time.Now()
		first.rest(t.Context())
		if len(w.inside) != 1 {
			t.Fatal("it rests before its turn is over")
		}
		time.Sleep(usualTurn)
		rested := false
		go func() {
			first.rest(t.Context())
			rested = true
		}()
		w.wait()
		if len(w.inside) != 2 || w.inside[1].caller != "two" || rested {
			t.Fatalf("%d are let in", len(w.inside))
		}
		w.inside[1].leave()
		w.wait()
		if !rested || len(w.inside) != 2 {
			t.Fatalf("it goes on: %t; %d were let in", rested, len(w.inside))
		}
		first.leave()
		w.wait()
		w.inside[2].leave()
		if w.gate.room.Used() != 0 || len(w.gate.served) != 0 {
			t.Errorf("left: %d, %v", w.gate.room.Used(), w.gate.served)
		}
	})
}

// Whoever gives up while it rests has nothing any more.
func TestVisitor_Rest_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{gate: newGate(1, 1)}
		w.queueUp(t, 1, "one", "two")
		time.Sleep(usualTurn)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			w.inside[0].rest(ctx)
			w.inside[0].leave()
		}()
		w.wait()
		stop()
		w.wait()
		w.inside[1].leave()
		if w.gate.room.Used() != 0 || len(w.gate.served) != 0 {
			t.Errorf("left: %d, %v", w.gate.room.Used(), w.gate.served)
		}
	})
}
