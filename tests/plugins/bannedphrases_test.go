// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// banned are among what the built-in model likes to say: its openings, its names' neighbours, a
// sign, half of a word.
var banned = []string{"Once upon a time", " was a frog", "lived", "wanted a", " and ", "{\"", "is", "capital of"}

// phrasesIn are the banned phrases that a text has.
func phrasesIn(text string) (found []string) {
	for _, phrase := range banned {
		if strings.Contains(strings.ToLower(text), strings.ToLower(phrase)) {
			found = append(found, phrase)
		}
	}
	return found
}

func banningFields(t *testing.T) string {
	t.Helper()
	list := must.Get(json.Marshal(banned))(t)
	return fmt.Sprintf(`,"plugins":[{"name":"banned-phrases","config":{"phrases":%s}}]`, list)
}

// Of 500 answers, nearly all have a phrase without the plugin, and none with it: also not in the
// deltas of a stream, put together, which are what a client has seen.
func TestBannedPhrases_BuiltInModel_NeverSaysThem(t *testing.T) {
	h := hosts.SharedWithExamples(t, "banned-phrases")
	n, fields := steadytest.InLongTest(500, 50), banningFields(t)
	without := make([]string, n)
	hosts.EightAtOnce(n, func(i int) {
		var err error
		if without[i], err = hosts.Streamed(t, h, hosts.AskNumber(i, "")); err != nil {
			t.Error(err)
		}
		text, err := hosts.Streamed(t, h, hosts.AskNumber(i, fields))
		if found := phrasesIn(text); err != nil || len(found) > 0 {
			t.Errorf("answer %d has %q: %q %v", i, found, text, err)
		}
	})
	said, phrases := 0, map[string]bool{}
	for _, text := range without {
		found := phrasesIn(text)
		said += min(1, len(found))
		for _, phrase := range found {
			phrases[phrase] = true
		}
	}
	if said < n*9/10 || len(phrases) != len(banned) {
		t.Errorf("without the plugin only %d of %d answers had a phrase, and only %v came up: too little was tested", said, n, phrases)
	}
}

// Nothing that was shown is taken back: what a stream has shown is the answer that comes whole.
// One at a time, since how many are computed together may change the last bits of a logit.
func TestBannedPhrases_BuiltInModel_ShownIsFinal(t *testing.T) {
	h := hosts.SharedWithExamples(t, "banned-phrases")
	fields := banningFields(t)
	for i := range steadytest.InLongTest(50, 10) {
		shown := must.Get(hosts.Streamed(t, h, hosts.AskNumber(i, fields)))(t)
		text := must.Get(hosts.Whole(t, h, hosts.AskNumber(i, fields)))(t)
		if shown != text {
			t.Errorf("answer %d was shown as %q and is %q", i, shown, text)
		}
	}
}
