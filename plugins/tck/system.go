// SPDX-License-Identifier: MIT

package tck

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// systemCalls are the functions of WASI preview 1 that would reach outside the sandbox, with the
// letters of their parameters and the errno that refuses them.
var systemCalls = []struct {
	about, name, params string
	errno               int
}{
	{"files", "path_open", "iiiiiIIii", 8}, {"files", "fd_read", "iiii", 8}, {"files", "fd_pread", "iiiIi", 8}, {"files", "fd_pwrite", "iiiIi", 8},
	{"files", "fd_prestat_get", "ii", 8}, {"files", "fd_readdir", "iiiIi", 8}, {"files", "path_unlink_file", "iii", 8},
	{"files", "path_create_directory", "iii", 8}, {"files", "path_rename", "iiiiii", 8}, {"files", "path_symlink", "iiiii", 8},
	{"files", "path_readlink", "iiiiii", 8}, {"files", "path_filestat_get", "iiiii", 8}, {"files", "fd_fdstat_get", "ii", 8}, {"files", "fd_close", "i", 8},
	{"network", "sock_accept", "iii", 8}, {"network", "sock_recv", "iiiiii", 8}, {"network", "sock_send", "iiiii", 8}, {"network", "sock_shutdown", "ii", 8},
	{"processes", "proc_raise", "i", 52},
}

// system is code that calls a function of WASI and leaves its answer, if it has one.
func (d *draft) system(name, params string, args ...[]byte) []byte {
	s := abi.Signature{Name: "wasi_snapshot_preview1." + name}
	if name != "proc_exit" {
		s.Results = []abi.Type{"i32"}
	}
	for _, letter := range params {
		s.Params = append(s.Params, map[rune]abi.Type{'i': "i32", 'I': "i64"}[letter])
	}
	return append(slices.Concat(args...), d.CallOf(s)...)
}

// systemCases are about the sandbox.
func systemCases() []Case {
	var cases []Case
	for _, about := range []string{"files", "network", "processes"} {
		d := newDraft("no-"+about, "")
		var code [][]byte
		for _, f := range systemCalls {
			if f.about != about {
				continue
			}
			for _, descriptor := range []int{0, 3} {
				code = append(code, d.is(f.name, f.errno, d.system(f.name, f.params, arguments(f.params, descriptor))))
			}
		}
		cases = append(cases, unchanged("there are no "+about, d.open(code...)))
	}
	return append(cases, unchanged("there are no arguments and no environment", environment()),
		unchanged("the clock counts its readings and what is waited for, which takes no time, and random bytes are the request's", clock()),
		unchanged("standard output and error go to the log", output()),
		unchanged("memory is empty at the beginning, whatever an instance before left behind", littering()))
}

// arguments are numbers that a host which had such a function could use: a descriptor, then
// addresses.
func arguments(params string, descriptor int) []byte {
	var code []byte
	for i, letter := range params {
		switch {
		case letter == 'I':
			code = append(code, asm.I64(1)...)
		case i == 0:
			code = append(code, asm.I32(descriptor)...)
		default:
			code = append(code, asm.I32(atScratch)...)
		}
	}
	return code
}

func environment() *draft {
	d := newDraft("no-environment", "")
	var code [][]byte
	for _, name := range []string{"args", "environ"} {
		code = append(code, asm.Poke(atScratch, -1), asm.Poke(atScratch+4, -1),
			d.is(name, 0, d.system(name+"_sizes_get", "ii", asm.I32(atScratch), asm.I32(atScratch+4))),
			d.is("number of "+name, 0, asm.I32(atScratch), asm.Load), d.is("bytes of "+name, 0, asm.I32(atScratch+4), asm.Load))
	}
	return d.open(code...)
}

func clock() *draft {
	d := newDraft("clock", "")
	read := d.system("clock_time_get", "iIi", asm.I32(0), asm.I64(1), asm.I32(atScratch))
	is := func(want int64) []byte {
		return slices.Concat(d.is("reading the clock", 0, read), d.must("the time", asm.I32(atScratch), asm.Load64, asm.I64(want), asm.Equal64))
	}
	const asleep = atScratch + 64 // a subscription to the clock, 5 µs from now; then room for its event
	wait := d.system("poll_oneoff", "iiii", asm.I32(asleep), asm.I32(asleep+48), asm.I32(1), asm.I32(asleep+80))
	return d.open(is(0), is(1000), is(2000), asm.Poke(asleep+24, 5000), d.is("waiting", 0, wait), is(8000),
		d.is("random bytes", 0, d.system("random_get", "ii", asm.I32(atScratch), asm.I32(11))))
}

func output() *draft {
	d := newDraft("output", "")
	at, n := d.note(strings.Repeat("written ", 4))
	write := func(file int) []byte {
		return d.system("fd_write", "iiii", asm.I32(file), asm.I32(atScratch), asm.I32(1), asm.I32(atScratch+8))
	}
	return d.open(asm.Poke(atScratch, at), asm.Poke(atScratch+4, n),
		d.is("standard output", 0, write(1)), d.is("bytes written", n, asm.I32(atScratch+8), asm.Load),
		d.is("standard error", 0, write(2)), d.is("standard input", 8, write(0)), d.is("a file", 8, write(3)))
}

// littering looks for what others left, in memory without data of its own and in memory that it
// grows, and then writes everywhere itself. It must find nothing of the host's or of another
// request's.
func littering() *draft {
	const from, fresh, pages = atHistory, 4 << 16, 8
	d := newDraft("litters", "")
	look := func(at, bytes int) []byte {
		word := slices.Concat(asm.I32(at), asm.Local(1), asm.I32(4), asm.Multiply, asm.Add)
		return asm.Each(1, asm.I32(bytes/4), d.is("memory nobody wrote to", 0, word, asm.Load), word, asm.I32(0x5ec4e7), asm.Store)
	}
	d.on(abi.ExportOpen, look(from, fresh-from), asm.I32(0))
	return d.on(abi.ExportPrepare, once(asm.I32(pages), asm.GrowMemory, asm.Drop, look(fresh, pages<<16)), asm.I32(0))
}
