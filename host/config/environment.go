// SPDX-License-Identifier: MIT

package config

import (
	"regexp"
	"slices"
	"strings"
)

const prefix = "PENSTOCK_"

// Variable is the name of the environment variable of a key.
func (k Key) Variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// readEnvironment matches variables against the table, because "_" may stand for a dot or for
// itself. An empty variable counts as absent, since many tools cannot unset one, but for a key
// that protects the server.
func (l *loader) readEnvironment(environ []string) {
	l.services = servicesIn(environ)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || ignored(name) || l.isOfService(name, value) {
			continue
		}
		i := slices.IndexFunc(table, func(k Key) bool { return k.Variable() == name })
		switch {
		case value == "" && (i < 0 || !table[i].Protects):
		case i < 0:
			l.problems = append(l.problems, unknown(name, value, "environment"))
		default:
			l.set(table[i].Name, value, "environment "+name)
		}
	}
}

// ignored tells which variables are for tests, for the child process that tries models or for
// package native, and not for the configuration.
func ignored(name string) bool {
	return strings.HasPrefix(name, prefix+"TEST_") || name == prefix+"PROBE" || name == prefix+"CPU_LEVEL"
}

// servicesIn are the beginnings of the variables by which Kubernetes tells a pod of the Services
// beside it, of those that are named as this program's own variables are: PENSTOCK of a Service
// penstock, PENSTOCK_SERVER of penstock-server. Each has a host and a port.
func servicesIn(environ []string) (services []string) {
	is := func(name string) bool {
		return slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		service, found := strings.CutSuffix(name, "_SERVICE_HOST")
		if found && strings.HasPrefix(service+"_", prefix) && is(service+"_SERVICE_PORT") {
			services = append(services, service)
		}
	}
	return services
}

var linkOfPort = regexp.MustCompile(`^_PORT_[0-9]+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?$`)

// isOfService reports whether Kubernetes has set a variable. PENSTOCK_SERVER_PORT may be of a
// Service, where it is a URL, or the port of this server.
func (l *loader) isOfService(name, value string) bool {
	return slices.ContainsFunc(l.services, func(service string) bool {
		rest, found := strings.CutPrefix(name, service)
		return found && (rest == "_SERVICE_HOST" || rest == "_SERVICE_PORT" || strings.HasPrefix(rest, "_SERVICE_PORT_") ||
			rest == "_PORT" && strings.Contains(value, "://") || linkOfPort.MatchString(rest))
	})
}
