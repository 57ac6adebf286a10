// SPDX-License-Identifier: MIT

package compile

import (
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
	"unsafe"

	"github.com/tetratelabs/wazero"
)

// storeKey is what wazero stores code under: it names the module, wazero's version and what the processor can do.
type storeKey = [sha256.Size]byte

// store is where wazero looks for the code of a module, and puts it. Its own is a folder of files, which it reads in pieces of 8 bytes.
type store interface {
	Get(key storeKey) (code io.ReadCloser, found bool, err error)
	Add(key storeKey, code io.Reader) error
	Delete(key storeKey) error // of code of another version of wazero
}

// withStore makes a cache of wazero's that uses a store. wazero has no function for that, only a field with such an interface. Where
// a later version has no such field, the error wraps errNotKept, and modules are compiled each time.
func withStore(s store) (wazero.CompilationCache, error) {
	cache := wazero.NewCompilationCache()
	field := reflect.ValueOf(cache).Elem().FieldByName("fileCache")
	if !field.IsValid() || field.Kind() != reflect.Interface || !reflect.TypeOf(s).Implements(field.Type()) {
		return nil, fmt.Errorf("%w: this version of wazero has another kind of cache", errNotKept)
	}
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(s))
	return cache, nil
}

// collector is a store for what wazero makes of a module.
type collector struct{ code []byte }

func (c *collector) Get(storeKey) (io.ReadCloser, bool, error) { return nil, false, nil }
func (c *collector) Delete(storeKey) error                     { return nil }

func (c *collector) Add(_ storeKey, code io.Reader) (err error) {
	c.code, err = io.ReadAll(code)
	return err
}

// asker is a store that only hears which key wazero has for a module, and lets it go no further.
type asker struct{ key storeKey }

func (a *asker) Get(key storeKey) (io.ReadCloser, bool, error) {
	a.key = key
	return nil, false, errNoCode
}

func (a *asker) Add(storeKey, io.Reader) error { return errNoCode }
func (a *asker) Delete(storeKey) error         { return errNoCode }

// supplier is a store of one module's code. wazero takes that or fails: if it compiled a skeleton, every call would trap.
type supplier struct {
	key      storeKey
	code     io.Reader
	supplied bool
}

func (s *supplier) Get(key storeKey) (io.ReadCloser, bool, error) {
	if key != s.key {
		return nil, false, errNoCode
	}
	s.supplied = true
	return io.NopCloser(s.code), true, nil
}

func (s *supplier) Add(storeKey, io.Reader) error { return errNoCode }
func (s *supplier) Delete(storeKey) error         { return errNoCode }
