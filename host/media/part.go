// SPDX-License-Identifier: MIT

// Package media makes pixels and samples of the pictures and sounds that requests have, and
// refuses those that a model cannot take.
//
// # Notes
//
//   - A dialect puts a [Part] for each into the conversation's list, and [Marker] where it stands
//     in the text.
//   - What a file is, its bytes say; what a client says of it counts only for which kind it means.
//     What follows a picture in a file that is something else as well is not read.
//   - A [Loader] reads all headers of a request before it decodes any file, so that the memory for
//     all is known, and waits for it.
//
// # Why does a request claim memory for all of its pictures at once?
//
// Two requests that each hold one decoded picture and wait for the memory of a second would wait
// forever. So all headers of a request come first, then one claim, in the order of arrival. What
// pixels take stays claimed until they are encoded, or the request ends.
//
// # Why is there a random marker in the text where a picture stands?
//
// A chat template writes text, and the places of pictures have to come through it. A fixed marker
// is what a user's text may have, too; one that is drawn at the start is not. A prompt in which
// markers and pictures are not as many is refused, so a template that leaves out a picture is
// noticed.
package media

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
)

// Kind is what a part is.
type Kind string

// The kinds of parts. Any is for a part whose bytes alone tell.
const (
	Any   Kind = ""
	Image Kind = "picture"
	Audio Kind = "sound"
)

// Part is a picture or a sound as a request has it.
type Part struct {
	Field string // where it stands in the request
	Kind  Kind   // that the request means
	// Source is a data: URL, a URL from which the file is fetched, or FrameScheme and the id of a
	// binary frame of the WebSocket. With Base64 it is the file.
	Source string
	Base64 bool
	Detail string // how closely to look: auto, low, high or original; "": auto
}

// FrameScheme begins the source of a part that is a binary frame.
const FrameScheme = "frame:"

// Marker stands in the text of a prompt where a part belongs. It is drawn at the start of the
// process, so that no text has it by chance.
var Marker = "<__media_" + rand.Text() + "__>"

// Abilities are what a model takes besides text.
type Abilities struct {
	Images    bool
	AudioRate int // Hz of the sounds that it takes; 0: none
}

func (a Abilities) takes(k Kind) bool {
	switch k {
	case Image:
		return a.Images
	case Audio:
		return a.AudioRate > 0
	}
	return a.Images || a.AudioRate > 0
}

// HasPictures reports whether there is a picture among parts, or what may be one.
func HasPictures(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return p.Kind == Image || p.Kind == Any })
}

// MaxParts is how many parts a request may have.
const MaxParts = 128

// Details are the values of a part's detail.
var Details = []string{"auto", "low", "high", "original"}

// Check refuses the first part that a model cannot take, before anything is read of it.
func (a Abilities) Check(parts []Part, model string) error {
	for _, p := range parts {
		if !a.takes(p.Kind) {
			return a.refuse(p, p.Kind, model)
		}
		if p.Detail != "" && !slices.Contains(Details, p.Detail) {
			return refusal.Invalid(p.Field, "%s has the detail %q; it must be auto, low, high or original", p.Field, excerpt.Of(p.Detail, 40))
		}
	}
	if len(parts) > MaxParts {
		return refusal.Invalid(parts[MaxParts].Field, "%s is one of %d pictures and sounds; a request may have %d", parts[MaxParts].Field, len(parts), MaxParts)
	}
	return nil
}

// refuse says that a model does not take a part, which is of a kind.
func (a Abilities) refuse(p Part, k Kind, model string) error {
	takes := "text only"
	switch {
	case a.Images:
		takes = "text and pictures"
	case a.AudioRate > 0:
		takes = "text and sounds"
	}
	what := "a " + string(k)
	if k == Any {
		what = "a file"
	}
	e := refusal.Unsupported(p.Field, "%s is %s, and the model %s reads %s", p.Field, what, model, takes)
	e.Message += fmt.Sprintf("; leave it out, or name a model that takes a %s", orFile(k))
	return e
}

func orFile(k Kind) string {
	if k == Any {
		return "picture or a sound"
	}
	return string(k)
}

// Join is the text of a content by its parts, each a text or a [Marker]: as llama.cpp joins them,
// line by line but for the markers, around which there is nothing.
func Join(parts []string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 && p != Marker && parts[i-1] != Marker {
			b.WriteByte('\n')
		}
		b.WriteString(p)
	}
	return b.String()
}

// CheckMarkers refuses a prompt that has not one marker for each part.
func CheckMarkers(field, prompt string, parts int) error {
	if n := strings.Count(prompt, Marker); n != parts {
		return refusal.Invalid(field, "%s: the prompt has places for %d pictures and sounds, and there are %d; the text has the server's marker, or the chat template leaves some out",
			field, n, parts)
	}
	return nil
}

// Sources are parts by their base64 or data: URLs, as Ollama and llama-server have them.
func Sources(field string, kind Kind, sources []string) []Part {
	parts := make([]Part, len(sources))
	for i, s := range sources {
		parts[i] = Part{Field: fmt.Sprintf("%s[%d]", field, i), Kind: kind, Source: s, Base64: !strings.HasPrefix(s, FrameScheme)}
	}
	return parts
}

// Told is a picture or a sound as plugins get it, see docs/abi/v1.md. It has nothing of what is
// seen or heard.
type Told struct {
	Type    string  `json:"type"`           // image or audio
	Text    string  `json:"text,omitempty"` // its marker, for plugins that have to do with conversations
	Hash    string  `json:"hash"`           // SHA-256 of the file, in hexadecimal digits
	Width   int     `json:"width,omitempty"`
	Height  int     `json:"height,omitempty"` // pixels
	Seconds float64 `json:"seconds,omitempty"`
	Bytes   int     `json:"bytes"`  // of the file
	Tokens  int     `json:"tokens"` // of a prompt that stand for it, with those that the model expects around it
	Detail  string  `json:"detail,omitempty"`
	At      *int    `json:"at,omitempty"` // index in the prompt of the first of these tokens
}

// Types of parts as plugins get them.
const (
	TypeImage = "image"
	TypeAudio = "audio"
)

// Told is what plugins learn about an item that takes that many tokens.
func (i *Item) Told(tokens int) Told {
	t := Told{Type: TypeImage, Hash: hex.EncodeToString(i.Hash[:]), Width: i.Picture.Width, Height: i.Picture.Height, Bytes: i.Bytes, Tokens: tokens, Detail: i.Detail}
	if i.Kind == Audio {
		t.Type, t.Seconds = TypeAudio, float64(len(i.Sound.Mono))/float64(i.Sound.Rate)
	}
	return t
}
