// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// recordedFrame is a frame of an answer that is recorded.
type recordedFrame struct {
	Type, Stream, Text, Recording string
	Seq                           int64
}

func nextRecorded(c *hosts.Client) (f recordedFrame) {
	c.T.Helper()
	_, data := must.Both(c.Conn.Read(c.T.Context()))(c.T)
	if err := json.Unmarshal(data, &f); err != nil || f.Type == "error" {
		c.T.Fatalf("%v %s", err, data)
	}
	return f
}

// An answer is recorded once, however often its client comes back to it, while it goes on and
// after its end, and wherever it goes on.
func TestRecording_Socket_AnAnswerThatIsReadAgain_IsRecordedOnce(t *testing.T) {
	const tokens = 120
	h := hosts.Shared(t, nil, nil)
	for _, parts := range []bool{false, true} {
		c := hosts.Dial(t, h)
		c.Send(fmt.Sprintf(`{"type":"generate","id":"a","detach_ms":60000,"parts":%t,"request":{"messages":[{"role":"user","content":"A frog"}],"temperature":0,`+
			`"ignore_eos":true,"max_tokens":%d,"record":true}}`, parts, tokens))
		stream, id, text := "", "", ""
		for seq := int64(0); seq < 10; {
			f := nextRecorded(c)
			if f.Stream != "" {
				stream = f.Stream
			}
			seq = max(seq, f.Seq)
		}
		c.Conn.CloseNow() //nolint:errcheck // it is lost
		for _, after := range []int64{4, 10, -1, 20, -1} {
			back, last := hosts.Dial(t, h), int64(0)
			back.Send(fmt.Sprintf(`{"type":"attach","id":"b","stream":%q,"after":%d}`, stream, after))
			var read strings.Builder
			for {
				f := nextRecorded(back)
				read.WriteString(f.Text)
				if last = max(last, f.Seq); f.Type == "end" {
					if id = f.Recording; after < 0 {
						text = read.String()
					}
					break
				}
				if after >= 0 && last > after+5 {
					break
				}
			}
			if after < 0 { // this client has all, which the host need not wait for at its end
				if err := back.Conn.Close(websocket.StatusNormalClosure, ""); err != nil {
					t.Error(err)
				}
				continue
			}
			back.Conn.CloseNow() //nolint:errcheck // likewise
		}
		got := download(t, h, id).Recording.Choices
		if len(got) != 1 || len(got[0].Tokens) != tokens || got[0].Text != text || got[0].Reason != "length" {
			t.Errorf("with parts %t: the recording has %+v, want %d tokens of %q", parts, got, tokens, text)
		}
	}
}
