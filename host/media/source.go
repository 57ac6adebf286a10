// SPDX-License-Identifier: MIT

package media

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
)

// Files gives the file that a client has sent by itself, by its id; nil: there is none.
type Files func(id string) []byte

// read gets the bytes of a part. Its errors follow the part's field.
func (l *Loader) read(ctx context.Context, p Part, files Files, budget *int64) ([]byte, error) {
	if p.Base64 && !isDataURL(p.Source) {
		return decodeBase64(p.Source)
	}
	if isDataURL(p.Source) {
		return decodeDataURL(p.Source)
	}
	if id, ok := strings.CutPrefix(p.Source, FrameScheme); ok {
		if files == nil {
			return nil, errors.New("names a binary frame, which only requests over the WebSocket have")
		}
		data := files(id)
		if data == nil {
			return nil, fmt.Errorf("names the binary frame %q, which is not here: send it first, on the same connection", excerpt.Of(id, 40))
		}
		return data, nil
	}
	if p.Source == "" {
		return nil, errors.New("is empty")
	}
	if l.fetcher == nil {
		return nil, errors.New("is no data: URL, and this server fetches no others (media.urls): send the file itself, as data:image/png;base64,…")
	}
	data, err := l.fetcher.Get(ctx, p.Source, *budget)
	*budget -= int64(len(data))
	return data, err
}

func isDataURL(s string) bool { return len(s) >= 5 && strings.EqualFold(s[:5], "data:") }

// longestType is how many bytes may stand before the data in a data: URL.
const longestType = 256

// decodeDataURL reads data:TYPE;base64,DATA. The type says nothing that counts.
func decodeDataURL(s string) ([]byte, error) {
	comma := strings.IndexByte(s[:min(len(s), longestType)], ',')
	if comma < 0 {
		return nil, errors.New("is a data: URL without a comma before its data: data:image/png;base64,… is one")
	}
	if !strings.HasSuffix(strings.ToLower(s[:comma]), ";base64") {
		return nil, errors.New("is a data: URL that is not in base64: data:image/png;base64,… is one")
	}
	data := s[comma+1:]
	if strings.ContainsRune(data, '%') { // some escape what has a meaning in URLs: + / =
		unescaped, err := url.PathUnescape(data)
		if err != nil {
			return nil, fmt.Errorf("is a data: URL with a wrong escape: %w", err)
		}
		data = unescaped
	}
	return decodeBase64(data)
}

// decodeBase64 reads base64 of either alphabet, with or without its padding, and with line breaks,
// but with nothing else that does not belong there.
func decodeBase64(s string) ([]byte, error) {
	encoding := base64.StdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.URLEncoding
	}
	if !strings.HasSuffix(strings.TrimRight(s, "\r\n"), "=") {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	encoding = encoding.Strict()
	data, err := encoding.DecodeString(s)
	var corrupt base64.CorruptInputError
	switch {
	case errors.As(err, &corrupt):
		return nil, fmt.Errorf("is no base64 at byte %d of %d", int64(corrupt), len(s))
	case err != nil:
		return nil, err
	case len(data) == 0:
		return nil, errors.New("is empty")
	}
	return data, nil
}
