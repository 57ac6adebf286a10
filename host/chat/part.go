// SPDX-License-Identifier: MIT

package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
)

// filePart is a part of type file of a chat completion, or the like of a response.
type filePart struct {
	Data string `json:"file_data"`
	URL  string `json:"file_url"`
	ID   string `json:"file_id"`
}

// part is a part of a content, in OpenAI's shape. Which fields it has depends on its type.
type part struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text"`
	ImageURL json.RawMessage `json:"image_url"` // of type image_url an object, of some clients and of type input_image a text
	Detail   string          `json:"detail"`    // of type input_image
	Audio    struct {
		Data string `json:"data"`
	} `json:"input_audio"`
	File filePart `json:"file"` // of type file
	filePart
}

// PartTypes says which parts a content may have.
const PartTypes = "text, image_url, input_audio and file"

// ParsePart reads a part that is a picture or a sound: of a message of a chat completion, or of an
// item of a response. A part of another type is not ok. Errors are *Invalid.
func ParsePart(raw json.RawMessage, field string) (_ media.Part, ok bool, _ error) {
	var p part
	if json.Unmarshal(raw, &p) != nil {
		return media.Part{}, false, &Invalid{Field: field, Reason: "is not a part: an object with a type and the fields of that type"}
	}
	m := media.Part{Field: field}
	file := p.filePart
	switch p.Type {
	case "image_url", "input_image":
		m.Kind = media.Image
		if m.Source, m.Detail = imageOf(p); m.Source == "" && p.ID == "" {
			return m, true, &Invalid{Field: field + ".image_url", Reason: "is missing: a data: URL with the picture"}
		}
	case "input_audio":
		if m.Kind, m.Source, m.Base64 = media.Audio, p.Audio.Data, true; m.Source == "" {
			return m, true, &Invalid{Field: field + ".input_audio.data", Reason: "is missing: the sound in base64"}
		}
		m.Base64 = !isFrame(m.Source)
		return m, true, nil
	case "file", "input_file":
		if p.Type == "file" {
			file = p.File
		}
		m.Source, m.Base64 = file.Data, true
		if m.Source == "" {
			m.Source, m.Base64 = file.URL, false
		}
		if m.Source == "" && file.ID == "" {
			return m, true, &Invalid{Field: field, Reason: "has no file_data: the file in base64"}
		}
		m.Base64 = m.Base64 && !isFrame(m.Source)
	default:
		return m, false, nil
	}
	if m.Source == "" {
		return m, true, &Invalid{Field: field + ".file_id", Reason: fmt.Sprintf("is %q; files are not stored here: send the file itself", excerpt.Of(file.ID, 40))}
	}
	return m, true, nil
}

// imageOf is the URL of a picture and how closely to look at it.
func imageOf(p part) (source, detail string) {
	if json.Unmarshal(p.ImageURL, &source) == nil {
		return source, p.Detail
	}
	var image struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal(p.ImageURL, &image) // what is none has no URL
	return image.URL, image.Detail
}

func isFrame(source string) bool { return strings.HasPrefix(source, media.FrameScheme) }
