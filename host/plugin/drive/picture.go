// SPDX-License-Identifier: MIT

package drive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
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

// Prompt is a prompt of a few tokens. Every second one has a picture, of which media tells.
func (w *Words) Prompt(seed uint64) (prompt []scheduler.Token, media []byte) {
	r := rand.New(rand.NewPCG(seed, 0))
	prompt = make([]scheduler.Token, 1+r.IntN(20))
	for i := range prompt {
		prompt[i] = r.Int32N(int32(w.Size()))
	}
	if seed%2 == 0 {
		return prompt, nil
	}
	rows, err := pieces.Add(picture)
	if err != nil {
		panic(err) // it is the only one
	}
	at := r.IntN(len(prompt)) // not at the end
	return slices.Insert(prompt, at, rows...), []byte("[" + about(fmt.Sprintf(`"at":%d`, at)) + "]")
}
