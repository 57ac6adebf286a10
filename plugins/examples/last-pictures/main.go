// SPDX-License-Identifier: MIT

// Command last-pictures is a plugin: it leaves all but the last pictures and sounds out of a
// conversation, which saves their tokens.
package main

import (
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[lastPictures](penstock.Manifest{
	Name:    "last-pictures",
	Version: "1.0.0",
	Summary: "leaves all but the last pictures and sounds of a conversation out, and says where they stood",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"keep": {"type": "integer", "minimum": 0, "maximum": 128, "default": 1, "description": "how many stay; one that is shown twice counts twice"},
			"image": {"type": "string", "maxLength": 200, "default": "[a picture that was shown before]", "description": "stands in the place of a picture"},
			"audio": {"type": "string", "maxLength": 200, "default": "[a sound that was heard before]", "description": "stands in the place of a sound"}
		}
	}`,
})

func main() {}

// lastPictures is the plugin in one request.
type lastPictures struct {
	keep  int
	notes map[string]string // by type
}

// Open implements penstock.Opener.
func (p *lastPictures) Open(r *penstock.Request) error {
	p.keep = r.Config.Get("keep").Int()
	p.notes = map[string]string{penstock.Image: r.Config.Get("image").Text(), penstock.Audio: r.Config.Get("audio").Text()}
	return nil
}

// Rewrite implements penstock.Rewriter. It goes through the conversation from its end, and
// replaces markers once enough have stayed.
func (p *lastPictures) Rewrite(conversation []penstock.Message) ([]penstock.Message, error) {
	left := p.keep
	for i := len(conversation) - 1; i >= 0; i-- {
		m := &conversation[i]
		all := m.Media()
		kept := min(left, len(all))
		left -= kept
		for _, gone := range all[:len(all)-kept] {
			m.Content = strings.Replace(m.Content, gone.Marker, p.notes[gone.Type], 1)
		}
	}
	return conversation, nil
}
