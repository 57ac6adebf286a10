// SPDX-License-Identifier: MIT

package chat

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
)

// Gallery has the pictures and sounds of a conversation while plugins rewrite it. Each has a
// marker of its own, which stands for it in texts in the place of media.Marker: so plugins may
// move, drop and repeat it, and it is known afterwards which one stands where.
//
// Markers are drawn for each request once its texts are there, so that none of them has one.
type Gallery struct {
	prefix string // of all markers; random
	all    []media.Told
	places []int // of the conversation as the client sent it: which of all
}

// NewGallery makes the gallery of a conversation with these pictures and sounds, in their order.
// What occurs twice is in it once.
func NewGallery(told []media.Told) *Gallery {
	g := &Gallery{prefix: "<__media_" + rand.Text() + "_"}
	for _, t := range told {
		at := slices.IndexFunc(g.all, func(o media.Told) bool { return o.Hash == t.Hash && o.Detail == t.Detail })
		if at < 0 {
			at = len(g.all)
			t.Text = g.prefix + strconv.Itoa(at) + markerEnd
			g.all = append(g.all, t)
		}
		g.places = append(g.places, at)
	}
	return g
}

// markerEnd ends a marker. Between the prefix and it stands a number.
const markerEnd = "__>"

// All are the pictures and sounds, each once and with its marker.
func (g *Gallery) All() []media.Told { return g.all }

// First tells of each of some of All at which place it stood first in the conversation as the
// client sent it.
func (g *Gallery) First(numbers []int) []int {
	first := make([]int, len(numbers))
	for i, n := range numbers {
		first[i] = slices.Index(g.places, n)
	}
	return first
}

// Enter gives each picture and sound of the conversation as it was sent its own marker. A text
// that has media.Marker, which a client can learn, is refused with an *Invalid.
func (g *Gallery) Enter(messages []Message) ([]Message, error) {
	if len(g.all) == 0 {
		return messages, nil
	}
	entered, places := g.writeMarkers(messages, g.places)
	if places != len(g.places) {
		return nil, &Invalid{Field: "messages", Reason: fmt.Sprintf("have places for %d pictures and sounds, and there are %d; a text has the server's marker", places, len(g.places))}
	}
	return entered, nil
}

// writeMarkers writes the markers of places, which are numbers of all, for each media.Marker. It
// returns how many of those there were.
func (g *Gallery) writeMarkers(messages []Message, places []int) ([]Message, int) {
	next := 0
	mark := func(text string) string {
		parts := strings.Split(text, media.Marker)
		for i := range parts[1:] {
			if next < len(places) {
				parts[i] += g.all[places[next]].Text
			}
			next++
		}
		return strings.Join(parts, "")
	}
	marked := slices.Clone(messages)
	for i := range marked {
		m, first := &marked[i], next
		m.Content = mark(m.Content)
		if m.Parts != nil {
			next, m.Parts = first, slices.Clone(m.Parts)
			for j, p := range m.Parts {
				m.Parts[j] = mark(p)
			}
		}
	}
	return marked, next
}

