// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"errors"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
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

// Each request has a picture of its own, that any decoder reads, and the same seed gives the same
// ones.
func TestLoad_Picture(t *testing.T) {
	const side = 300
	load := Load{Seed: 1, Classes: []Class{{}, {PictureSide: side}, {PictureSide: side}}}
	if load.picture(0, 0) != nil {
		t.Error("a class without pictures has one")
	}
	one := load.picture(1, 0)
	decoded := must.Get(png.Decode(bytes.NewReader(one)))(t)
	if size := decoded.Bounds().Size(); size.X != side || size.Y != side {
		t.Errorf("it has %v pixels, not %d", size, side)
	}
	for name, other := range map[string][]byte{"request": load.picture(1, 1), "class": load.picture(2, 0)} {
		second := must.Get(png.Decode(bytes.NewReader(other)))(t)
		if second.At(0, 0) == decoded.At(0, 0) && second.At(100, 0) == decoded.At(100, 0) {
			t.Errorf("another %s has the same picture", name)
		}
	}
	if !bytes.Equal(load.picture(1, 0), one) {
		t.Error("the same request has another picture")
	}
}
