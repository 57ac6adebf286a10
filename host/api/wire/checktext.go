// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
)

// maxDepth bounds how deep lists and objects may be nested. Schemas and conversations need a few
// dozen levels; code behind this, in C too, may go down one call for each.
const maxDepth = 256

// checkText refuses JSON that different programs read differently, which RFC 8259 leaves open: a
// key that stands twice in an object, of which some take the first and some the last, so that a
// gateway would check another value than the one that counts; and text that is no UTF-8, or half of
// a surrogate pair, which some replace. It also refuses what is nested too deep. Invalid JSON is
// left to the decoder, whose errors are known.
func checkText(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	for {
		_, err := d.ReadToken()
		var syntax *jsontext.SyntacticError
		switch {
		case err == nil && d.StackDepth() <= maxDepth:
		case err == nil:
			return Malformed(fmt.Sprintf("the request body is nested more than %d deep at byte %d", maxDepth, d.InputOffset()))
		case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
			field := fieldOf(syntax.JSONPointer)
			return &refusal.Error{Kind: refusal.KindInvalid, Code: "duplicate_key", Field: field,
				Message: fmt.Sprintf("%s is given twice; a key may stand in an object once", field)}
		case errors.As(err, &syntax) && isText(syntax):
			e := Malformed(fmt.Sprintf("the request body has text at byte %d that is not UTF-8", syntax.ByteOffset))
			e.Field = fieldOf(syntax.JSONPointer)
			return e
		default:
			return nil // the end, or no JSON
		}
	}
}

// isText reports whether the error is one of a text's characters. The library has no sentinels for
// them.
func isText(err *jsontext.SyntacticError) bool {
	return strings.Contains(err.Err.Error(), "UTF-8") || strings.Contains(err.Err.Error(), "surrogate")
}

// fieldOf writes a pointer as errors name fields: messages[0].content.
func fieldOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if strings.Trim(token, "0123456789") == "" && token != "" {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return excerpt.Of(b.String(), 200)
}
