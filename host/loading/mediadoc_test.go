// SPDX-License-Identifier: MIT

package loading

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/media/picture"
	"github.com/penstock/penstock/host/media/sound"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/steadytest"
)

var update = flag.Bool("update", false, "write the tables of tokens in docs/media.md anew")

// The columns of the tables in docs/media.md.
var (
	docPictures = [][2]int{{100, 80}, {336, 336}, {640, 480}, {1280, 720}, {1920, 1080}, {3500, 3500}, {2000, 200}}
	docSounds   = []int{1, 29, 31, 59, 61} // seconds
)

// docs/media.md has the numbers of tokens that the projectors of all kinds make.
func TestDocs_MediaTokens(t *testing.T) {
	const path = "../../docs/media.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(data), "-run TestDocs_MediaTokens -update -->\n")
	told, _, closed := strings.Cut(rest, "<!-- end of tokens -->")
	if !opened || !closed {
		t.Fatalf("%s has no place for the tables", path)
	}
	pictures, sounds := heading("pictures by", docPictures, func(size [2]int) string { return fmt.Sprintf("%d×%d", size[0], size[1]) }),
		heading("sounds by", docSounds, func(seconds int) string { return fmt.Sprintf("%d s", seconds) })
	alone := slices.DeleteFunc(slices.Clone(synth.MediaPairs), func(pair synth.MediaPair) bool {
		return strings.Contains(pair.Projector, "+") // each of them has a row of its own
	})
	some := alone
	if !*update {
		some = steadytest.Some(t, alone, 3)
	}
	for _, pair := range some {
		m := openPair(t, pair, nil)
		if pair.Sees() {
			pictures += row(t, m, pair.Projector, docPictures, func(size [2]int) media.Item {
				return media.Item{Field: "f", Kind: media.Image, Picture: picture.RGB{Width: size[0], Height: size[1]}}
			})
		} else {
			sounds += row(t, m, pair.Projector, docSounds, func(seconds int) media.Item {
				return media.Item{Field: "f", Kind: media.Audio, Sound: sound.Samples{Rate: m.Media.AudioRate, Mono: make([]float32, seconds*m.Media.AudioRate)}}
			})
		}
	}
	tables := pictures + "\n" + sounds
	if *update {
		text := strings.Replace(string(data), before+"-run TestDocs_MediaTokens -update -->\n"+told, before+"-run TestDocs_MediaTokens -update -->\n"+tables, 1)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if rows, want := strings.Count(told, "\n| `"), len(alone); rows != want {
		t.Errorf("%s has %d rows of %d projectors; -update writes them", path, rows, want)
	}
	for line := range strings.Lines(tables) {
		if !strings.Contains(told, line) {
			t.Errorf("%s does not say %s; -update writes it", path, line)
		}
	}
}

func heading[T any](what string, columns []T, name func(T) string) string {
	line := "| " + what + " |"
	for _, c := range columns {
		line += " " + name(c) + " |"
	}
	return line + "\n|---" + strings.Repeat("|---", len(columns)) + "|\n"
}

func row[T any](t *testing.T, m *serving.Model, projector string, columns []T, item func(T) media.Item) string {
	t.Helper()
	line := "| `" + projector + "` |"
	for _, c := range columns {
		n, err := m.MediaEncoder.Count(item(c))
		if err != nil {
			t.Fatal(err)
		}
		line += fmt.Sprintf(" %d |", n)
	}
	return line + "\n"
}
