// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler/chain"
)

// A stage may choose what was banned; JSON has no infinity.
func TestTrace_Infinity_IsWritten(t *testing.T) {
	inf := float32(math.Inf(1))
	got := surveyOf(servingtest.Toy{}, chain.Survey{Count: 3, Best: []chain.Score{{Token: 'a', Logit: inf}, {Token: 'b', Logit: -inf}, {Token: 'c', Logit: 2, P: 1}}})
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
	want := []candidate{{'a', "a", leastLogprob, 0}, {'b', "b", leastLogprob, 0}, {'c', "c", 2, 1}}
	if diff := cmp.Diff(want, got.Best); diff != "" {
		t.Error(diff)
	}
}

// What plugins say of a token is in its trace.
func TestTrace_Notes(t *testing.T) {
	got := TraceOf(servingtest.Toy{}, 'a', &chain.Trace{Notes: []chain.Note{{By: "plugin:x", Text: "banned"}}})
	if diff := cmp.Diff([]note{{"plugin:x", "banned"}}, got.Notes); diff != "" {
		t.Error(diff)
	}
}
