// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// part is a picture or a sound as the host shows it.
func part(kind, marker string) string {
	return `{"type":"` + kind + `","text":"` + marker + `","hash":"h` + marker + `","bytes":9,"tokens":5}`
}

func TestLastPictures_Rewrite(t *testing.T) {
	messages := `[{"role":"user","content":[{"type":"text","text":"See "},` + part("image", "<1>") + `,{"type":"text","text":" and "},` + part("image", "<2>") + `]},` +
		`{"role":"assistant","content":"I do."},{"role":"user","content":"Good."},{"role":"user","name":"x","content":[` + part("audio", "<3>") + `,` + part("image", "<1>") + `]}]`
	const start, between, end = `[{"role":"user","content":"See `, `"},{"role":"assistant","content":"I do."},{"role":"user","content":"Good."},{"role":"user","content":"`, `","name":"x"}]`
	for config, want := range map[string]string{
		`{}`:           "[a picture that was shown before] and [a picture that was shown before]|[a sound that was heard before]<1>",
		`{"keep":2}`:   "[a picture that was shown before] and [a picture that was shown before]|<3><1>",
		`{"keep":3}`:   "[a picture that was shown before] and <2>|<3><1>",
		`{"keep":128}`: "<1> and <2>|<3><1>",
		`{"keep":0,"image":"(picture)","audio":""}`: "(picture) and (picture)|(picture)",
	} {
		s := plugintest.Open[lastPictures](t, plugintest.Request{Config: config, Messages: messages, Pieces: []string{"a"}})
		want = start + strings.Replace(want, "|", between, 1) + end
		if got, err := s.Rewrite(); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", config, err, got, want)
		}
	}
}
