// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin"
)

const wasiModule = "wasi_snapshot_preview1"

// Error numbers of WASI preview 1.
const (
	wasiOK     = 0
	wasiBadF   = 8
	wasiNoSys  = 52
	clockTick  = 1_000 // ns that a reading of the clock takes
	wasiStdout = 1
	wasiStderr = 2
)

// What WASI calls cost: each random byte, and each entry of fd_write's list.
const (
	randomFuel = 2
	randomPart = 1 << 15 // bytes
	entryFuel  = 128
)

// wasiFunction is an import of WASI; types are a letter each, i for i32 and I for i64.
type wasiFunction struct {
	name, params, results string
	run                   rawFunction
}

// wasi is WASI preview 1 without a system behind it. There are output, random numbers, and a clock
// that advances with each reading and by what a guest sleeps, which takes no time. Calls about
// files answer "bad descriptor"; the rest is not supported.
var wasi = []wasiFunction{
	{"args_get", "ii", "i", errno(wasiOK)},
	{"args_sizes_get", "ii", "i", wasiNone},
	{"environ_get", "ii", "i", errno(wasiOK)},
	{"environ_sizes_get", "ii", "i", wasiNone},
	{"clock_res_get", "ii", "i", wasiClockRes},
	{"clock_time_get", "iIi", "i", wasiClockTime},
	{"fd_advise", "iIIi", "i", errno(wasiBadF)},
	{"fd_allocate", "iII", "i", errno(wasiBadF)},
	{"fd_close", "i", "i", errno(wasiBadF)},
	{"fd_datasync", "i", "i", errno(wasiBadF)},
	{"fd_fdstat_get", "ii", "i", errno(wasiBadF)},
	{"fd_fdstat_set_flags", "ii", "i", errno(wasiBadF)},
	{"fd_fdstat_set_rights", "iII", "i", errno(wasiBadF)},
	{"fd_filestat_get", "ii", "i", errno(wasiBadF)},
	{"fd_filestat_set_size", "iI", "i", errno(wasiBadF)},
	{"fd_filestat_set_times", "iIIi", "i", errno(wasiBadF)},
	{"fd_pread", "iiiIi", "i", errno(wasiBadF)},
	{"fd_prestat_get", "ii", "i", errno(wasiBadF)},
	{"fd_prestat_dir_name", "iii", "i", errno(wasiBadF)},
	{"fd_pwrite", "iiiIi", "i", errno(wasiBadF)},
	{"fd_read", "iiii", "i", errno(wasiBadF)},
	{"fd_readdir", "iiiIi", "i", errno(wasiBadF)},
	{"fd_renumber", "ii", "i", errno(wasiBadF)},
	{"fd_seek", "iIii", "i", errno(wasiBadF)},
	{"fd_sync", "i", "i", errno(wasiBadF)},
	{"fd_tell", "ii", "i", errno(wasiBadF)},
	{"fd_write", "iiii", "i", wasiWrite},
	{"path_create_directory", "iii", "i", errno(wasiBadF)},
	{"path_filestat_get", "iiiii", "i", errno(wasiBadF)},
	{"path_filestat_set_times", "iiiiIIi", "i", errno(wasiBadF)},
	{"path_link", "iiiiiii", "i", errno(wasiBadF)},
	{"path_open", "iiiiiIIii", "i", errno(wasiBadF)},
	{"path_readlink", "iiiiii", "i", errno(wasiBadF)},
	{"path_remove_directory", "iii", "i", errno(wasiBadF)},
	{"path_rename", "iiiiii", "i", errno(wasiBadF)},
	{"path_symlink", "iiiii", "i", errno(wasiBadF)},
	{"path_unlink_file", "iii", "i", errno(wasiBadF)},
	{"poll_oneoff", "iiii", "i", wasiPoll},
	{"proc_exit", "i", "", wasiExit},
	{"proc_raise", "i", "i", errno(wasiNoSys)},
	{"random_get", "ii", "i", wasiRandom},
	{"sched_yield", "", "i", errno(wasiOK)},
	{"sock_accept", "iii", "i", errno(wasiBadF)},
	{"sock_recv", "iiiiii", "i", errno(wasiBadF)},
	{"sock_send", "iiiii", "i", errno(wasiBadF)},
	{"sock_shutdown", "ii", "i", errno(wasiBadF)},
}

func wasiTypes(letters string) []api.ValueType {
	types := make([]api.ValueType, len(letters))
	for i, l := range letters {
		types[i] = api.ValueTypeI32
		if l == 'I' {
			types[i] = api.ValueTypeI64
		}
	}
	return types
}

// errno is a function that does nothing and answers with an error number.
func errno(code uint64) rawFunction { return func(_ *Instance, s []uint64) { s[0] = code } }

