// SPDX-License-Identifier: MIT

package session

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrFormat is why a file is refused: it is no session file, or something in it cannot be. The
// error names the field.
var ErrFormat = errors.New("bad session file")

// largest bounds what a file may be once it is unpacked, in bytes.
const largest = 1 << 30

// Read reads a session file: JSON, or gzip of it. The error wraps ErrFormat, or is the reader's.
func Read(from io.Reader) (*File, error) {
	buffered := bufio.NewReader(from)
	var plain io.Reader = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		plain = unpacked
	}
	text, err := io.ReadAll(io.LimitReader(plain, largest+1))
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(flate.CorruptInputError)):
		return nil, fmt.Errorf("%w: it is damaged or cut: %w", ErrFormat, err)
	case err != nil:
		return nil, err
	case len(text) > largest:
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrFormat, largest)
	}
	f := &File{}
	if err := f.parse(bytes.TrimPrefix(text, []byte("\ufeff"))); err != nil { // some editors begin files with this mark
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return f, nil
}

func (f *File) parse(text []byte) error {
	var version struct {
		Version int `json:"penstock_session"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return describe(err, text)
	}
	switch version.Version {
	case Version:
	case 0:
		return fmt.Errorf(`penstock_session is missing: a session file begins with {"penstock_session": %d, …}`, Version)
	default:
		return fmt.Errorf("penstock_session is %d; this version of Penstock reads %d", version.Version, Version)
	}
	if err := strict(text, f); err != nil {
		return describe(err, text)
	}
	return f.check()
}

// describe adds the line to an error of JSON that knows where it is.
func describe(err error, text []byte) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n")), err)
	}
	return err
}

// strict decodes one JSON value. A field that is not known is an error.
func strict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. Errors name the field.
func (f *File) UnmarshalJSON(text []byte) error {
	type fields File
	parts := struct {
		*fields
		Sessions []json.RawMessage `json:"sessions"`
	}{fields: (*fields)(f)}
	if err := strict(text, &parts); err != nil {
		return err
	}
	return eachOf("sessions", parts.Sessions, &f.Sessions)
}

// UnmarshalJSON implements json.Unmarshaler. Errors name the field.
func (s *Session) UnmarshalJSON(text []byte) error {
	type fields Session
	parts := struct {
		*fields
		Calls []json.RawMessage `json:"calls"`
	}{fields: (*fields)(s)}
	if err := strict(text, &parts); err != nil {
		return err
	}
	return eachOf("calls", parts.Calls, &s.Calls)
}

// eachOf decodes the entries of a list, so that an error can name the entry.
func eachOf[T any](field string, from []json.RawMessage, to *[]T) error {
	*to = make([]T, len(from))
	for i, text := range from {
		if err := strict(text, &(*to)[i]); err != nil {
			return fmt.Errorf("%s[%d]: %w", field, i, err)
		}
	}
	return nil
}