// Leave undoes Enter in messages that plugins have made of it: they have media.Marker again, and
// the result says which of All stands in each of these places. It fails as Text does.
func (g *Gallery) Leave(messages []Message) (left []Message, places []int, err error) {
	left = slices.Clone(messages)
	for i := range left {
		text, found, err := g.Text(left[i].Content)
		if err != nil {
			return nil, nil, err
		}
		left[i].Content, places = text, append(places, found...)
		if left[i].Parts != nil {
			left[i].Parts = slices.Clone(left[i].Parts)
			for j, p := range left[i].Parts {
				if left[i].Parts[j], _, err = g.Text(p); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	if len(places) > media.MaxParts {
		return nil, nil, fmt.Errorf("there are places for %d pictures and sounds; a request may have %d", len(places), media.MaxParts)
	}
	return left, places, nil
}

// Errors of texts with markers.
var (
	errServersMarker = errors.New("a text has the server's marker for pictures and sounds")
	errCutMarker     = errors.New("a text has a part of the marker of a picture or a sound, or one that there is not; a marker stays whole or goes")
)

// Text gives each marker in a text back the form of media.Marker, and tells which of All they are.
// Errors say what the text must not have.
func (g *Gallery) Text(text string) (left string, places []int, err error) {
	if len(g.all) > 0 && strings.Contains(text, media.Marker) {
		return "", nil, errServersMarker
	}
	parts := strings.Split(text, g.prefix)
	for i, p := range parts[1:] {
		number, rest, ok := strings.Cut(p, markerEnd)
		at, err := strconv.Atoi(number)
		if !ok || err != nil || at < 0 || at >= len(g.all) || strconv.Itoa(at) != number {
			return "", nil, errCutMarker
		}
		parts[i+1], places = media.Marker+rest, append(places, at)
	}
	return strings.Join(parts, ""), places, nil
}

// Restore gives the places of a text that has a media.Marker for each of them their own markers:
// what Text would make it of.
func (g *Gallery) Restore(text string, places []int) (string, error) {
	parts := strings.Split(text, media.Marker)
	if len(parts)-1 != len(places) {
		return "", fmt.Errorf("the prompt has places for %d pictures and sounds, and the messages have %d: the chat template leaves some out", len(parts)-1, len(places))
	}
	for i, at := range places {
		parts[i] += g.all[at].Text
	}
	return strings.Join(parts, ""), nil
}

// Marshal writes messages as plugins read them: JSON, in which a content with pictures or sounds
// is a list of parts.
func (g *Gallery) Marshal(messages []Message) ([]byte, error) {
	type textPart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type inParts struct {
		Message
		Content []any `json:"content"` // shadows the text
	}
	list := make([]any, len(messages))
	for i, m := range messages {
		list[i] = m
		text, places, err := g.Text(m.Content)
		if err != nil {
			return nil, err
		}
		if len(places) == 0 {
			continue
		}
		parts := inParts{Message: m}
		for j, between := range strings.Split(text, media.Marker) {
			if j > 0 {
				parts.Content = append(parts.Content, g.all[places[j-1]])
			}
			if between != "" {
				parts.Content = append(parts.Content, textPart{"text", between})
			}
		}
		list[i] = parts
	}
	return json.Marshal(list)
}

// Unmarshal reads messages that a plugin has written: as Marshal writes them, with each picture
// and sound as a part with its hash, or as its marker in a text. Errors say what is wrong.
func (g *Gallery) Unmarshal(text []byte) ([]Message, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("it is no list of messages: %w", err)
	}
	var places []int
	messages, _, err := parseMessages(list, func(raw json.RawMessage, field string) (media.Part, bool, error) {
		at, err := g.find(raw, field)
		places = append(places, at)
		return media.Part{}, true, err
	})
	if err != nil || len(g.all) == 0 {
		return messages, err
	}
	messages, marked := g.writeMarkers(messages, places)
	if marked != len(places) {
		return nil, errServersMarker
	}
	_, _, err = g.Leave(messages)
	return messages, err
}

// find is the number of the picture or sound that a part names.
func (g *Gallery) find(raw json.RawMessage, field string) (int, error) {
	var p struct{ Type, Hash, Detail string }
	if err := unmarshal(raw, &p, field, "a part"); err != nil {
		return 0, err
	}
	if p.Type != media.TypeImage && p.Type != media.TypeAudio {
		if _, ok, _ := ParsePart(raw, field); ok {
			return 0, &Invalid{Field: field, Reason: "is a picture or a sound that a plugin cannot add; it can name those of the request by their hashes"}
		}
		return 0, &Invalid{Field: field, Reason: fmt.Sprintf("has type %q; a plugin may write parts of type text, %s and %s", excerpt.Of(p.Type, 40), media.TypeImage, media.TypeAudio)}
	}
	same := func(t media.Told) bool { return t.Hash == p.Hash && t.Type == p.Type }
	at := slices.IndexFunc(g.all, func(t media.Told) bool { return same(t) && t.Detail == p.Detail })
	if at < 0 {
		at = slices.IndexFunc(g.all, same)
	}
	if at < 0 {
		return 0, &Invalid{Field: field + ".hash", Reason: fmt.Sprintf("is %q; the request has no part of type %s with this hash", excerpt.Of(p.Hash, hashDigits), p.Type)}
	}
	return at, nil
}

// hashDigits is how many digits a hash has.
const hashDigits = 64
