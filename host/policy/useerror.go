// SPDX-License-Identifier: MIT

package policy

import (
	"errors"
	"net/http"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/plugin"
)

// useError turns the reason why a plugin cannot be used into an error that names the field.
func useError(u *use, err error) error {
	var config *plugin.ConfigError
	var failed *plugin.ModelError
	var quarantine *plugin.QuarantineError
	switch {
	case errors.As(err, &config):
		return completion.Invalid(u.Field+".config"+config.Field, "plugin %s: %v", u.Name, config)
	case errors.As(err, &failed):
		return &completion.Error{Status: http.StatusBadRequest, Code: "plugin_failed", Type: completion.TypeInvalid, Param: u.Field, Message: plugin.Told(failed)}
	case errors.As(err, &quarantine):
		return &completion.Error{Status: http.StatusTooManyRequests, Code: "plugin_quarantined", Type: completion.TypeBusy, Param: u.Field,
			Message: quarantine.Error(), Retry: quarantine.Seconds()}
	case errors.Is(err, plugin.ErrUnknown):
		return completion.Invalid(u.Field, "%v", err)
	}
	return err
}
