// SPDX-License-Identifier: MIT

package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/tools/must"
)

// pictured is a gallery of a conversation with a picture, a sound and the picture again, and that
// conversation.
func pictured(t *testing.T) (*Gallery, []Message) {
	t.Helper()
	picture := media.Told{Type: media.TypeImage, Hash: "aa", Width: 4, Height: 3, Bytes: 90, Tokens: 14}
	closer := picture
	closer.Detail = "low"
	g := NewGallery([]media.Told{picture, {Type: media.TypeAudio, Hash: "bb", Seconds: 2, Bytes: 70, Tokens: 5}, picture, closer})
	messages := must.Get(g.Enter([]Message{{Role: "system", Content: "Be kind."},
		{Role: "user", Content: media.Join([]string{"What", media.Marker, "is", "this?"}), Parts: []string{"What", media.Marker, "is", "this?"}},
		{Role: "user", Content: media.Marker + media.Marker + "and" + media.Marker}}))(t)
	return g, messages
}

func TestGallery_Marshal_ShowsParts(t *testing.T) {
	g, messages := pictured(t)
	text := must.Get(g.Marshal(messages))(t)
	got := string(text)
	for i, told := range g.All() {
		marker, _ := json.Marshal(told.Text)
		got = strings.ReplaceAll(got, string(marker), fmt.Sprintf(`"M%d"`, i))
	}
	picture := `{"type":"image","text":"M0","hash":"aa","width":4,"height":3,"bytes":90,"tokens":14}`
	want := `[{"role":"system","content":"Be kind."},` +
		`{"role":"user","content":[{"type":"text","text":"What"},` + picture + `,{"type":"text","text":"is\nthis?"}]},` +
		`{"role":"user","content":[{"type":"audio","text":"M1","hash":"bb","seconds":2,"bytes":70,"tokens":5},` + picture +
		`,{"type":"text","text":"and"},{"type":"image","text":"M2","hash":"aa","width":4,"height":3,"bytes":90,"tokens":14,"detail":"low"}]}]`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	same := must.Get(g.Unmarshal(text))(t)
	_, places, err := g.Leave(same)
	if want := []int{0, 1, 0, 2}; err != nil || !slices.Equal(places, want) || !slices.Equal(g.First(places), []int{0, 1, 0, 3}) {
		t.Errorf("%v: %v, which stood first at %v", err, places, g.First(places))
	}
}

// A plugin names pictures by their hashes or by their markers, and may move, drop and repeat them.
func TestGallery_Unmarshal(t *testing.T) {
	g, _ := pictured(t)
	sound := g.All()[1].Text
	for name, c := range map[string]struct {
		written, content string
		places           []int
	}{
		"dropped":     {`[{"role":"user","content":"What is this?"}]`, "What is this?", nil},
		"by its hash": {`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","hash":"aa"},{"type":"text","text":"b"}]}]`, "a<>b", []int{0}},
		"detail":      {`[{"role":"user","content":[{"type":"image","hash":"aa","detail":"low"},{"type":"image","hash":"aa","detail":"none"}]}]`, "<><>", []int{2, 0}},
		"markers":     {`[{"role":"user","content":"a` + sound + sound + `b"}]`, "a<><>b", []int{1, 1}},
		"both":        {`[{"role":"tool","content":[{"type":"text","text":"a` + sound + `"},{"type":"image","hash":"aa","text":"what ever"}]}]`, "a<><>", []int{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			messages := must.Get(g.Unmarshal([]byte(c.written)))(t)
			left, places, err := g.Leave(messages)
			if err != nil || !slices.Equal(places, c.places) || left[0].Content != strings.ReplaceAll(c.content, "<>", media.Marker) {
				t.Errorf("%v: %q has %v", err, left[0].Content, places)
			}
			if text, err := g.Restore(left[0].Content, places); err != nil || text != messages[0].Content {
				t.Errorf("%v: %q, not %q", err, text, messages[0].Content)
			}
		})
	}
}

