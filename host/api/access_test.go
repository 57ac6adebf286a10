// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/tools/must"
)

func TestAPI_State(t *testing.T) {
	r := newRig(t, nil)
	for path, want := range map[string]string{
		"/health": `"status":"ok"`, "/livez": "ok", "/readyz": "ok", "/v1/models": `"id":"toy"`, "/v1/models/toy": `"object":"model"`,
		"/props": `"total_slots":4`, "/slots": `"state":"idle"`, "/": "<p>hello", "/assets/a-1.js": "1",
	} {
		if status, _, body := r.call(http.MethodGet, path, ""); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, path := range []string{"/assets", "/nothing", "/v1/models/other", "/../options.go", "/%6detrics", "/v1%2Fmodels"} {
		if status, _, body := r.call(http.MethodGet, path, ""); status != 404 || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// Clients escape the slash and the colon of a name, each in its own way.
func TestAPI_Names_AreUnescaped(t *testing.T) {
	r := newRig(t, nil)
	for path, want := range map[string]string{
		"/v1/models/toy": `"id":"toy"`, "/v1/models/%74oy": `"id":"toy"`, "/v1/models/a%2Fb%3Ac%20d": `no model \"a/b:c d\" here`, "/v1/models/a/b:c%20d": `no model \"a/b:c d\" here`,
		"/v1/models/a%2Fb%25": `no model \"a/b%\" here`,
	} {
		if _, _, body := r.call(http.MethodGet, path, ""); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
}

func TestAPI_Page_Headers(t *testing.T) {
	r := newRig(t, nil)
	_, page, _ := r.call(http.MethodGet, "/", "")
	_, asset, _ := r.call(http.MethodGet, "/assets/a-1.js", "")
	for name, header := range map[string]http.Header{"page": page, "asset": asset} {
		policies := header.Values("Content-Security-Policy")
		if len(policies) != 1 || policies[0] != "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; font-src 'self'; "+
			"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" {
			t.Errorf("%s: policies %q", name, policies)
		}
	}
	_, worker, _ := r.call(http.MethodGet, "/assets/mcp.worker-1.js", "")
	if policies := worker.Values("Content-Security-Policy"); len(policies) != 1 ||
		policies[0] != "default-src 'none'; connect-src http: https:; frame-ancestors 'none'" {
		t.Errorf("the worker that speaks MCP: policies %q", policies)
	}
	_, worker, _ = r.call(http.MethodGet, "/assets/pdf.worker-1.js", "")
	if policies := worker.Values("Content-Security-Policy"); len(policies) != 1 ||
		policies[0] != "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'; frame-ancestors 'none'" {
		t.Errorf("the worker that reads PDFs: policies %q", policies)
	}
	if page.Get("Cache-Control") != "no-cache" || page.Get("Referrer-Policy") != "no-referrer" ||
		!strings.HasPrefix(page.Get("Content-Type"), "text/html") {
		t.Errorf("page %v", page)
	}
	if page.Get("Cross-Origin-Opener-Policy") != "same-origin" {
		t.Errorf("a page that opens this one keeps a hand on it: %v", page)
	}
	if !strings.Contains(asset.Get("Cache-Control"), "immutable") || asset.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("asset %v", asset)
	}
}

// TestAPI_Headers_OtherOriginsReadNothing: a page of another origin may have any GET sent without
// an Origin header, as for an image or a script. Whatever is answered, its browser neither shows
// it to the page nor runs it.
func TestAPI_Headers_OtherOriginsReadNothing(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Keys = keys("", nil, "right") })
	for path, want := range map[string]int{"/": 200, "/assets/a-1.js": 200, "/livez": 200, "/v1/models": 401, "/nothing.js": 404} {
		status, header, _ := r.call(http.MethodGet, path, "")
		if status != want || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %d %v", path, status, header)
		}
	}
}

func TestAPI_Slots_NameNoStream(t *testing.T) {
	gate := newGate()
	r := newRig(t, gate.on)
	defer gate.open()
	st := must.Get(r.scheduler.Submit(r.request()))(t)
	<-gate.held
	gate.open()
	r.outcome()
	if _, _, body := r.call(http.MethodGet, "/slots", ""); strings.Contains(body, st.ID()) {
		t.Error("a stranger could attach to the stream")
	}
}

func TestAPI_Slots_FailOnNoSlot(t *testing.T) {
	r := newRig(t, func(s *setup) { s.slots = 1 })
	get := func() (int, string) {
		status, _, body := r.call(http.MethodGet, "/slots?fail_on_no_slot=1", "")
		return status, body
	}
	if status, body := get(); status != 200 || strings.Contains(body, "id_task") {
		t.Errorf("a free slot: %d %s", status, body)
	}
	q := r.request()
	q.MaxTokens, q.Buffer = 100, 6 // nobody reads on, so it stays in its slot
	st := must.Get(r.scheduler.Submit(q))(t)
	must.Get(st.Next(t.Context()))(t)
	if status, body := get(); status != 503 || !strings.Contains(body, `"unavailable_error"`) || !strings.Contains(body, `"code":503`) {
		t.Errorf("no free slot: %d %s", status, body)
	}
	var slots []struct {
		Task int `json:"id_task"`
		Next []struct {
			Remain  int `json:"n_remain"`
			Decoded int `json:"n_decoded"`
		} `json:"next_token"`
	}
	_, _, body := r.call(http.MethodGet, "/slots", "")
	if err := json.Unmarshal([]byte(body), &slots); err != nil || slots[0].Task != 1 || slots[0].Next[0].Remain+slots[0].Next[0].Decoded != 100 {
		t.Errorf("%v: %s", err, body)
	}
	st.Cancel()
	r.outcome()
}

