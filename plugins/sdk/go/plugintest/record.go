// SPDX-License-Identifier: MIT

package plugintest

import (
	"encoding/gob"
	"os"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// folder is where sessions are written to; empty: nowhere.
var folder = os.Getenv("PENSTOCK_RECORD")

// recording is a session as it is written down.
type recording struct {
	calls []call
}

// call is one call of the plugin, and what came of it. Fields that the export has no use for are zero.
type call struct {
	Export     string
	Token      penstock.Token // of accept and stop; the number of tokens left by rewind
	Text       string         // of stop; the prompt of a template
	IDs        []penstock.Token
	Logits     []float32
	Answer     int32 // of prepare: the forced token, or −1
	LeftIDs    []penstock.Token
	LeftLogits []float32
	Mask       []uint32
	Bias       map[penstock.Token]float32
	Backtrack  int
	Tokens     []penstock.Token // of a splice
	Refused    bool
	Refusal    string
}

// note adds a call.
func (r *recording) note(c call) {
	if folder != "" {
		r.calls = append(r.calls, c)
	}
}

// record writes the session when its test is over.
func (r *recording) record(t testing.TB, q Request) {
	if folder == "" {
		return
	}
	t.Cleanup(func() {
		file, err := os.CreateTemp(folder, "*.session")
		if err != nil {
			t.Fatal(err)
		}
		err = gob.NewEncoder(file).Encode(struct {
			Plugin, Test string
			Request      Request
			Calls        []call
		}{penstock.Registered().Name, t.Name(), q, r.calls})
		if err != nil {
			t.Error(err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
}
