// SPDX-License-Identifier: MIT

package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Address is where a server listens: a port of a host, or a Unix socket.
type Address struct {
	Host   string // a name, or an IP address without brackets; empty: all addresses of this machine
	Port   string // a number from 0 to 65535; 0: a free one
	Socket string // the path of a Unix socket, in place of the others
}

// UnmarshalText reads HOST:PORT, or the path of a Unix socket that ends in .sock. What it does not
// understand is an error: an empty host would have the server listen on all addresses, so only
// :PORT stands for that, and not brackets with nothing in them.
func (a *Address) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAddress(string(text))
	return err
}

// ParseAddress reads an address, as UnmarshalText does.
func ParseAddress(text string) (Address, error) {
	if strings.HasSuffix(text, ".sock") {
		return parseSocket(text)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Address{}, fmt.Errorf("%q is no port", port)
	}
	if strings.HasPrefix(text, "[") && !strings.Contains(host, ":") {
		return Address{}, fmt.Errorf("there is no IPv6 address in the brackets of %q", text)
	}
	return Address{Host: host, Port: port}, checkHost(host)
}

// parseHost reads what server.host may be: as llama-server's, it is also the path of a socket, and
// an IPv6 address may have the brackets that it has before a port.
func parseHost(text string) (Address, error) {
	if strings.HasSuffix(text, ".sock") {
		return parseSocket(text)
	}
	host := text
	if within, opened := strings.CutPrefix(text, "["); opened {
		var closed bool
		host, closed = strings.CutSuffix(within, "]")
		if !closed || !strings.Contains(host, ":") {
			return Address{}, fmt.Errorf("there is no IPv6 address in the brackets of %q", text)
		}
	}
	return Address{Host: host}, checkHost(host)
}

// parseSocket refuses names in the kernel's own table, which begin with @: they have no
// permissions, so every user of the machine could connect.
func parseSocket(path string) (Address, error) {
	if strings.HasPrefix(path, "@") || strings.ContainsRune(path, 0) {
		return Address{}, fmt.Errorf("%q is no path of a file; write ./ before it", path)
	}
	return Address{Socket: path}, nil
}

// checkHost takes IP addresses, also with a zone, and what may be a host name.
func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	wrong := strings.IndexFunc(host, func(r rune) bool { return !isLetterOrDigit(r) && !strings.ContainsRune("-._", r) && r < 0x80 })
	if wrong >= 0 {
		return fmt.Errorf("%q is neither a host name nor an IP address", host)
	}
	return nil
}

// String is the address as ParseAddress reads it.
func (a Address) String() string {
	if a.Socket != "" {
		return a.Socket
	}
	return net.JoinHostPort(a.Host, a.Port)
}

// Network is the network's name for package net. An IPv4 address is asked for by itself, since
// package net takes 0.0.0.0 for all IPv6 addresses as well.
func (a Address) Network() string {
	if a.Socket != "" {
		return "unix"
	}
	if ip, err := netip.ParseAddr(a.Host); err == nil && ip.Unmap().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// All reports whether it stands for all addresses of this machine.
func (a Address) All() bool {
	ip, err := netip.ParseAddr(a.Host)
	return a.Socket == "" && (a.Host == "" || err == nil && ip.Unmap().IsUnspecified())
}

// Loopback reports whether only this machine can connect.
func (a Address) Loopback() bool {
	ip, err := netip.ParseAddr(a.Host)
	return a.Host == "localhost" || err == nil && ip.Unmap().WithZone("").IsLoopback()
}

// CheckOpened refuses what a listener got if it is open to more than was asked for, as where a name
// means another address than it says.
func (a Address) CheckOpened(got net.Addr) error {
	tcp, isTCP := got.(*net.TCPAddr)
	switch {
	case !isTCP || a.All():
		return nil
	case tcp.IP.IsUnspecified():
		return fmt.Errorf("%s means all addresses of this machine here; write :%s if that is what you want", a, a.Port)
	case a.Loopback() && !tcp.IP.IsLoopback():
		return fmt.Errorf("%s is %s here, which other machines can reach; write that address if it is what you want", a, tcp)
	}
	return nil
}

func isLoopback(address string) bool {
	a, err := ParseAddress(address)
	return err == nil && a.Loopback()
}
