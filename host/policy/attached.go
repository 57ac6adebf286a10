// SPDX-License-Identifier: MIT

package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/script"
	"go.yaml.in/yaml/v3"
)

// Attached is a plugin that the operator attaches to requests: what the documents call a policy.
type Attached struct {
	Plugin   string
	Config   json.RawMessage // nil: none
	Required bool            // no request can do without it, or change it
	Place    string          // before or after what the request asks for; "": as the plugin's manifest says

	Models, Keys, Routes []string // whose requests, by names of models and keys and by routes; nil: all

	field string // of the configuration, for errors
}

// Places of an attached plugin.
const (
	placeBefore = "before"
	placeAfter  = "after"
)

// fromDefault are the policies that the list plugins.default stands for.
func fromDefault(names []string) (all []Attached) {
	for _, name := range names {
		all = append(all, Attached{Plugin: name, Required: true, field: "plugins.default"})
	}
	return all
}

// holds reports whether a request uses the plugin.
func (a *Attached) holds(model string, asker serving.Asker) bool {
	return a.HoldsFor(model, asker.Key) && includes(a.Routes, routeOf(asker.Route))
}

func includes(names []string, name string) bool { return names == nil || slices.Contains(names, name) }

// sameAs reports whether another policy asks for the same.
func (a *Attached) sameAs(b *Attached) bool {
	return a.Plugin == b.Plugin && a.Required == b.Required && a.Place == b.Place && bytes.Equal(a.Config, b.Config)
}

// HoldsFor reports whether a key's requests for a model use the plugin, by some route.
func (a *Attached) HoldsFor(model, key string) bool {
	return includes(a.Models, model) && includes(a.Keys, key)
}

// Tell is what clients are told of some policies: not the configuration, which may have secrets,
// nor whose keys else they are for.
func Tell(all []Attached, digest func(name string) string, some func(*Attached) bool) (told []serving.PolicyInfo) {
	for i := range all {
		if a := &all[i]; some(a) {
			told = append(told, serving.PolicyInfo{Plugin: a.Plugin, Mode: a.Mode(), SHA256: digest(a.Plugin), Models: a.Models, Routes: a.Routes, SomeKeys: a.Keys != nil})
		}
	}
	return told
}

// Mode is required or default.
func (a *Attached) Mode() string {
	if a.Required {
		return "required"
	}
	return "default"
}

// String says what the plugin is attached to, without its configuration, which may have secrets.
func (a *Attached) String() string {
	text := a.Plugin + " (" + a.Mode()
	for _, part := range []struct {
		of    string
		names []string
	}{{"models", a.Models}, {"keys", a.Keys}, {"routes", a.Routes}} {
		if part.names != nil {
			text += "; " + part.of + " " + strings.Join(part.names, ", ")
		}
	}
	return text + ")"
}

// generating are the routes that have a model write, or make a prompt as one of them would, each
// with the name that policies know it by. Routes of the same name differ for nobody.
var generating = map[string]string{
	"/v1/chat/completions": "", "/chat/completions": "/v1/chat/completions",
	"/v1/chat/completions/input_tokens": "/v1/chat/completions", "/chat/completions/input_tokens": "/v1/chat/completions",
	"/apply-template": "/v1/chat/completions",
	"/v1/completions": "",
	"/v1/responses":   "", "/responses": "/v1/responses", "/v1/responses/input_tokens": "/v1/responses", "/responses/input_tokens": "/v1/responses",
	"/v1/messages": "", "/v1/messages/count_tokens": "/v1/messages",
	"/v1/audio/transcriptions": "", "/audio/transcriptions": "/v1/audio/transcriptions",
	"/api/chat": "", "/api/generate": "",
	"/completion": "", "/completions": "/completion",
	"/infill": "",
	"/v1/ws":  "",
}

// routeOf is the name that policies know a route by.
func routeOf(path string) string {
	if name := generating[path]; name != "" {
		return name
	}
	return path
}

