// SPDX-License-Identifier: MIT

package media

import (
	"bytes"
	"fmt"

	"github.com/penstock/penstock/host/media/picture"
	"github.com/penstock/penstock/host/media/sound"
)

// kindOf is what a file is by its bytes. Its errors follow the part's field.
func kindOf(data []byte) (Kind, error) {
	switch {
	case picture.FormatOf(data) != "":
		return Image, nil
	case sound.FormatOf(data) != "":
		return Audio, nil
	}
	for _, o := range others {
		if o.is(data) {
			return Any, fmt.Errorf("is %s, which is not read here; %s", o.name, o.remedy)
		}
	}
	return Any, fmt.Errorf("is no file of a kind that is read here; %s", anyKind)
}

const (
	anyKind    = "send a picture as JPEG, PNG, GIF, WebP or BMP, or a sound as WAV or MP3"
	asPicture  = "save it as JPEG, PNG or WebP"
	asSound    = "save it as WAV or MP3"
	asPictures = "send its pages as pictures, or its text"
)

// others are kinds of files that clients try, each with what to do.
var others = []struct {
	name, remedy string
	is           func([]byte) bool
}{
	{"a PDF", asPictures, func(d []byte) bool { return bytes.Contains(d[:min(len(d), 1024)], []byte("%PDF-")) }},
	{"an SVG or another text with markup", "draw it as PNG first", isMarkup},
	{"a TIFF", asPicture, startsWith("II*\x00", "MM\x00*")},
	{"a HEIC or AVIF picture", asPicture, isBrand("heic", "heix", "hevc", "mif1", "msf1", "avif", "avis")},
	{"a JPEG XL", asPicture, startsWith("\xff\x0a", "\x00\x00\x00\x0cJXL ")},
	{"an icon", asPicture, startsWith("\x00\x00\x01\x00", "\x00\x00\x02\x00")},
	{"sound of an M4A", asSound, isBrand("M4A ", "M4B ")},
	{"a video", "send pictures of it, or its sound", func(d []byte) bool {
		return isBrand("")(d) || startsWith("\x1aE\xdf\xa3")(d) || len(d) >= 12 && string(d[:4]) == "RIFF" && string(d[8:12]) == "AVI "
	}},
	{"sound as Ogg, Opus, FLAC or AAC", asSound, startsWith("OggS", "fLaC", "\xff\xf1", "\xff\xf9")},
	{"an archive or an office document", asPictures, startsWith("PK\x03\x04", "\x1f\x8b", "7z\xbc\xaf", "\xd0\xcf\x11\xe0")},
}

func startsWith(magics ...string) func([]byte) bool {
	return func(data []byte) bool {
		for _, m := range magics {
			if bytes.HasPrefix(data, []byte(m)) {
				return true
			}
		}
		return false
	}
}

// isBrand knows files of MP4's family by what they are for.
func isBrand(brands ...string) func([]byte) bool {
	return func(data []byte) bool {
		if len(data) < 12 || string(data[4:8]) != "ftyp" {
			return false
		}
		return startsWith(brands...)(data[8:])
	}
}

// isMarkup knows texts that begin with a tag, after white space and the mark of their bytes' order.
func isMarkup(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data[:min(len(data), 1024)], []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(data) > 1 && data[0] == '<' && (data[1] == '?' || data[1] == '!' || data[1] >= 'A' && data[1] <= 'z')
}
