// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/tools/must"
)

// A part is made once those before it are written, but for what is buffered.
func TestJSONParts_AreMadeAsTheyAreWritten(t *testing.T) {
	recorder := httptest.NewRecorder()
	c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", nil), recorder)
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = strings.Repeat("<x>\n", 100)
	}
	made := 0
	list := JSONList(texts, func(_ int, text string, yield func(any) bool) bool {
		if waits := made - recorder.Body.Len(); waits > partsBuffer+1<<12 {
			t.Fatalf("%d bytes wait", waits)
		}
		made += len(text)
		return yield(text)
	})
	type named struct {
		A int    `json:"a"`
		B string `json:"b"`
	}
	must.Do(t, JSONParts(c, JSONWith(named{1, "b"}, "list", list, map[string]int{"c": 3})))
	var got struct {
		A, C int
		B    string
		List []string
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || got.A != 1 || got.B != "b" || got.C != 3 || len(got.List) != 1000 || got.List[999] != texts[999] {
		t.Errorf("%v: %.300s", err, recorder.Body)
	}
}

func TestJSONParts_Errors(t *testing.T) {
	for name, value := range map[string]any{"a part": math.NaN(), "no part": []int{}} {
		recorder := httptest.NewRecorder()
		c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", nil), recorder)
		err := JSONParts(c, JSONWith(map[string]any{"a": 1}, "list", JSONList([]any{value}, func(_ int, v any, yield func(any) bool) bool { return yield(v) }), nil))
		if (err == nil) == (name == "a part") {
			t.Errorf("%s: %v", name, err)
		}
		if text := recorder.Body.String(); err == nil && text != `{"a":1,"list":[[]]}` {
			t.Errorf("%s: %s", name, text)
		}
	}
}