// routeNames are those that a policy may name.
func routeNames() (names []string) {
	for path, name := range generating {
		if name == "" {
			names = append(names, path)
		}
	}
	slices.Sort(names)
	return names
}

// isGenerating reports whether policies know a route.
func isGenerating(path string) bool { _, known := generating[path]; return known }

// maxFile and maxPolicies bound a file of policies.
const (
	maxFile     = 1 << 20
	maxPolicies = 256
)

// fileEntry is an entry of the file.
type fileEntry struct {
	Plugin string    `yaml:"plugin"`
	Config yaml.Node `yaml:"config"`
	Mode   string    `yaml:"mode"`
	Place  string    `yaml:"place"`
	Models []string  `yaml:"models"`
	Keys   []string  `yaml:"keys"`
	Routes []string  `yaml:"routes"`
}

const entryFields = "plugin, config, mode, place, models, keys and routes"

// readFile reads a file of policies, which is YAML or JSON. Errors name the entry and the field.
func readFile(path string) ([]Attached, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	all, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func parse(text []byte) ([]Attached, error) {
	var file struct {
		Policies *[]fileEntry `yaml:"policies"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, plainError(err)
	}
	if d.Decode(new(any)) == nil {
		return nil, errors.New("it has two documents; put all policies into one list")
	}
	if file.Policies == nil { // one that is being written may be empty, and must not end policies
		return nil, errors.New("it has no list policies; without any policy it is: policies: []")
	}
	entries := *file.Policies
	if len(entries) > maxPolicies {
		return nil, fmt.Errorf("policies has %d entries; at most %d are allowed", len(entries), maxPolicies)
	}
	var all []Attached
	for i := range entries {
		a, err := entries[i].attached(fmt.Sprintf("policies[%d]", i))
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

var unknownField = regexp.MustCompile(`field (\S+) not found in type [^\n]*`)

// plainError leaves the names of Go types out of what a decoder says.
func plainError(err error) error {
	return errors.New(unknownField.ReplaceAllString(err.Error(), "there is no field $1: the file has a list policies, whose entries have "+entryFields))
}

func (e *fileEntry) attached(field string) (a Attached, err error) {
	a = Attached{Plugin: e.Plugin, Place: e.Place, Models: e.Models, Keys: e.Keys, Routes: e.Routes, field: field}
	switch {
	case e.Plugin == "":
		return a, fmt.Errorf("%s.plugin is missing: the name of a plugin of the folder", field)
	case e.Mode != "" && e.Mode != "required" && e.Mode != "default":
		return a, fmt.Errorf("%s.mode is %q; it must be required, so that no request does without the plugin, or default, so that requests can switch it off", field, e.Mode)
	case e.Place != "" && e.Place != placeBefore && e.Place != placeAfter:
		return a, fmt.Errorf("%s.place is %q; it must be before or after: where the plugin stands relative to what a request asks for", field, e.Place)
	}
	a.Required = e.Mode != "default"
	for _, list := range []struct {
		name   string
		values []string
	}{{"models", e.Models}, {"keys", e.Keys}, {"routes", e.Routes}} {
		if list.values != nil && len(list.values) == 0 {
			return a, fmt.Errorf("%s.%s is empty, so the policy would never hold: leave it out for all", field, list.name)
		}
		for i, v := range list.values {
			if v == "" || slices.Contains(list.values[:i], v) {
				return a, fmt.Errorf("%s.%s[%d] is %q: each entry must be a name, and there once", field, list.name, i, v)
			}
		}
	}
	for i, route := range a.Routes {
		if !isGenerating(route) {
			return a, fmt.Errorf("%s.routes[%d] is %q; it must be one of %s", field, i, route, strings.Join(routeNames(), ", "))
		}
		if a.Routes[i] = routeOf(route); slices.Contains(a.Routes[:i], a.Routes[i]) {
			return a, fmt.Errorf("%s.routes[%d] is %q, which is the same route as one before it", field, i, route)
		}
	}
	if !e.Config.IsZero() {
		a.Config, err = asJSON(&e.Config)
	}
	if err != nil {
		return a, fmt.Errorf("%s.config cannot be JSON: %w", field, err)
	}
	return a, nil
}

// asJSON is a part of a file as JSON. What looks like a date stays the text that it is.
func asJSON(n *yaml.Node) (json.RawMessage, error) {
	keepDates(n)
	var value any
	if err := n.Decode(&value); err != nil {
		return nil, err
	}
	if value == nil {
		return nil, nil
	}
	return json.Marshal(value)
}

func keepDates(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, child := range n.Content {
		keepDates(child)
	}
}

// Read reads which plugins the operator attaches to requests: those of plugins.default, and those
// of the file of policies; "": there is none.
func Read(defaults []string, file string, known Known) ([]Attached, error) {
	all := fromDefault(defaults)
	if file != "" {
		more, err := readFile(file)
		if err != nil {
			return nil, fmt.Errorf("plugins.policy_file: %w", err)
		}
		all = append(all, more...)
	}
	if err := checkAll(all, known); err != nil {
		if file != "" {
			err = fmt.Errorf("%s: %w", file, err)
		}
		return nil, err
	}
	return all, nil
}

// Known is what policies may name.
type Known struct {
	Model    func(name string) string // the name of a model that is called so; "": there is none; nil: any may be named
	Key      func(name string) bool   // whether a key has that name; nil: any may be named
	Registry *registry.Registry       // nil: any plugin may be named
}

// checkAll refuses policies that name what the server does not have, and two that hold for the same
// request with the same plugin. It puts the true names of models in place of others.
func checkAll(all []Attached, known Known) error {
	for i := range all {
		a := &all[i]
		if err := a.check(known); err != nil {
			return err
		}
		for _, b := range all[:i] {
			if a.Plugin == b.Plugin && overlap(a.Models, b.Models) && overlap(a.Keys, b.Keys) && overlap(a.Routes, b.Routes) {
				return fmt.Errorf("%s has plugin %q, as %s has, and a request can be of both: it can have the plugin once; tell them apart by models, keys or routes", a.field, a.Plugin, b.field)
			}
		}
	}
	return nil
}

func overlap(a, b []string) bool {
	return a == nil || b == nil || slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

func (a *Attached) check(known Known) error {
	for i, name := range a.Models {
		if known.Model == nil {
			break
		}
		if a.Models[i] = known.Model(name); a.Models[i] == "" {
			return fmt.Errorf("%s.models[%d] is %q; the server has no model of that name: see GET /v1/models", a.field, i, name)
		}
	}
	for i, name := range a.Keys {
		if known.Key != nil && !known.Key(name) {
			return fmt.Errorf("%s.keys[%d] is %q; no API key of the server has that name: name the keys in server.api_key_file", a.field, i, name)
		}
	}
	if a.Plugin == script.Name {
		return fmt.Errorf("%s: script runs the scripts that requests bring; put NAME.js into the plugin folder, and attach NAME", a.field)
	}
	if known.Registry == nil {
		return nil
	}
	p, err := known.Registry.Find(context.Background(), a.Plugin)
	if err != nil {
		return fmt.Errorf("%s: %w", a.field, err)
	}
	defer p.Release()
	if p.Manifest.View == load.ViewLogits && a.Place == placeAfter {
		return fmt.Errorf("%s.place is after, but plugin %q sees all logits, so it must stand before what drops some: leave place out", a.field, a.Plugin)
	}
	if _, err := p.CheckConfig(a.Config); err != nil {
		var config *plugin.ConfigError
		if errors.As(err, &config) {
			return fmt.Errorf("%s.config%s: plugin %s: %w", a.field, config.Field, a.Plugin, err)
		}
		return fmt.Errorf("%s.config: %w", a.field, err)
	}
	return nil
}
