// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// MediaToken represents each row of a picture or a sound in History and Branch.Tokens. It is in no
// vocabulary, has no text and cannot be generated.
const MediaToken Token = 1<<32 - 1

// Types of Media.
const (
	Image = "image"
	Audio = "audio"
)

// Media describes a picture or a sound. A plugin does not get its content.
type Media struct {
	Type          string  // Image or Audio
	Marker        string  // stands for it in the texts of a conversation; empty outside of Rewrite and Render
	Hash          string  // SHA-256 of the file, in hexadecimal digits
	Width, Height int     // pixels, of an image
	Seconds       float64 // of a sound
	Bytes         int     // of the file
	Tokens        int     // of the prompt that stand for it, with those that the model expects around it
	At            int     // index in History of the first of these; -1 in Rewrite and Render
}

// RequestMedia are the pictures and sounds of the prompt, in their order. In Rewrite and Render
// they are those of the conversation, each once. There are none on a host without pictures.
func RequestMedia() []Media {
	if !Feature("media") {
		return nil
	}
	list, err := json.Parse(read(func(p unsafe.Pointer, limit int32) int32 { return abi.Media(p, limit) }))
	if err != nil {
		return nil
	}
	return mediaIn(list)
}

// Media are the pictures and sounds of a message, in their order, as the plugin got it. Content
// contains their markers: if a marker is removed, the model does not see that picture.
func (m *Message) Media() []Media { return mediaIn(m.Value.Get("content")) }

// mediaIn are the pictures and sounds among parts of a content.
func mediaIn(parts json.Value) (all []Media) {
	for i := range parts.Len() {
		p := parts.At(i)
		t := p.Get("type").Text()
		if t != Image && t != Audio {
			continue
		}
		at := -1
		if v := p.Get("at"); v.Kind() == json.Number {
			at = v.Int()
		}
		all = append(all, Media{Type: t, Marker: p.Get("text").Text(), Hash: p.Get("hash").Text(), Width: p.Get("width").Int(), Height: p.Get("height").Int(),
			Seconds: p.Get("seconds").Float(), Bytes: p.Get("bytes").Int(), Tokens: p.Get("tokens").Int(), At: at})
	}
	return all
}
