// SPDX-License-Identifier: MIT

package penstock_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// blind takes the pictures out of a conversation, and begins it with what they were.
type blind struct{}

// told is what blind was told when it was opened.
var told []penstock.Media

func (b *blind) Open(*penstock.Request) error {
	told = penstock.RequestMedia()
	return nil
}

func (b *blind) Rewrite(conversation []penstock.Message) ([]penstock.Message, error) {
	for i := range conversation {
		m := &conversation[i]
		for _, p := range m.Media() {
			m.Content = strings.ReplaceAll(m.Content, p.Marker, "["+p.Type+" "+p.Hash+"]")
		}
	}
	return conversation, nil
}

func TestMessage_Media(t *testing.T) {
	if token := penstock.MediaToken; int32(token) != abi.TokenMedia {
		t.Errorf("the reserved token is %d, not %d", token, abi.TokenMedia)
	}
	penstock.Register[blind](penstock.Manifest{Name: "blind"})
	const picture = `{"type":"image","text":"<m0>","hash":"ab","width":3,"height":2,"bytes":9,"tokens":5}`
	s := plugintest.Open[blind](t, plugintest.Request{
		Messages: `[{"role":"user","content":[{"type":"text","text":"See "},` + picture + `,{"type":"audio","text":"<m1>","hash":"cd","seconds":1.5,"tokens":7,"bytes":80}]},
			{"role":"assistant","content":"I see."}]`,
		Media: `[` + picture + `,{"type":"audio","hash":"cd","seconds":1.5,"tokens":7,"bytes":80,"at":4}]`,
	})
	got, err := s.Rewrite()
	if want := `[{"role":"user","content":"See [image ab][audio cd]"},{"role":"assistant","content":"I see."}]`; err != nil || got != want {
		t.Errorf("%v: got %s, want %s", err, got, want)
	}
	want := []penstock.Media{{Type: penstock.Image, Marker: "<m0>", Hash: "ab", Width: 3, Height: 2, Bytes: 9, Tokens: 5, At: -1},
		{Type: penstock.Audio, Hash: "cd", Seconds: 1.5, Bytes: 80, Tokens: 7, At: 4}}
	if !slices.Equal(told, want) {
		t.Errorf("got %+v, want %+v", told, want)
	}
}