func TestGallery_Unmarshal_Refuses(t *testing.T) {
	g, _ := pictured(t)
	marker := g.All()[0].Text
	user := func(content string) string { return `[{"role":"user","content":` + content + `}]` }
	for name, c := range map[string]struct{ written, says string }{
		"another hash":      {user(`[{"type":"image","hash":"bb"}]`), `messages[0].content[0].hash is "bb"; the request has no part of type image with this hash`},
		"no hash":           {user(`[{"type":"audio"}]`), `the request has no part of type audio with this hash`},
		"a picture of its":  {user(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]`), "messages[0].content[0] is a picture or a sound that a plugin cannot add"},
		"a URL":             {user(`[{"type":"file","file":{"file_id":"7"}}]`), "a plugin cannot add"},
		"another type":      {user(`[{"type":"video","hash":"aa"}]`), `has type "video"; a plugin may write parts of type text, image and audio`},
		"no part":           {user(`[7]`), "messages[0].content[0] is not a part"},
		"a cut marker":      {user(`"a` + marker[:len(marker)-2] + `"`), "a marker stays whole or goes"},
		"a wrong number":    {user(`"` + strings.Replace(marker, "_0__>", "_3__>", 1) + `"`), "one that there is not"},
		"a longer number":   {user(`"` + strings.Replace(marker, "_0__>", "_00__>", 1) + `"`), "one that there is not"},
		"the server's own":  {user(`"` + media.Marker + `"`), "the server's marker"},
		"beside a part":     {user(`[{"type":"text","text":"` + media.Marker + `"},{"type":"image","hash":"aa"}]`), "the server's marker"},
		"more than 128":     {user(`"` + strings.Repeat(marker, 129) + `"`), "places for 129 pictures and sounds; a request may have 128"},
		"no list":           {`{}`, "no list of messages"},
		"no role":           {`[{"content":"a"}]`, "messages[0].role"},
		"a list in content": {user(`{}`), "must be a text or a list of parts"},
	} {
		if _, err := g.Unmarshal([]byte(c.written)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
	if _, err := NewGallery(nil).Unmarshal([]byte(user(`[{"type":"image","hash":"aa"}]`))); err == nil || !strings.Contains(err.Error(), "no part of type image") {
		t.Errorf("without pictures: %v", err)
	}
}

// A text with the server's marker, which a client can learn, is no place of a picture.
func TestGallery_Enter_RefusesForgedMarkers(t *testing.T) {
	picture := media.Told{Type: media.TypeImage, Hash: "aa"}
	for _, messages := range [][]Message{{{Role: "user", Content: media.Marker + media.Marker}}, {{Role: "user", Content: "none"}},
		{{Role: "user", Content: media.Marker + "a" + media.Marker, Parts: []string{media.Marker, "a" + media.Marker}}}} {
		if _, err := NewGallery([]media.Told{picture}).Enter(messages); err == nil || !strings.Contains(err.Error(), "and there are 1") {
			t.Errorf("%q: %v", messages, err)
		}
	}
	plain := []Message{{Role: "user", Content: "all of " + media.Marker + " is text"}}
	g := NewGallery(nil)
	entered := must.Get(g.Enter(plain))(t)
	text := must.Get(g.Marshal(entered))(t)
	read, err := g.Unmarshal(text)
	if diff := cmp.Diff(plain, read); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	if _, err := g.Restore("none", []int{0}); err == nil {
		t.Error("a text without a place has one")
	}
}

func FuzzGallery(f *testing.F) {
	g := NewGallery([]media.Told{{Type: media.TypeImage, Hash: "aa"}, {Type: media.TypeAudio, Hash: "bb"}})
	f.Add(`[{"role":"user","content":"a MARK0 b MARK1"}]`)
	f.Add(`[{"role":"user","content":[{"type":"text","text":"MARK"},{"type":"image","hash":"aa"},{"type":"audio","hash":"bb"}]}]`)
	f.Fuzz(func(t *testing.T, written string) {
		for i, told := range g.All() {
			written = strings.ReplaceAll(written, fmt.Sprintf("MARK%d", i), told.Text)
		}
		messages, err := g.Unmarshal([]byte(strings.ReplaceAll(written, "MARK", g.prefix)))
		if err != nil {
			return
		}
		left, places, err := g.Leave(messages)
		if err != nil {
			t.Fatalf("what was read cannot leave: %v", err)
		}
		n := 0
		for _, m := range left {
			n += strings.Count(m.Content, media.Marker)
		}
		if n != len(places) || len(places) > media.MaxParts {
			t.Errorf("%d markers, %d places", n, len(places))
		}
		text := must.Get(g.Marshal(messages))(t)
		again, err := g.Unmarshal(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if _, same, err := g.Leave(again); err != nil || !slices.Equal(same, places) {
			t.Errorf("%v: %v became %v", err, places, same)
		}
	})
}
