// SPDX-License-Identifier: MIT

package policy

import (
	"errors"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/refusal"
)

// useError turns the reason why a plugin cannot be used into an error that names the field.
func useError(u *use, err error) error {
	var config *plugin.ConfigError
	var failed *plugin.ModelError
	var quarantine *plugin.QuarantineError
	switch {
	case errors.As(err, &config):
		return refusal.Invalid(u.Field+".config"+config.Field, "plugin %s: %v", u.Name, config)
	case errors.As(err, &failed):
		return &refusal.Error{Kind: refusal.KindInvalid, Code: "plugin_failed", Field: u.Field, Message: plugin.Told(failed)}
	case errors.As(err, &quarantine):
		return &refusal.Error{Kind: refusal.KindBusy, Code: "plugin_quarantined", Field: u.Field,
			Message: quarantine.Error(), Retry: quarantine.Seconds()}
	case errors.Is(err, plugin.ErrUnknown):
		return refusal.Invalid(u.Field, "%v", err)
	}
	return err
}
