// SPDX-License-Identifier: MIT

package wire

import (
	"bufio"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/labstack/echo/v4"
)

// partsBuffer is how many bytes of an answer wait to be sent.
const partsBuffer = 32 << 10

// Text is a part of an answer in JSON that is written as it is.
type Text string

// JSONParts answers with JSON whose parts are made and written one after another, so that a large
// answer that is read slowly takes no more memory than its largest part. A part is a Text or a
// value that encoding/json writes. Once the first is written, an error can only end the connection.
func JSONParts(c echo.Context, parts iter.Seq[any]) error {
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	c.Response().WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(c.Response(), partsBuffer)
	for part := range parts {
		var text []byte
		switch p := part.(type) {
		case Text:
			text = []byte(p)
		default:
			var err error
			if text, err = json.Marshal(p); err != nil {
				return err
			}
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return out.Flush()
}

// JSONList gives the parts of a JSON list, whose entries may have parts themselves.
func JSONList[T any](list []T, entry func(i int, v T, yield func(any) bool) bool) iter.Seq[any] {
	return func(yield func(any) bool) {
		if !yield(Text("[")) {
			return
		}
		for i, v := range list {
			if i > 0 && !yield(Text(",")) || !entry(i, v, yield) {
				return
			}
		}
		yield(Text("]"))
	}
}

// JSONWith gives the parts of a JSON object with the fields of two others, and between them one
// with parts. Both must have fields.
func JSONWith(before any, name string, value iter.Seq[any], after any) iter.Seq[any] {
	return func(yield func(any) bool) {
		head, err := json.Marshal(before)
		if err != nil {
			yield(before) // which tells the error
			return
		}
		if !yield(Text(head[:len(head)-1])) || !yield(Text(`,"`+name+`":`)) {
			return
		}
		for part := range value {
			if !yield(part) {
				return
			}
		}
		if after == nil {
			yield(Text("}"))
			return
		}
		tail, err := json.Marshal(after)
		if err != nil {
			yield(after)
			return
		}
		yield(Text("," + string(tail[1:])))
	}
}
