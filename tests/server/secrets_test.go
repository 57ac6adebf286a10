// SPDX-License-Identifier: MIT

package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
)

// What nobody may read in the log and among the metrics: keys, wrong ones too, and the texts of
// prompts and answers.
const (
	clientSecret  = "client-key-5f2b8c90d1aa47"
	adminSecret   = "admin-key-90d1aa475f2b8c"
	guessedSecret = "guessed-key-aa475f2b8c90d1"
	promptSecret  = "the cat sleeps on warm bread"
	answerSecret  = "zanzibar"
)

// secretRequests have the secret prompt, and are answered with the secret answer or refused.
func secretRequests() map[string][]string {
	messages := fmt.Sprintf(`"messages":[{"role":"user","content":%q}]`, promptSecret)
	grammar := fmt.Sprintf(`"grammar":"root ::= \"%s\""`, answerSecret)
	schema := fmt.Sprintf(`{"type":"object","properties":{"a":{"const":%q}},"required":["a"],"additionalProperties":false}`, answerSecret)
	return map[string][]string{
		"/v1/chat/completions": {
			`{` + messages + `,` + grammar + `}`, `{` + messages + `,` + grammar + `,"stream":true,"logprobs":true,"top_logprobs":3,"trace":true}`,
			`{` + messages + `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + schema + `}}}`,
			`{` + messages + `,"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}],"tool_choice":"required"}`,
			`{` + messages + `,"max_tokens":-5}`, `{` + messages + `,`, `{` + messages + `,"model":5}`, `{` + messages + `,"n":1000}`,
			fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]}`, strings.Repeat(promptSecret+" ", 2000)),
		},
		"/v1/completions": {fmt.Sprintf(`{"prompt":%q,%s}`, promptSecret, grammar), fmt.Sprintf(`{"prompt":{"text":%q}}`, promptSecret)},
		"/completion":     {fmt.Sprintf(`{"prompt":%q,%s,"n_probs":2}`, promptSecret, grammar)},
		"/v1/messages":    {`{` + messages + `,"max_tokens":4}`},
		"/v1/responses":   {fmt.Sprintf(`{"input":%q,"max_output_tokens":4}`, promptSecret)},
		"/api/chat":       {`{` + messages + `,"options":{"num_predict":4},"stream":false}`},
		"/v1/embeddings":  {fmt.Sprintf(`{"input":%q}`, promptSecret)},
		"/rerank":         {fmt.Sprintf(`{"query":%q,"documents":[%q]}`, promptSecret, promptSecret)},
		"/tokenize":       {fmt.Sprintf(`{"content":%q}`, promptSecret)},
		"/apply-template": {`{` + messages + `}`},
	}
}

// Not even at the level debug, with llama.cpp's own lines in it, does the log have a key or a
// text, and neither do the metrics.
func TestHost_Log_NeitherKeysNorTexts(t *testing.T) {
	var log hosts.Buffer
	h := hosts.OpenLogged(t, slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}),
		map[string]any{"server.api_keys": clientSecret, "server.admin_key": adminSecret, "log.level": "debug"})
	stop := hosts.Run(t, h)
	answers := askSecretly(t, h)
	metrics := sendAs(t, h, http.MethodGet, "/metrics", adminSecret, "")
	stop()
	http.DefaultClient.CloseIdleConnections()
	if n := strings.Count(answers, answerSecret); n < 5 { // else the test would prove nothing
		t.Errorf("%d answers are what the requests ask for", n)
	}
	if n := strings.Count(log.String(), "route="); n < 20 {
		t.Errorf("the log has %d requests", n)
	}
	for _, secret := range []string{clientSecret, adminSecret, guessedSecret, promptSecret, answerSecret} {
		for what, text := range map[string]string{"log": log.String(), "metrics": metrics} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("the %s has %q: %.400s", what, secret, text[max(0, at-300):])
			}
		}
	}
	for _, key := range []string{clientSecret, adminSecret, guessedSecret} {
		if strings.Contains(answers, key) {
			t.Errorf("an answer repeats the key %q", key)
		}
	}
}

// askSecretly sends all requests with the right key and with a wrong one, and returns what was
// answered.
func askSecretly(t *testing.T, h *host.Host) string {
	t.Helper()
	var all strings.Builder
	for path, bodies := range secretRequests() {
		for _, body := range bodies {
			all.WriteString(sendAs(t, h, http.MethodPost, path, clientSecret, body))
			all.WriteString(sendAs(t, h, http.MethodPost, path, guessedSecret, body))
		}
	}
	for _, path := range []string{"/models/load", "/v1/plugins", "/v1/adapters", "/api/pull"} {
		all.WriteString(sendAs(t, h, http.MethodPost, path, guessedSecret, `{}`))
		all.WriteString(sendAs(t, h, http.MethodPost, path, adminSecret, `{}`))
	}
	all.WriteString(sendAs(t, h, http.MethodGet, "/v1/models?key="+guessedSecret, "", ""))
	all.WriteString(socketSecretly(t, h))
	return all.String()
}

func sendAs(t *testing.T, h *host.Host, method, path, key, body string) string {
	t.Helper()
	_, _, text := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, method, h.URL()+path, []byte(body), "Authorization", "Bearer "+key, "Content-Type", "application/json"))
	return text
}

// socketSecretly does the same over WebSockets: with the key in the request, and in the first
// frame.
func socketSecretly(t *testing.T, h *host.Host) string {
	t.Helper()
	var all strings.Builder
	for _, key := range []string{clientSecret, guessedSecret} {
		for _, offers := range [][]string{nil, {"penstock.v1", "penstock.bearer." + base64.RawURLEncoding.EncodeToString([]byte(key))}} {
			conn, _, err := websocket.Dial(t.Context(), h.URL()+"/v1/ws", &websocket.DialOptions{Subprotocols: offers})
			if err != nil {
				continue // the wrong key
			}
			for _, frame := range []string{fmt.Sprintf(`{"type":"authenticate","key":%q}`, key),
				fmt.Sprintf(`{"type":"generate","id":"a","request":{"prompt":%q,"grammar":"root ::= \"%s\""}}`, promptSecret, answerSecret)} {
				_ = conn.Write(t.Context(), websocket.MessageText, []byte(frame)) // the host may have closed it
			}
			all.WriteString(readToEnd(t.Context(), conn))
			conn.CloseNow() //nolint:errcheck // all was read
		}
	}
	return all.String()
}

// readToEnd reads frames until the answer or the connection has ended.
func readToEnd(ctx context.Context, conn *websocket.Conn) string {
	var all strings.Builder
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return all.String()
		}
		all.Write(frame)
		if strings.Contains(string(frame), `"type":"end"`) {
			return all.String()
		}
	}
}
