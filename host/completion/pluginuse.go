// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// maxPlugins bounds the plugins of a request.
const maxPlugins = 16

// pluginObject are the fields of an entry that is an object.
const pluginObject = "name, config, sha256 and on_error"

var hexSum = regexp.MustCompile("^[0-9a-f]{64}$")

// readUses reads plugins: a list of names, or of objects.
func readUses(raw json.RawMessage) ([]serving.PluginUse, error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, refusal.Invalid("plugins", "plugins must be a list of names, or of objects with "+pluginObject)
	}
	if len(items) > maxPlugins {
		return nil, refusal.Invalid("plugins", "plugins has %d entries; at most %d are allowed", len(items), maxPlugins)
	}
	uses := make([]serving.PluginUse, 0, len(items))
	for i, item := range items {
		field := fmt.Sprintf("plugins[%d]", i)
		use, err := readUse(item, field)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(uses, func(u serving.PluginUse) bool { return u.Name == use.Name }) {
			return nil, refusal.Invalid(field, "%s is %q, which is in the list already", field, use.Name)
		}
		uses = append(uses, use)
	}
	return uses, nil
}

func readUse(item json.RawMessage, field string) (serving.PluginUse, error) {
	use := serving.PluginUse{Field: field}
	if json.Unmarshal(item, &use.Name) == nil {
		return use, nil
	}
	var object struct {
		Name    string          `json:"name"`
		Config  json.RawMessage `json:"config"`
		SHA256  string          `json:"sha256"`
		OnError string          `json:"on_error"`
	}
	d := json.NewDecoder(bytes.NewReader(item))
	d.DisallowUnknownFields()
	if err := d.Decode(&object); err != nil {
		return use, refusal.Invalid(field, "%s must be a name or an object with %s, and nothing else%s", field, pluginObject, unknownField(err))
	}
	switch object.OnError {
	case "", "fail":
	case "skip":
		use.Skip = true
	default:
		return use, refusal.Invalid(field+".on_error", `%s.on_error is %q; it must be "fail" or "skip"`, field, object.OnError)
	}
	if object.SHA256 != "" && !hexSum.MatchString(object.SHA256) {
		return use, refusal.Invalid(field+".sha256", "%s.sha256 is %q; it must be 64 hexadecimal digits in small letters, as GET /v1/plugins gives them", field, excerpt.Of(object.SHA256, 80))
	}
	use.Name, use.SHA256 = object.Name, object.SHA256
	if string(bytes.TrimSpace(object.Config)) != "null" {
		use.Config = object.Config
	}
	return use, nil
}

// unknownField names the field that a strict decoder does not know; "" after another error.
func unknownField(err error) string {
	name, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return ""
	}
	return "; it has " + name
}
