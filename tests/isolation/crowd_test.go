// SPDX-License-Identifier: MIT

package isolation

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// crowd are the kinds of clients that a host may have at once, each with what it does in a round.
// The number is the client's own. A client sees answers that are what they would be without others.
var crowd = map[string]func(t *testing.T, h *host.Host, client, round int){
	"uploads a plugin, uses it and removes it": uploadAndUse,
	"asks a program": askProgram,
	"asks models that take each other's place": askModels,
	"records":              recordAnswer,
	"saves a conversation": saveConversation,
	"steers":               steerAnswer,
	"loses its connection": loseConnection,
	"watches":              watchHost,
	"embeds": func(t *testing.T, h *host.Host, client, _ int) {
		mustPost(t, h, "/v1/embeddings", fmt.Sprintf(`{"input":["a frog","%d"]}`, client))
	},
	"has a schema": fitSchema,
}

// TestHost_Crowd has clients of all kinds on one host at once, while seven streams want their text
// undisturbed and others send whatever comes to their minds. In the end the host stops in the
// middle of its work. It is the test of a whole host for the race detector: a part of the host that
// has goroutines of its own belongs to the crowd.
func TestHost_Crowd(t *testing.T) {
	rounds := steadytest.InLongTest(20, 4)
	h := hosts.Open(t, map[string]any{
		"models.dir": hosts.ModelFolder(t), "model.path": "tale", "model.alias": "penstock-tiny", "models.max": "2", "rerank.model": hosts.SmallModel(t, "reranker"),
		"scheduler.slots": "16", "model.ctx_size": "16384", "scheduler.cache_ram": "32MiB", "scheduler.slot_save_path": t.TempDir(),
		"plugins.dir": t.TempDir(), "server.admin_key": "secret",
	})
	stop := hosts.Run(t, h)
	if status, text := hosts.Admin(t, h, http.MethodPost, "/v1/plugins", hosts.Example(t, "beam")); status/100 != 2 {
		t.Fatalf("%d %s", status, text)
	}
	undisturbed := among(t, h)
	var group sync.WaitGroup
	for kind, does := range crowd {
		for client := range 2 {
			group.Go(func() {
				t.Run(fmt.Sprint(kind, " ", client), func(t *testing.T) {
					for round := range rounds {
						does(t, h, client, round)
					}
				})
			})
		}
	}
	others := newTraffic(h)
	group.Go(func() { others.run(t, 20, rounds, steadytest.Seed(t)) })
	group.Wait()
	others.client.CloseIdleConnections()
	undisturbed()
	stopAtWork(t, h, stop)
}

// mustPost returns the body of a 200.
func mustPost(t *testing.T, h *host.Host, path, body string) string {
	t.Helper()
	status, text := hosts.Post(t, h.URL()+path, body)
	if status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", path, body, status, text)
	}
	return text
}

// completed returns the text of a completion.
func completed(t *testing.T, h *host.Host, fields string) string {
	t.Helper()
	var answer struct{ Choices []struct{ Text string } }
	text := mustPost(t, h, "/v1/completions", `{"temperature":0,`+fields+`}`)
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	return answer.Choices[0].Text
}

func uploadAndUse(t *testing.T, h *host.Host, client, round int) {
	name, token := fmt.Sprint("crowd-", client), 300+2*round+client
	if status, text := hosts.Admin(t, h, http.MethodPost, "/v1/plugins", hosts.Always(name, token)); status/100 != 2 {
		t.Fatalf("%d %s", status, text)
	}
	want := strings.Repeat(hosts.Piece(t, token), 5)
	if got := completed(t, h, fmt.Sprintf(`"prompt":"Hello","max_tokens":5,"ignore_eos":true,"plugins":[%q]`, name)); got != want {
		t.Errorf("the plugin writes %q, want %q", got, want)
	}
	if round%2 == 1 {
		if status, text := hosts.Admin(t, h, http.MethodDelete, "/v1/plugins/"+name, nil); status/100 != 2 {
			t.Errorf("%d %s", status, text)
		}
	}
}

func askProgram(t *testing.T, h *host.Host, _, _ int) {
	const fields = `"prompt":"Once upon a time","max_tokens":12,"plugins":[{"name":"beam","config":{"width":3}}]`
	if one, other := completed(t, h, fields), completed(t, h, fields); one != other || one == "" {
		t.Errorf("the program writes %q, then %q", one, other)
	}
}

func askModels(t *testing.T, h *host.Host, client, round int) {
	name := []string{"window", "state"}[(client+round)%2]
	fields := fmt.Sprintf(`"model":%q,"prompt":"Once upon a time","max_tokens":8`, name)
	if one, other := completed(t, h, fields), completed(t, h, fields); one != other {
		t.Errorf("%s writes %q, then %q", name, one, other)
	}
}

func recordAnswer(t *testing.T, h *host.Host, client, _ int) {
	var answer struct{ Content, Recording string }
	text := mustPost(t, h, "/completion", fmt.Sprintf(`{"prompt":"Once upon a time","n_predict":20,"seed":%d,"record":true}`, client))
	must.Do(t, json.Unmarshal([]byte(text), &answer))
	path := h.URL() + "/v1/recordings/" + answer.Recording
	f, err := session.Read(strings.NewReader(hosts.Get(t, path)))
	if err != nil || len(f.Recording.Choices) != 1 || f.Recording.Choices[0].Text != answer.Content {
		t.Errorf("the recording is %+v, %v; the answer was %q", f, err, answer.Content)
	}
	if status, _, text := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodDelete, path, nil)); status/100 != 2 {
		t.Errorf("%d %s", status, text)
	}
}

