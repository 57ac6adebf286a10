// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/penstock/penstock/host/template"
	"github.com/penstock/penstock/native"
)

// templateLimits is what a template may take. A chat template is a program by the author of the
// file. It may loop, recurse or fill the memory, and nothing ends it from inside, so the child runs
// it once before the host does.
type templateLimits struct {
	total   time.Duration // to parse and analyse it, and to render a conversation twice
	oneLine time.Duration // to render one line of conversation: every request pays that
}

var defaultTemplateLimits = templateLimits{total: 10 * time.Second, oneLine: time.Second}

// badTrial is an errTemplate with the template's name.
type badTrial struct {
	name string
	error
}

func (e badTrial) Error() string {
	return e.name + ": " + strings.TrimPrefix(e.error.Error(), "chat template: ")
}
func (e badTrial) Is(target error) bool { return target == errTemplate }
func (e badTrial) Unwrap() error        { return e.error }

// templateStage is what the child announces before the template is tried.
const templateStage = "template"

var errTemplate = errors.New("the chat template fails")

// tryTemplate builds a template, the model's own if it is empty, renders a conversation and
// measures the second time. It ends the process when the time for all is up. That the template
// refuses this conversation is no fault: others will suit it.
func tryTemplate(m *native.Model, tried Template, limit templateLimits) (err error) {
	defer func() {
		if err != nil {
			err = badTrial{tried.name(), err}
		}
	}()
	watchdog := time.AfterFunc(limit.total, func() {
		fmt.Fprintf(os.Stderr, "it renders without end; it was stopped after %v\n", limit.total)
		os.Exit(1)
	})
	defer watchdog.Stop()
	t, err := template.New(m, tried.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	hello := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"Hello"}]`), AddGenerationPrompt: true}
	var took time.Duration
	for range 2 {
		begin := time.Now()
		if _, err := t.Render(context.Background(), hello); errors.Is(err, native.ErrNoMemory) {
			return err
		}
		took = time.Since(begin)
	}
	if took > limit.oneLine {
		return fmt.Errorf("it takes %v for one line; at most %v is accepted", took.Round(time.Millisecond), limit.oneLine)
	}
	return nil
}