func TestAPI_Ready_Not(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Ready = func() bool { return false } })
	for path, want := range map[string]int{"/readyz": 503, "/health": 503, "/livez": 200} {
		if status, _, _ := r.call(http.MethodGet, path, ""); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
}

func TestAPI_Keys(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Keys = keys("admin", nil, "one", "two") })
	for _, tc := range []struct {
		path, authorization string
		want                int
	}{
		{"/v1/models", "", 401}, {"/v1/models", "Bearer three", 401}, {"/v1/models", "one", 200}, {"/v1/models", "Bearer ", 401},
		{"/v1/models", "Basic one", 401}, {"/slots", "", 401}, {"/v1/ws", "", 401}, {"/props", "Bearer onetwo", 401},
		{"/v1/models", "Bearer one", 200}, {"/v1/models", "bearer two", 200}, {"/v1/models", "Bearer admin", 200},
		{"/health", "", 200}, {"/livez", "", 200}, {"/readyz", "", 200}, {"/", "", 200},
	} {
		status, header, body := r.call(http.MethodGet, tc.path, "", "Authorization", tc.authorization)
		if status != tc.want || (status == 401 && (header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(body, "invalid_api_key"))) {
			t.Errorf("%s with %q: %d %s", tc.path, tc.authorization, status, body)
		}
	}
	open := newRig(t, func(s *setup) { s.Keys = keys("admin", nil) })
	if status, _, _ := open.call(http.MethodGet, "/v1/models", ""); status != 200 {
		t.Error("an admin key alone closed an ordinary route")
	}
}

// A key is taken however a client of OpenAI, llama-server or Anthropic sends it.
func TestAPI_Keys_Headers(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Keys = keys("", nil, "one two", "Bearer") })
	for _, tc := range []struct {
		name, value string
		want        int
	}{
		{"Authorization", "Bearer one two", 200}, {"Authorization", "  bearer   one two ", 200}, {"Authorization", "Bearer", 200}, {"Authorization", "one", 401},
		{"X-Api-Key", "one two", 200}, {"X-Api-Key", "one", 401}, {"Api-Key", "one two", 401}, {"Sec-WebSocket-Protocol", "penstock.bearer.b25lIHR3bw", 200},
		{"Cookie", "key=one two", 401},
	} {
		if status, _, body := r.call(http.MethodGet, "/v1/models", "", tc.name, tc.value); status != tc.want {
			t.Errorf("%s: %s: %d %s", tc.name, tc.value, status, body)
		}
	}
	if status, _, _ := r.call(http.MethodGet, "/v1/models?key=one%20two", ""); status != 401 {
		t.Errorf("a key in a URL, which logs keep: %d", status)
	}
}

func TestAPI_Origins(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Origins = []string{"https://friend.example"} })
	for origin, want := range map[string]int{
		"": 200, "https://friend.example": 200, "https://foe.example": 403, "null": 403, "http://friend.example": 403, r.url: 200,
	} {
		status, header, _ := r.call(http.MethodPost, "/v1/completions", `{"prompt":"a","max_tokens":1}`, "Origin", origin, "Content-Type", "text/plain")
		if status != want {
			t.Errorf("%q: %d, want %d", origin, status, want)
		}
		if allowed := header.Get("Access-Control-Allow-Origin"); (allowed != "") != (origin == "https://friend.example") {
			t.Errorf("%q: allowed %q", origin, allowed)
		}
	}
	status, header, _ := r.call(http.MethodOptions, "/v1/chat/completions", "", "Origin", "https://friend.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	if status != 204 || header.Get("Access-Control-Allow-Headers") != "authorization" {
		t.Errorf("preflight: %d %v", status, header)
	}
	if header.Get("Access-Control-Allow-Credentials") != "true" || !strings.Contains(header.Get("Access-Control-Expose-Headers"), "Retry-After") {
		t.Errorf("preflight: %v", header)
	}
	local := newRig(t, func(s *setup) { s.Origins = []string{"localhost"} })
	for origin, want := range map[string]int{
		"http://localhost:3000": 200, "http://127.0.0.1:5173": 200, "https://[::1]": 200, "http://localhost.example": 403, "http://192.0.2.1": 403, "null": 403,
	} {
		if status, _, _ := local.call(http.MethodGet, "/v1/models", "", "Origin", origin); status != want {
			t.Errorf("localhost allowed, %q: %d, want %d", origin, status, want)
		}
	}
	all := newRig(t, func(s *setup) { s.Origins = []string{"*"} })
	if _, header, _ := all.call(http.MethodGet, "/v1/models", "", "Origin", "https://foe.example"); header.Get("Access-Control-Allow-Credentials") != "" {
		t.Error("any page may use what a proxy knows its users by")
	}
	if status, _, _ := all.call(http.MethodGet, "/v1/models", "", "Origin", "https://foe.example"); status != 200 {
		t.Errorf("with *: %d", status)
	}
}