// saveConversation saves whatever a slot has, if anything, and reads it back into another. Others
// may have taken the slot since, and left nothing in it.
func saveConversation(t *testing.T, h *host.Host, client, round int) {
	var saved, restored struct {
		Saved    int `json:"n_saved"`
		Restored int `json:"n_restored"`
	}
	file := fmt.Sprintf(`{"filename":"%d-%d.bin"}`, client, round)
	mustPost(t, h, "/completion", fmt.Sprintf(`{"prompt":"Once upon a time","n_predict":8,"id_slot":%d}`, client))
	status, text := hosts.Post(t, h.URL()+fmt.Sprintf("/slots/%d?action=save", client), file)
	if status == http.StatusBadRequest && strings.Contains(text, "has no conversation") {
		return
	}
	if err := json.Unmarshal([]byte(text), &saved); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	must.Do(t, json.Unmarshal([]byte(mustPost(t, h, fmt.Sprintf("/slots/%d?action=restore", 2+client), file)), &restored))
	if saved.Saved == 0 || restored.Restored != saved.Saved {
		t.Errorf("%d tokens were saved, %d restored", saved.Saved, restored.Restored)
	}
}

// generate is a frame that begins a long greedy answer.
const generate = `{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"Once upon a time","temperature":0,"ignore_eos":true,"max_tokens":200}}`

// steerAnswer pauses an answer, forks it, and wants the fork to say what the answer says.
func steerAnswer(t *testing.T, h *host.Host, _, _ int) {
	c := hosts.Dial(t, h)
	c.Send(generate)
	for range 5 {
		c.Until("token")
	}
	c.Send(`{"type":"pause","id":"a"}`)
	c.Send(`{"type":"rewind","id":"a","tokens":0}`) // is refused, once the answer is paused
	c.Until("error")
	c.Send(`{"type":"fork","id":"a","as":"b"}`)
	c.Send(`{"type":"resume","id":"a"}`)
	for range 2 {
		if f := c.Until("end"); f.Reason != "length" {
			t.Errorf("%s ends by %s", f.ID, f.Reason)
		}
	}
	if c.Texts["a"] != c.Texts["b"] {
		t.Errorf("the answer is %q, its fork %q", c.Texts["a"], c.Texts["b"])
	}
	if err := c.Conn.Close(websocket.StatusNormalClosure, ""); err != nil { // it has all, so the host does not wait for it
		t.Error(err)
	}
}

// loseConnection begins an answer, loses the connection and reads the rest over another.
func loseConnection(t *testing.T, h *host.Host, _, _ int) {
	c := hosts.Dial(t, h)
	c.Send(generate)
	var started struct{ Stream string }
	_, data, err := c.Conn.Read(t.Context())
	if err == nil {
		err = json.Unmarshal(data, &started)
	}
	if err != nil || started.Stream == "" {
		t.Fatalf("%v: %s", err, data)
	}
	c.Until("token")
	c.Conn.CloseNow() //nolint:errcheck // it is lost
	back := hosts.Dial(t, h)
	back.Send(fmt.Sprintf(`{"type":"attach","id":"b","stream":%q,"after":-1}`, started.Stream))
	if f := back.Until("end"); f.Reason != "length" || back.Texts["b"] == "" {
		t.Errorf("the rest ends by %s: %q", f.Reason, back.Texts["b"])
	}
	if err := back.Conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
}

func watchHost(t *testing.T, h *host.Host, _, _ int) {
	if models := hosts.Live(t, h); len(models) == 0 {
		t.Error("the host tells of no model")
	}
	if running, _ := hosts.Requests(t, h); running < 0 {
		t.Error("there is no figure of running requests")
	}
	for _, path := range []string{"/slots", "/props", "/v1/models", "/v1/plugins", "/health"} {
		hosts.Get(t, h.URL()+path)
	}
}

func fitSchema(t *testing.T, h *host.Host, client, round int) {
	fields := fmt.Sprintf(`"prompt":"Hi","max_tokens":60,"response_format":{"type":"json_schema","json_schema":{"schema":{"const":[%d,%d]}}}`, client, round)
	var got []int
	if text := completed(t, h, fields); json.Unmarshal([]byte(text), &got) != nil || len(got) != 2 || got[0] != client || got[1] != round {
		t.Errorf("it writes %q", text)
	}
}

// stopAtWork ends the host while it streams answers, which it ends before.
func stopAtWork(t *testing.T, h *host.Host, stop func()) {
	var begun, ended sync.WaitGroup
	for n := range 6 {
		begun.Add(1)
		ended.Go(func() {
			start := sync.OnceFunc(begun.Done)
			defer start()
			body := fmt.Sprintf(`{"prompt":%q,"max_tokens":300,"ignore_eos":true,"stream":true}`, hosts.Questions[n%len(hosts.Questions)])
			answer, err := http.DefaultClient.Do(hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/completions", []byte(body), "Content-Type", "application/json"))
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			first := make([]byte, 1)
			_, err = io.ReadFull(answer.Body, first)
			start()
			rest, failed := io.ReadAll(answer.Body)
			if err != nil || failed != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
				t.Errorf("%v, %v: the stream ends with %.200q", err, failed, rest[max(0, len(rest)-200):])
			}
		})
	}
	begun.Wait()
	stop()
	ended.Wait()
}
