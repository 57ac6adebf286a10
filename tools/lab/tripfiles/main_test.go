// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	profile := `mode: atomic
github.com/penstock/penstock/host/api/a.go:3.1,4.20 2 1
github.com/penstock/penstock/host/api/a.go:9.1,9.20 1 7
github.com/penstock/penstock/host/api/b.go:3.1,4.20 2 0
github.com/penstock/penstock/native/c.go:1.1,5.2 2 1
`
	want := `   1  host/api
          3  a.go
   1  native
          5  c.go
   2  files of 2 packages, 4 lines in each
`
	var out strings.Builder
	if err := report(&out, []byte(profile), true); err != nil || out.String() != want {
		t.Errorf("report wrote, with error %v:\n%s\nwant:\n%s", err, out.String(), want)
	}
	if err := report(&out, []byte("a:1.2\n"), false); err == nil {
		t.Error("a line without counts has no error")
	}
}
