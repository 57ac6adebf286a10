// SPDX-License-Identifier: MIT

package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
)

// The picture that some prompts and conversations have. Plugins see nothing of what it shows, so
// there is nothing.
var (
	pieces  = piece.NewTable()
	picture = &piece.Piece{Shape: piece.Shape{Hash: sha256.Sum256([]byte("a picture")), Rows: 5, Positions: 5}}
)

// about is what plugins learn about it, with one more member.
func about(member string) string {
	return fmt.Sprintf(`{"type":"image",%s,"hash":%q,"width":8,"height":6,"bytes":90,"tokens":%d}`, member, hex.EncodeToString(picture.Hash[:]), picture.Rows)
}

// marker stands for it in conversations.
const marker = "<__media_CHECK_0__>"

// pictured puts the picture into a prompt, not at its end, and tells of it.
func pictured(prompt []scheduler.Token, r *rand.Rand) (_ []scheduler.Token, media []byte) {
	rows, err := pieces.Add(picture)
	if err != nil {
		panic(err) // it is the only one
	}
	at := r.IntN(len(prompt))
	return slices.Insert(prompt, at, rows...), []byte("[" + about(fmt.Sprintf(`"at":%d`, at)) + "]")
}

// programPieces are what a program may put into branches.
func programPieces() program.Pieces {
	return program.Pieces{Table: pieces, Has: func(piece.Shape) bool { return true }}
}

// seen are conversations with the picture: once, and in several messages.
func seen() []string {
	part, text := about(`"text":"`+marker+`"`), func(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }
	first := `{"role":"user","content":[` + text("What is ") + `,` + part + `,` + text("?") + `]}`
	return []string{
		`[` + first + `]`,
		`[{"role":"system","content":"You are a frog."},` + first + `,{"role":"assistant","content":"A frog."},{"role":"user","content":[` + part + `,` + part + `]}]`,
	}
}
