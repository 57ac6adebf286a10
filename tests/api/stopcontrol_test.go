// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// A stop string that is the text of a control token ends the answer at that token, though answers
// do not show it. Each API says so as it does of other stop strings. One that has such a text and
// more matches where the answer shows the token.
func TestHost_Stop_ControlToken(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	const word = "<|im_start|>"
	bias := `"temperature":0,"logit_bias":[[1,1000]]` // which is that token
	for stop, want := range map[string]string{
		fmt.Sprintf(`,"stop":["x",%q]`, word): "word " + word,
		``:                                    "limit ",

		fmt.Sprintf(`,"stop":[%q]`, word+word):                               "limit ",
		fmt.Sprintf(`,"stop":[%q],"preserved_tokens":[%q]`, word+word, word): "word " + word + word,
	} {
		status, text := hosts.Post(t, h.URL()+"/completion", `{"prompt":"a","n_predict":8,`+bias+stop+`}`)
		var a struct {
			Type      string `json:"stop_type"`
			Word      string `json:"stopping_word"`
			Content   string
			Predicted int `json:"tokens_predicted"`
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil || status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		if got := a.Type + " " + a.Word; got != want || a.Content != "" || (a.Predicted < 8) != (want != "limit ") {
			t.Errorf("with %s the answer %q of %d tokens ended by %s, want %s", stop, a.Content, a.Predicted, got, want)
		}
	}
}
