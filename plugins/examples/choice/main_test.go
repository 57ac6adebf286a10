// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// What the program does with a model, its cases have.

func TestChoice_Length(t *testing.T) {
	for normalize, want := range map[string]float64{"none": 1, "tokens": 2, "bytes": 3} {
		p := choice{texts: []string{"", "abc"}, tokens: [][]penstock.Token{nil, {4, 5}}, normalize: normalize}
		if got := p.length(1); got != want {
			t.Errorf("%s: %v, want %v", normalize, got, want)
		}
	}
}

func TestChoice_Open_RefusesWhatTheModelCannotWrite(t *testing.T) {
	r := plugintest.Request{Config: `{"choices":["a","z"]}`, Pieces: []string{"", "a"}}
	if _, err := plugintest.TryOpen[choice](t, r); !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "z") {
		t.Errorf("it is opened with %v", err)
	}
}
