// SPDX-License-Identifier: MIT

// Command transcript is a plugin: it writes a conversation down as plain text, for models that
// were never trained to chat, and ends the answer where the model begins to write the next turn
// itself.
package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[transcript](penstock.Manifest{
	Name:    "transcript",
	Version: "1.0.0",
	Summary: "writes conversations as plain text, for models without a chat template",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"user": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[^\\s:]+( [^\\s:]+)*$", "default": "User", "description": "the name before each turn of the user"},
			"assistant": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[^\\s:]+( [^\\s:]+)*$", "default": "Assistant", "description": "the name before each turn of the model"},
			"intro": {"type": "string", "maxLength": 4000, "description": "stands first where the conversation has no system message"}
		}
	}`,
})

func main() {}

// patience is how many bytes are held back at most for what may become the beginning of a turn;
// the host allows 4,096.
const patience = 3000

// transcript is the plugin in one request: in one instance it makes the prompt, in another it
// watches the answer.
type transcript struct {
	user, assistant string // how their turns begin
	intro           string
	held            []byte // text since the last Show
}

var errNames = errors.New("config.user and config.assistant are the same; give them two names")

// Open implements penstock.Opener.
func (t *transcript) Open(r *penstock.Request) error {
	t.user, t.assistant = r.Config.Get("user").Text()+":", r.Config.Get("assistant").Text()+":"
	t.intro = r.Config.Get("intro").Text()
	if t.user == t.assistant {
		return errNames
	}
	return nil
}

// Render implements penstock.Renderer.
func (t *transcript) Render(conversation []penstock.Message) (string, error) {
	intro, turns := t.intro, ""
	for i, m := range conversation {
		text := strings.TrimSpace(m.Content)
		for _, turn := range []string{t.user, t.assistant} {
			if strings.Contains("\n"+text, "\n"+turn) {
				return "", refuse(i, "content: the line "+strconv.Quote(turn)+" would pass for a turn; take it out, or choose other names in config")
			}
		}
		switch m.Role {
		case "system", "developer":
			if i > 0 {
				return "", refuse(i, "role: a transcript has its "+m.Role+" message first or not at all")
			}
			intro = text
		case "user":
			turns += t.user + " " + text + "\n"
		case "assistant":
			turns += t.assistant + " " + text + "\n"
		default:
			return "", refuse(i, "role: a transcript has no "+strconv.Quote(m.Role)+"; it has system, user and assistant")
		}
	}
	if intro != "" {
		intro += "\n\n"
	}
	return intro + turns + t.assistant, nil
}

// refuse tells what is wrong with a message. Package fmt would be half of the plugin.
func refuse(message int, what string) error {
	return errors.New("messages[" + strconv.Itoa(message) + "]." + what)
}

// Stop implements penstock.Stopper.
func (t *transcript) Stop(_ penstock.Token, text []byte) penstock.Verdict {
	t.held = append(t.held, text...)
	held := string(t.held)
	end := len(held)
	for _, turn := range []string{t.user, t.assistant} {
		if i := strings.Index(held, "\n"+turn); i >= 0 {
			end = min(end, i)
		}
	}
	if end < len(held) {
		return penstock.EndAfter(end)
	}
	if len(held) < patience && (begins(held, "\n"+t.user) || begins(held, "\n"+t.assistant)) {
		return penstock.Hold
	}
	t.held = t.held[:0]
	return penstock.Show
}

// begins reports whether a text ends with a beginning of a word.
func begins(text, word string) bool {
	for n := min(len(text), len(word)-1); n > 0; n-- {
		if strings.HasSuffix(text, word[:n]) {
			return true
		}
	}
	return false
}
