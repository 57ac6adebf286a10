// SPDX-License-Identifier: MIT

package policy

import (
	"errors"
	"net/http"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/plugin"
)

// useError turns the reason why a plugin cannot be used into an error that names the field.
func useError(u *use, err error) error {
	var config *plugin.ConfigError
	var quarantine *plugin.QuarantineError
	switch {
	case errors.As(err, &config):
		return api.Invalid(u.Field+".config"+config.Field, "plugin %s: %v", u.Name, config)
	case errors.As(err, &quarantine):
		return &api.Error{Status: http.StatusTooManyRequests, Code: "plugin_quarantined", Type: api.TypeBusy, Param: u.Field,
			Message: quarantine.Error(), Retry: quarantine.Seconds()}
	case errors.Is(err, plugin.ErrUnknown):
		return api.Invalid(u.Field, "%v", err)
	}
	return err
}
