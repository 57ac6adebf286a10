// SPDX-License-Identifier: MIT

// Package wire reads what clients send over HTTP and writes what they are answered, for all
// dialects.
//
// # Why does a JSON value count 128 bytes?
//
// Sixteen MB of `[0,0,…]` are eight million values, and took 700 MB. A value becomes a
// json.RawMessage, a copy of its text, and a place in a list that grows; over all routes decoding
// allocates at most 400 bytes for one, garbage included. They are counted before anything is
// decoded, and no longer than until a request is made of them: an answer may take its time.
//
// # Why has each write a deadline, and not each answer?
//
// An answer takes as long as the model needs and as its reader is slow, so no time fits all. A
// client that reads nothing of 16 KB for server.write_timeout counts as not reading. Between two
// writes there is no deadline: HTTP/2 would end a stream at it.
//
// # When are the headers of a stream sent?
//
// With the first event, or after a second without one. Most refusals, a plugin's among them, come
// within that second and keep their HTTP status; later ones are an error event. From then on the
// server sends a comment whenever it has sent nothing for 10 s, because proxies and clients give
// up on a silent connection.
//
// # Why is a key that stands twice in an object refused?
//
// RFC 8259 leaves open what it means: some programs take the first value, Go the last. A gateway
// in front of the server that checks max_tokens or model could then check another value than the
// one that counts. No client's library writes such JSON. The same holds for text that is not
// UTF-8, which Go would replace silently: the model would read something else than was sent.
// checkText has the rule for all routes.
package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
)

// Read reads the whole body, which is JSON that is about to be decoded.
func Read(c echo.Context) ([]byte, error) {
	body, err := Receive(c, io.ReadAll)
	if err != nil {
		return nil, err
	}
	return body, bodyOf(c).Decode(body)
}

// Receive reads the whole body with take. The server has set a deadline for that, which is lifted
// when it is there: net/http would otherwise take its passing, while the answer is streamed, for a
// lost connection. After NoteSent, CallerOf tells then what was read.
func Receive(c echo.Context, take func(io.Reader) ([]byte, error)) ([]byte, error) {
	var received io.Reader = c.Request().Body
	sum := sha256.New()
	_, noted := c.Get(sentKey).(completion.Sent)
	if noted {
		received = io.TeeReader(received, sum)
	}
	body, err := take(received)
	if err == nil && noted {
		_, err = io.Copy(io.Discard, received) // what stands behind a form
		c.Set(sentKey, completion.Sent{Route: c.Request().Method + " " + c.Path(), SHA256: hex.EncodeToString(sum.Sum(nil))})
	}
	if err == nil {
		_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{}) // test recorders have none
	}
	var tooLarge *http.MaxBytesError
	var refused *refusal.Error
	if err != nil && !errors.As(err, &tooLarge) && !errors.As(err, &refused) {
		return nil, &refusal.Error{Kind: refusal.KindInvalid, Code: "incomplete_body",
			Message: "the request body could not be read: " + withoutAddresses(err)}
	}
	return body, err
}

// withoutAddresses says why reading failed, but not between which addresses.
func withoutAddresses(err error) string {
	var network *net.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "it did not arrive in time"
	case errors.As(err, &network):
		return network.Err.Error()
	}
	return err.Error()
}

// ReadJSON reads the body into v, which holds the defaults.
func ReadJSON(c echo.Context, v any) error {
	_, err := ReadBody(c, v)
	return err
}

// ReadBody is ReadJSON that tells how many bytes the body has.
func ReadBody(c echo.Context, v any) (size int, err error) {
	body, err := Read(c)
	if err != nil {
		return 0, err
	}
	return len(body), Decode(body, v)
}

// Decode reads a JSON object into v. Fields that v does not have are ignored, as OpenAI's clients
// send many; a wrong type is an error that names the field. See checkText for what is refused
// besides.
func Decode(body []byte, v any) error {
	if err := checkText(body); err != nil {
		return err
	}
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	err := integer.Unmarshal(body, v)
	switch {
	case err == nil && strings.TrimSpace(string(body)) == "null":
		return Malformed("the request body is null; it must be a JSON object")
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return Malformed(fmt.Sprintf("the request body is not valid JSON at byte %d: %v", syntax.Offset, err))
	case errors.As(err, &wrongType) && wrongType.Field == "":
		return Malformed("the request body must be a JSON object, not " + withArticle(wrongType.Value))
	case errors.As(err, &wrongType):
		field := plainPath(wrongType.Field)
		e := refusal.Invalid(field, "%s is %s; it must be %s", field, withArticle(wrongType.Value), expectedType(wrongType))
		e.Code = "invalid_type"
		return e
	}
	return Malformed("the request body could not be read: " + err.Error())
}

// Malformed refuses a body that cannot be read.
func Malformed(message string) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindInvalid, Code: "invalid_json", Message: message}
}

// withArticle is a kind of JSON value, as encoding/json names it, in a sentence.
func withArticle(kind string) string {
	if kind == "array" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

// plainPath drops the embedded Go structs from a path: their names have capitals, those of JSON
// fields have none.
func plainPath(path string) string {
	var fields []string
	for part := range strings.SplitSeq(path, ".") {
		if strings.ToLower(part) == part {
			fields = append(fields, part)
		}
	}
	return strings.Join(fields, ".")
}

// expectedType says what a field's Go type takes, in JSON's words.
func expectedType(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "an integer (in " + kind + "'s range)"
	case strings.HasPrefix(kind, "float"):
		return "a number (in " + kind + "'s range)"
	case kind == "bool":
		return "true or false"
	case kind == "string":
		return "a text"
	case kind == "slice":
		return "a list"
	}
	return "an object"
}

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
