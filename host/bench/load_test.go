// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLoad_Validate_NamesWhatIsWrong(t *testing.T) {
	good := Class{Name: "c", Clients: 1, Requests: 1, PromptWords: 1, MaxTokens: 1}
	with := func(change func(c *Class)) Load {
		c := good
		change(&c)
		return Load{Classes: []Class{c}}
	}
	for name, test := range map[string]struct {
		load Load
		want string
	}{
		"no class":      {Load{}, "no class"},
		"same name":     {Load{Classes: []Class{good, good}}, `two classes are named "c"`},
		"no end":        {with(func(c *Class) { c.Requests = 0 }), "never end"},
		"after unknown": {with(func(c *Class) { c.After = "d" }), `begins after "d"`},
		"after itself":  {with(func(c *Class) { c.After = "c" }), `begins after "c"`},
		"both loops":    {with(func(c *Class) { c.Rate = 1 }), "exclude each other"},
		"no client":     {with(func(c *Class) { c.Clients = 0 }), "0 clients"},
		"many clients":  {with(func(c *Class) { c.Clients = 5000 }), "5000 clients"},
		"negative rate": {with(func(c *Class) { c.Clients, c.Rate = 0, -1 }), "rate of -1"},
		"no words":      {with(func(c *Class) { c.PromptWords = 0 }), "0 words"},
		"shared":        {with(func(c *Class) { c.SharedWords = 2 }), "2 shared words of 1"},
		"no tokens":     {with(func(c *Class) { c.MaxTokens = 0 }), "0 tokens"},
		"side":          {with(func(c *Class) { c.PictureSide = -1 }), "pictures of -1 pixels"},
		"think":         {with(func(c *Class) { c.Think = -1 }), "negative"},
		"duration":      {Load{Classes: []Class{good}, Duration: -time.Second}, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.load.Validate()
			if !errors.Is(err, ErrLoad) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if err := with(func(*Class) {}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestLoad_Prompt_DiffersByRequestAndSeed(t *testing.T) {
	l := Load{Seed: 1, Classes: []Class{{Name: "a", PromptWords: 40}, {Name: "b", PromptWords: 40}}}
	seen := map[string]bool{}
	for class := range 2 {
		for n := range 200 {
			p := l.prompt(class, n)
			if seen[p] || len(strings.Fields(p)) != 40 {
				t.Fatalf("prompt %d of class %d was there before, or has not 40 words: %q", n, class, p)
			}
			seen[p] = true
			if p != l.prompt(class, n) {
				t.Fatal("the same request got another prompt")
			}
		}
	}
	l.Seed = 2
	if seen[l.prompt(0, 0)] {
		t.Error("another seed gave the same prompt")
	}
}
