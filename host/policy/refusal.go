// SPDX-License-Identifier: MIT

package policy

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/plugin"
)

// refused turns the reason why a plugin cannot be used into an error that names the field.
func refused(u *use, err error) error {
	var config *plugin.ConfigError
	var quarantine *plugin.QuarantineError
	switch {
	case errors.As(err, &config):
		return badUse(u.Field+".config"+config.Field, "plugin %s: %v", u.Name, config)
	case errors.As(err, &quarantine):
		return &api.Error{Status: http.StatusTooManyRequests, Code: "plugin_quarantined", Type: "rate_limit_error", Param: u.Field,
			Message: quarantine.Error(), Retry: quarantine.Seconds()}
	case errors.Is(err, plugin.ErrUnknown):
		return badUse(u.Field, "%v", err)
	}
	return err
}

func badUse(field, format string, args ...any) error {
	return &api.Error{Status: http.StatusBadRequest, Code: "invalid_value", Type: "invalid_request_error", Param: field,
		Message: fmt.Sprintf(format, args...)}
}
