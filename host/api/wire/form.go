// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
)

const (
	maxFormParts = 256     // of one form
	maxFormText  = 1 << 20 // bytes of all fields but the file
)

// File is the field of a body that is a form which has a file under its name.
type File []byte

const fileType = "file"

// ReadForm reads a body that is a form: the file, which it returns, and its other fields into
// body, which points to a struct with the defaults and a field of type File, as if they had come
// as JSON. A field that JSON has as a text is taken as it stands, another as JSON's text for it;
// NAME[] adds to a list. As in JSON, fields that the struct does not have are left out. Everything
// stays in memory, where it counts as a body does.
//
// # Errors
//
// A *refusal.Error names the field. A form without the file is refused.
func ReadForm(c echo.Context, body any) (File, error) {
	boundary, err := boundaryOf(c.Request())
	if err != nil {
		return nil, err
	}
	f := form{types: map[string]string{}, texts: map[string][]string{}}
	for _, field := range fieldsOf(reflect.TypeOf(body).Elem()) {
		if f.types[field.Name] = field.Type; field.Type == fileType {
			f.file = field.Name
		}
	}
	if _, err := Receive(c, func(r io.Reader) ([]byte, error) { return nil, f.read(r, boundary) }); err != nil {
		return nil, err
	}
	if !f.hasFile {
		return nil, refusal.Invalid(f.file, "%s is missing: the form must have a file under this name", f.file)
	}
	text, err := f.asJSON()
	if err != nil {
		return nil, err
	}
	if err := bodyOf(c).Decode(text); err != nil {
		return nil, err
	}
	return f.data, Decode(text, body)
}

// boundaryOf is what stands between the parts of a form.
func boundaryOf(r *http.Request) (string, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return "", &refusal.Error{Kind: refusal.KindInvalid, Code: "invalid_form",
			Message: fmt.Sprintf("the request body is of type %q; this route takes a form: multipart/form-data with a boundary, as curl -F sends it", excerpt.Of(r.Header.Get("Content-Type"), 80))}
	}
	return params["boundary"], nil
}

// form is what has been read of a form.
type form struct {
	file    string            // the name of the part that is the file
	types   map[string]string // of the fields that are known, by name
	texts   map[string][]string
	bytes   int // of texts
	data    File
	hasFile bool
}

// noting notes that the body could not be read, which is not the form's fault.
type noting struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (f *noting) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func (f *form) read(body io.Reader, boundary string) error {
	from := &noting{Reader: body}
	parts := multipart.NewReader(from, boundary)
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // wrapped, it means that the form has no end
			_, err = io.Copy(io.Discard, from) // what follows the form, so that the connection can be used again
			return err
		}
		if err == nil && n == maxFormParts {
			return malformedForm(fmt.Sprintf("has more than %d parts", maxFormParts))
		}
		if err == nil {
			err = f.take(part)
		}
		var refused *refusal.Error
		switch {
		case err == nil:
		case from.err != nil:
			return from.err
		case errors.As(err, &refused):
			return refused
		default:
			return malformedForm(fmt.Sprintf("cannot be read: its part %d is cut off or no part, or the form has another boundary than Content-Type says", n+1))
		}
	}
}

func malformedForm(what string) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindInvalid, Code: "invalid_form", Message: "the form " + what}
}

// take reads a part.
func (f *form) take(part *multipart.Part) (err error) {
	name, isList := strings.CutSuffix(part.FormName(), "[]")
	if name == f.file {
		if f.hasFile {
			return refusal.Invalid(name, "%s stands in the form twice; one request has one file", name)
		}
		f.data, err = io.ReadAll(part)
		f.hasFile = true
		return err
	}
	kind, known := f.types[name]
	if !known {
		return nil
	}
	if f.texts[name] != nil && kind != "list" && !isList {
		return refusal.Invalid(name, "%s stands in the form twice", name)
	}
	text, err := io.ReadAll(io.LimitReader(part, int64(maxFormText-f.bytes+1)))
	if f.bytes += len(text); f.bytes > maxFormText {
		return refusal.Invalid(name, "%s is too long: the fields of a form may have %d bytes together, besides its file", name, maxFormText)
	}
	if !utf8.Valid(text) {
		return refusal.Invalid(name, "%s is not in UTF-8", name)
	}
	f.texts[name] = append(f.texts[name], string(text))
	return err
}

// asJSON is the object that the fields would be in a body of JSON.
func (f *form) asJSON() ([]byte, error) {
	fields := make(map[string]any, len(f.texts))
	for name, texts := range f.texts {
		switch kind := f.types[name]; {
		case len(texts) > 1, kind == "list" && !strings.HasPrefix(strings.TrimSpace(texts[0]), "["):
			fields[name] = texts
		case kind == "text":
			fields[name] = texts[0]
		default:
			fields[name] = valueOf(texts[0], kind)
		}
	}
	return json.Marshal(fields)
}

// valueOf is a field's text as JSON has it: itself if it is a value, else a text, which is then
// refused as such. Python writes True.
func valueOf(text, kind string) any {
	if kind == "true or false" {
		text = strings.ToLower(text)
	}
	if value := bytes.TrimSpace([]byte(text)); json.Valid(value) {
		return json.RawMessage(value)
	}
	return text
}
