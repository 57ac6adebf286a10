// SPDX-License-Identifier: MIT

package artifact

import (
	"errors"
	"testing"
)

func TestParseReference(t *testing.T) {
	for text, want := range map[string]string{
		"example.com/team/good":              "example.com/team/good:latest",
		"oci://example.com:5000/good:1.2":    "example.com:5000/good:1.2",
		"good":                               "",
		"example.com/Team/good":              "",
		"example.com/good:no spaces":         "",
		"example.com/good@sha256:0123456789": "",
		"":                                   "",
	} {
		r, err := ParseReference(text)
		if want == "" && !errors.Is(err, ErrReference) || want != "" && (err != nil || r.String() != want) {
			t.Errorf("%q: %v, %v; want %q", text, r, err, want)
		}
	}
}

func TestClient_PlainHTTP_OnlyOnThisMachine(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost:5000": true, "127.0.0.1:5000": true, "[::1]:5000": true, "localhost": true,
		"example.com": false, "localhost.example.com:5000": false, "10.0.0.1:5000": false,
	} {
		if got := IsThisMachine(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