// wasiNone answers that there are no arguments and no environment: a count and a size of 0.
func wasiNone(i *Instance, s []uint64) {
	clear(i.bytesAt(uint64(uint32(s[0])), 4))
	clear(i.bytesAt(uint64(uint32(s[1])), 4))
	s[0] = wasiOK
}

func wasiClockRes(i *Instance, s []uint64) {
	binary.LittleEndian.PutUint64(i.bytesAt(uint64(uint32(s[1])), 8), clockTick)
	s[0] = wasiOK
}

func wasiClockTime(i *Instance, s []uint64) {
	binary.LittleEndian.PutUint64(i.bytesAt(uint64(uint32(s[2])), 8), i.clock)
	i.clock += clockTick
	s[0] = wasiOK
}

func wasiExit(_ *Instance, s []uint64) {
	panic(Violationf(plugin.CauseExit, "proc_exit(%d)", uint32(s[0])))
}

func wasiRandom(i *Instance, s []uint64) {
	to := i.bytesAt(uint64(uint32(s[0])), uint64(uint32(s[1])))
	var bits [8]byte
	for len(to) > 0 {
		part := to[:min(len(to), randomPart)] // each is paid for by itself, so that what takes long has its pauses
		to = to[len(part):]
		i.charge(randomFuel * uint64(len(part)))
		for len(part) > 0 {
			binary.LittleEndian.PutUint64(bits[:], i.session.random.next())
			part = part[copy(part, bits[:]):]
		}
	}
	s[0] = wasiOK
}

// wasiWrite logs what the guest writes to standard output and error. Parameters: fd, list of (ptr,
// len), number of them, ptr of the sum.
func wasiWrite(i *Instance, s []uint64) {
	file := uint32(s[0])
	if file != wasiStdout && file != wasiStderr {
		s[0] = wasiBadF
		return
	}
	list := i.readUnits(s[1], s[2], 8)
	total := uint32(0)
	for ; len(list) >= 8; list = list[8:] {
		i.charge(entryFuel)
		part := i.read(uint64(binary.LittleEndian.Uint32(list)), uint64(binary.LittleEndian.Uint32(list[4:])))
		i.session.log.output(int(file), part)
		total += uint32(len(part))
	}
	binary.LittleEndian.PutUint32(i.bytesAt(uint64(uint32(s[3])), 4), total)
	s[0] = wasiOK
}

// Sizes and offsets of WASI's poll_oneoff: a subscription is userdata, a tag, and for a clock its
// id, a time in ns, a precision and flags; an event is userdata, an error number and the tag.
const (
	subscriptionBytes = 48
	subscriptionTag   = 8
	subscriptionTime  = 24
	subscriptionFlags = 40
	eventBytes        = 32
	eventError        = 8
	eventTag          = 10

	tagClock     = 0
	absoluteTime = 1
	wasiInvalid  = 28

	subscriptionFuel = 64

	endOfTime = 1 << 62 // ns, in the reach of every toolchain's clock
)

// wasiPoll skips the time that the guest waits for, by setting its clock. Waiting for a descriptor
// is answered with "bad descriptor". Parameters: list, events, number of the list, ptr of the
// number of events.
func wasiPoll(i *Instance, s []uint64) {
	if uint32(s[2]) == 0 {
		s[0] = wasiInvalid
		return
	}
	list, events := i.readUnits(s[0], s[2], subscriptionBytes), i.readUnits(s[1], s[2], eventBytes)
	now, until := i.clock, uint64(endOfTime)
	for rest := list; len(rest) > 0; rest = rest[subscriptionBytes:] {
		i.charge(subscriptionFuel)
		until = min(until, dueTime(rest, now))
	}
	i.clock = max(now, until)
	count := uint32(0)
	for ; len(list) > 0; list = list[subscriptionBytes:] {
		if dueTime(list, now) > i.clock {
			continue
		}
		event := events[:eventBytes]
		clear(event)
		copy(event, list[:8])
		event[eventTag] = list[subscriptionTag]
		if list[subscriptionTag] != tagClock {
			binary.LittleEndian.PutUint16(event[eventError:], wasiBadF)
		}
		events = events[eventBytes:]
		count++
	}
	binary.LittleEndian.PutUint32(i.bytesAt(uint64(uint32(s[3])), 4), count)
	s[0] = wasiOK
}

// dueTime returns when a subscription ends. One for a descriptor ends at once.
func dueTime(subscription []byte, now uint64) uint64 {
	if subscription[subscriptionTag] != tagClock {
		return 0
	}
	t := min(binary.LittleEndian.Uint64(subscription[subscriptionTime:]), endOfTime)
	if subscription[subscriptionFlags]&absoluteTime == 0 {
		t = min(t+now, endOfTime)
	}
	return t
}
