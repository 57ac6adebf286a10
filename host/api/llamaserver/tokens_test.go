// SPDX-License-Identifier: MIT

package llamaserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/tools/steadytest"
)

// A text is the same whether it is written at once or in parts, also where a character, or what is
// none, lies on their border.
func TestPieces_AreOneText(t *testing.T) {
	r := steadytest.Rand(t)
	m := &serving.Model{Engine: servingtest.Toy{}} // whose pieces are the bytes of their numbers
	for range 20 {
		var tokens []int32
		for range 3 * partOfText {
			switch r.IntN(8) {
			case 0:
				tokens = append(tokens, int32(r.IntN(256)))
			case 1:
				for _, b := range []byte("𝄞") {
					tokens = append(tokens, int32(b))
				}
			default:
				for _, b := range []byte("é") {
					tokens = append(tokens, int32(b))
				}
			}
		}
		var written strings.Builder
		for part := range pieces(m, tokens) {
			fmt.Fprint(&written, part.(wire.Text))
		}
		text := make([]byte, len(tokens))
		for i, token := range tokens {
			text[i] = byte(token)
		}
		want, _ := wholeCharacters(text, true)
		var got string
		if err := json.Unmarshal([]byte(written.String()), &got); err != nil || got != want {
			t.Fatalf("%v; %d bytes, want %d", err, len(got), len(want))
		}
	}
}
