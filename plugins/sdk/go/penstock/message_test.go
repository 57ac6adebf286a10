// SPDX-License-Identifier: MIT

package penstock_test

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// plain puts each message on a line.
type plain struct{}

func (plain) Render(conversation []penstock.Message) (text string, err error) {
	for _, m := range conversation {
		if m.Role == "robot" {
			return "", errors.New("no robots")
		}
		text += m.Role + ": " + m.Content + "\n"
	}
	return text, nil
}

func TestRenderer_Messages(t *testing.T) {
	penstock.Register[plain](penstock.Manifest{Name: "plain"})
	for messages, want := range map[string]string{
		`[]`: "",
		`[{"role":"system","content":"S"},{"role":"user","content":"é\n"}]`:                                        "system: S\nuser: é\n\n",
		`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}]`: "user: ab\n",
		`[{"role":"assistant","content":null}]`:                                                                    "assistant: \n",
		`[{"content":"a"}]`:                                                                                        "refused",
		`{}`:                                                                                                       "refused",
		``:                                                                                                         "refused",
		`[{"role":"robot"}]`:                                                                                       "refused",
	} {
		got, err := plugintest.Open[plain](t, plugintest.Request{Messages: messages}).Render()
		if errors.Is(err, plugintest.ErrRefused) {
			got = "refused"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", messages, got, want)
		}
	}
}
