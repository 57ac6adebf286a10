// SPDX-License-Identifier: MIT

package media

import "encoding/hex"

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

// Told is what plugins learn about an item that takes so many tokens.
func (i *Item) Told(tokens int) Told {
	t := Told{Type: TypeImage, Hash: hex.EncodeToString(i.Hash[:]), Width: i.Picture.Width, Height: i.Picture.Height, Bytes: i.Bytes, Tokens: tokens, Detail: i.Detail}
	if i.Kind == Audio {
		t.Type, t.Seconds = TypeAudio, float64(len(i.Sound.Mono))/float64(i.Sound.Rate)
	}
	return t
}
