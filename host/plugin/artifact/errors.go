// SPDX-License-Identifier: MIT

package artifact

import (
	"errors"
	"fmt"
	"net/http"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// Why there is no artifact, or it is none of a plugin; compare with errors.Is.
var (
	ErrReference = errors.New("not the name of an artifact in a registry")
	ErrNotFound  = errors.New("not in the registry")
	ErrDenied    = errors.New("the registry refuses")
	ErrNotPlugin = errors.New("not a plugin")
	ErrNotIndex  = errors.New("not an index of plugins")
)

func badReference(text string, err error) error {
	return fmt.Errorf("%w: %q (%w); it must be REGISTRY/REPOSITORY, and then :TAG or @sha256:DIGEST", ErrReference, text, err)
}

// explained says what an error of the registry means and what to do.
func explained(r Reference, err error) error {
	var answer *errcode.ErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errdef.ErrNotFound):
		return fmt.Errorf("%w: %s", ErrNotFound, r)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return fmt.Errorf("%w: %s; log in with `docker login %s` or `podman login --authfile ~/.docker/config.json %s`, and see that the account may do this: %w",
			ErrDenied, r, r.Registry, r.Registry, err)
	}
	return fmt.Errorf("%s: %w", r, err)
}
