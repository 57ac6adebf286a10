// SPDX-License-Identifier: MIT

package penstock_test

import (
	"bytes"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// unmask puts the first message's text in the place of "[1]", and leaves out what follows a "#".
type unmask struct {
	text  string
	calls int
}

func (u *unmask) Open(r *penstock.Request) error {
	messages, err := r.Messages()
	if len(messages) > 0 {
		u.text = messages[0].Content
	}
	return err
}

func (u *unmask) Rewrite(m []penstock.Message) ([]penstock.Message, error) {
	m[0].Content = "[1]"
	return m, nil
}

func (u *unmask) Filter(text []byte, last bool) (shown []byte, keep int) {
	u.calls++
	if at := bytes.IndexByte(text, '#'); at >= 0 {
		return text[:at], 0
	}
	if at := bytes.IndexByte(text, '['); at >= 0 && !last && len(text)-at < 3 {
		return text[:at], len(text) - at
	}
	if !bytes.Contains(text, []byte("[1]")) {
		return text, 0
	}
	return bytes.ReplaceAll(text, []byte("[1]"), []byte(u.text)), 0
}

var _ = penstock.Register[unmask](penstock.Manifest{Name: "unmask"})

// What is shown may be the beginning of what was given.
func TestFilterer_Filter_LeavesOut(t *testing.T) {
	s := plugintest.Open[unmask](t, plugintest.Request{Messages: `[{"role":"user","content":"Ann"}]`})
	s.Accept(0)
	if got := s.Filter("yes#no", true); got != "yes" {
		t.Errorf("the client reads %q", got)
	}
}

func TestFilterer_Filter_PutsBack(t *testing.T) {
	s := plugintest.Open[unmask](t, plugintest.Request{Messages: `[{"role":"user","content":"Ann"}]`})
	if got, err := s.Rewrite(); err != nil || got != `[{"role":"user","content":"[1]"}]` {
		t.Errorf("the model reads %s, %v", got, err)
	}
	var got string
	for _, text := range []string{"Hi [", "1", "]!", " ["} {
		s.Accept(0)
		got += s.Filter(text, false)
	}
	if got += s.Filter("2", true); got != "Hi Ann! [2" {
		t.Errorf("the client reads %q", got)
	}
	s.Rewind(2) // "Hi [" and "1" are left
	if got := s.Filter("] and", false); got != "Ann and" {
		t.Errorf("after text was taken back: %q", got)
	}
}
