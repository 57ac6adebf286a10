// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
)

// bodyTimeout bounds how long a client may take to send its request.
const bodyTimeout = 60 * time.Second

// Read reads the whole body.
func Read(c echo.Context) ([]byte, error) { return Receive(c, io.ReadAll) }

// Receive reads the whole body with take, within bodyTimeout. It lifts the deadline at the end: net/http would otherwise take its
// passing, while the answer is streamed, for a lost connection.
func Receive(c echo.Context, take func(io.Reader) ([]byte, error)) ([]byte, error) {
	control := http.NewResponseController(c.Response())
	timed := control.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil
	body, err := take(c.Request().Body)
	if timed {
		_ = control.SetReadDeadline(time.Time{}) // fails only where setting it failed
	}
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		return nil, &completion.Error{Status: http.StatusBadRequest, Code: "incomplete_body", Type: completion.TypeInvalid,
			Message: "the request body could not be read: " + err.Error()}
	}
	return body, err
}

// ReadJSON reads the body into v, which holds the defaults.
func ReadJSON(c echo.Context, v any) error {
	body, err := Read(c)
	if err != nil {
		return err
	}
	return Decode(body, v)
}