// TestAPI_CrossSite_Refused: what a page of another site has its browser fetch without an Origin,
// as for an image, is refused whatever the route, so that no page has a server work. A link to the
// page of the server may be followed.
func TestAPI_CrossSite_Refused(t *testing.T) {
	r := newRig(t, func(s *setup) {
		s.Origins, s.Metrics = []string{"https://friend.example"}, http.NotFoundHandler()
	})
	all := newRig(t, func(s *setup) { s.Origins = []string{"*"} })
	for _, route := range r.handler.(headAsGet).Routes() {
		path := strings.NewReplacer(":name", "a", ":id", "0", "*", "a.svg").Replace(route.Path)
		if route.Method == echo.RouteNotFound {
			route.Method = http.MethodGet
		}
		for _, site := range []string{"cross-site", "same-site"} {
			for _, mode := range []string{"no-cors", "navigate"} {
				status, _, body := r.call(route.Method, path, "", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", mode)
				refused := status == http.StatusForbidden && (route.Method == http.MethodHead || strings.Contains(body, "cross_site_not_allowed"))
				if isPage := route.Path == "/*" && mode == "navigate"; refused == isPage {
					t.Errorf("%s %s, %s, %s: %d %s", route.Method, path, site, mode, status, body)
				}
			}
		}
	}
	for _, tc := range []struct {
		rig          *rig
		site, origin string
		want         int
	}{
		{r, "same-origin", "", 200}, {r, "none", "", 200}, {r, "", "", 200}, {r, "cross-site", "", 403}, {r, "cross-site", "https://friend.example", 200},
		{r, "same-site", "https://foe.example", 403}, {all, "cross-site", "", 200},
	} {
		if status, _, _ := tc.rig.call(http.MethodGet, "/slots", "", "Sec-Fetch-Site", tc.site, "Origin", tc.origin); status != tc.want {
			t.Errorf("%q from %q: %d, want %d", tc.site, tc.origin, status, tc.want)
		}
	}
}

// TestAPI_Client_IsBelievedOfTrustedProxies: the log names who has connected, and another only
// where a trusted proxy says so.
func TestAPI_Client_IsBelievedOfTrustedProxies(t *testing.T) {
	network := func(s string) *net.IPNet {
		_, n := must.Both(net.ParseCIDR(s))(t)
		return n
	}
	for name, tc := range map[string]struct {
		trusted []*net.IPNet
		want    string
	}{
		"none":    {nil, "client=127.0.0.1"},
		"another": {[]*net.IPNet{network("10.0.0.0/8")}, "client=127.0.0.1"},
		"this":    {[]*net.IPNet{network("127.0.0.0/8")}, "client=192.0.2.7"},
		"both":    {[]*net.IPNet{network("127.0.0.0/8"), network("192.0.2.0/24")}, "client=198.51.100.1"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := make(chan string, 16)
			r := newRig(t, func(s *setup) {
				s.Proxies, s.Log = tc.trusted, slog.New(slog.NewTextHandler(sending(lines), nil))
			})
			r.call(http.MethodPost, "/tokenize", `{"content":"a"}`, "X-Forwarded-For", "198.51.100.1, 192.0.2.7", "X-Real-Ip", "203.0.113.9")
			if line := await(t, lines); !strings.Contains(line, tc.want) {
				t.Errorf("got %s, want %s", line, tc.want)
			}
		})
	}
}

// sending is a writer that sends what it is given.
type sending chan string

func (s sending) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

func TestAPI_RequestID(t *testing.T) {
	r := newRig(t, nil)
	for given, kept := range map[string]bool{"abc-1": true, "": false, "has space": false, strings.Repeat("x", 65): false} {
		_, header, _ := r.call(http.MethodGet, "/livez", "", "X-Request-Id", given)
		if got := header.Get("X-Request-Id"); got == "" || (got == given) != kept {
			t.Errorf("%q became %q", given, got)
		}
	}
}

func TestService_Rescue_AnswersAndGoesOn(t *testing.T) {
	s := &service{Options: Options{Log: newRigLog(t)}}
	e := echo.New()
	e.HTTPErrorHandler = s.fail
	e.Use(s.follow, s.rescue)
	e.GET("/", func(echo.Context) error { panic("a fault") })
	w := newRecorder(e, "/")
	var body wire.ErrorEnvelope
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 500 || body.Error.Code != "internal_error" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
