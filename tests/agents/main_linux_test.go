// SPDX-License-Identifier: MIT

// Package agents has coding agents do a small task with Penstock's help. The model's text is
// written here, in the form that each chat template has for calls of tools; all else is real.
package agents

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/steadytest"
)

// insideEnv is set for the process, and its children, that have no network but loopback.
const insideEnv = "PENSTOCK_TEST_AGENTS_INSIDE"

// TestMain runs the tests once more, in a network namespace, so that no agent reaches anything but
// Penstock. They are part of `make test-long`, and of `make test-agents`.
func TestMain(m *testing.M) {
	switch {
	case !steadytest.Long():
		fmt.Println("coding agents are part of make test-long; make test-agents runs them alone")
		return
	case os.Getenv(insideEnv) == "":
		os.Exit(insideNamespace())
	default:
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, "failed to raise the loopback interface:", err)
			os.Exit(1)
		}
	}
	hosts.Main(m)
}

// insideNamespace runs this program with user and network namespaces of its own. Its user is not
// root there, since agents refuse to do as they like for root.
func insideNamespace() (code int) {
	const user, netAdmin = 1000, 12
	cmd := exec.Command(os.Args[0], os.Args[1:]...) //nolint:gosec // it is this program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{netAdmin},
		Pdeathsig:   syscall.SIGKILL,
	}
	runtime.LockOSThread() // with which Pdeathsig goes
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "failed to make a network namespace, which these tests need:", err)
		return 1
	}
	return 0
}

func raiseLoopback() error {
	if lo, err := net.InterfaceByName("lo"); err != nil || lo.Flags&net.FlagUp != 0 {
		return err
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(socket) //nolint:errcheck // nothing was written
	request := struct {         // struct ifreq
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 { //nolint:gosec // as the kernel has it
		return errno
	}
	return nil
}
