// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// template makes a prompt that is as long as the messages' JSON.
func template(messages string) (string, error) {
	if strings.Contains(messages, "refused") {
		return "", errors.New("it does not like that")
	}
	return messages, nil
}

const (
	system = `{"role":"system","content":"Be brief."}`
	first  = `{"role":"user","content":"one"},{"role":"assistant","content":"1"}`
	second = `{"role":"user","content":"two"},{"role":"assistant","content":"2"}`
	last   = `{"role":"user","content":"three"}`
)

func TestShorten_Rewrite_LeavesTheOldestOut(t *testing.T) {
	for want, most := range map[string]string{
		"[" + system + "," + first + "," + second + "," + last + "]": "1000",
		"[" + system + "," + second + "," + last + "]":               "180",
		"[" + system + "," + last + "]":                              "100",
	} {
		s := plugintest.Open[shorten](t, plugintest.Request{Config: `{"bytes":` + most + `}`, PromptText: template, Messages: "[" + system + "," + first + "," + second + "," + last + "]"})
		if got, err := s.Rewrite(); err != nil || got != want {
			t.Errorf("%s bytes: %s %v, want %s", most, got, err, want)
		}
	}
}

func TestShorten_Rewrite_Refuses(t *testing.T) {
	for messages, says := range map[string]string{"[" + last + "]": "config.bytes allows 10", `[{"role":"user","content":"refused"}]`: "template"} {
		s := plugintest.Open[shorten](t, plugintest.Request{Config: `{"bytes":10}`, PromptText: template, Messages: messages})
		if _, err := s.Rewrite(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", messages, err)
		}
	}
}
