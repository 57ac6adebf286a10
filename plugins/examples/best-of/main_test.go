// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"regexp"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// What the program does with a model, its cases have.

func TestBestOf_Extract_TheLastMatchCounts(t *testing.T) {
	for _, c := range []struct{ vote, text, want string }{
		{`([0-9])\s*$`, "it is 4\n", "4"}, {`[0-9]+`, "2 and 17", "17"}, {`is ([0-9])`, "is 1, is 2", "2"}, {`never`, "4", ""}, {`x(y)?`, "x", ""},
	} {
		p := bestOf{regexp.MustCompile(c.vote)}
		if got := p.extract(c.text); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.vote, c.text, got, c.want)
		}
	}
}

func TestBestOf_Open_RefusesABadExpression(t *testing.T) {
	if _, err := plugintest.TryOpen[bestOf](t, plugintest.Request{Config: `{"vote":"("}`}); !errors.Is(err, plugintest.ErrRefused) {
		t.Errorf("it is opened: %v", err)
	}
}
