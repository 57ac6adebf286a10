// SPDX-License-Identifier: MIT

package wire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/receipt"
)

// What is noted of a form is all of it, what stands behind its last part too.
func TestReceive_NotesAllOfAForm(t *testing.T) {
	const body = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc\r\n--b--\r\nbehind it"
	for _, noted := range []bool{true, false} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		c := echo.New().NewContext(r, httptest.NewRecorder())
		var want completion.Sent
		if noted {
			NoteSent(c)
			want = completion.Sent{Route: "POST ", SHA256: receipt.Digest([]byte(body))}
		}
		file, err := ReadForm(c, &struct {
			File File `json:"file"`
		}{})
		if err != nil || string(file) != "abc" {
			t.Fatal(string(file), err)
		}
		if got := CallerOf(c).Sent; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
