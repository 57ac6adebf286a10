// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/labstack/echo/v4"
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
// lost connection.
func Receive(c echo.Context, take func(io.Reader) ([]byte, error)) ([]byte, error) {
	body, err := take(c.Request().Body)
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
