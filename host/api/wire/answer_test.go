// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler/chain"
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
