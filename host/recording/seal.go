// SPDX-License-Identifier: MIT

package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"

	"github.com/penstock/penstock/host/receipt"
)

// sealField is the name of the subfield that has a seal.
const sealField = "PR"

// mostUnpacked bounds the content of a file whose seal is looked for, in bytes.
const mostUnpacked = 1 << 32

// writeSeal writes a seal behind a recording: in the header of a second gzip member without
// content, which unpacks to nothing.
func writeSeal(to io.Writer, k *receipt.Key, s receipt.RecordingSeal) error {
	jws, err := k.Sign(receipt.KindRecording, s)
	if err != nil {
		return err
	}
	_, err = to.Write(seal(jws))
	return err
}

func seal(jws string) []byte {
	var member bytes.Buffer
	packed := gzip.NewWriter(&member)
	packed.Extra = append(binary.LittleEndian.AppendUint16([]byte(sealField), uint16(len(jws))), jws...)
	_ = packed.Close() // a buffer takes everything
	return member.Bytes()
}

// CheckSeal finds out whether the file of a recording is as a server has written it, and gives its
// id.
func CheckSeal(keys receipt.Keys, file []byte) (id string, err error) {
	rest := bytes.NewReader(file)
	unpacked, err := gzip.NewReader(rest)
	if err != nil {
		return "", errors.New("it is not the file of a recording as a server has sent it, which is packed with gzip")
	}
	unpacked.Multistream(false)
	if _, err := io.Copy(io.Discard, io.LimitReader(unpacked, mostUnpacked)); err != nil {
		return "", err
	}
	first, last := file[:len(file)-rest.Len()], file[len(file)-rest.Len():]
	if len(last) == 0 {
		return "", errors.New("it has no seal: the server had no key for receipts")
	}
	sealed, err := gzip.NewReader(bytes.NewReader(last))
	if err != nil {
		return "", err
	}
	jws, ok := bytes.CutPrefix(sealed.Extra, []byte(sealField))
	if !ok || len(jws) < 2 || !bytes.Equal(last, seal(string(jws[2:]))) {
		return "", errors.New("its seal is damaged")
	}
	var s receipt.RecordingSeal
	if _, err := keys.Open(receipt.KindRecording, string(jws[2:]), &s); err != nil {
		return "", err
	}
	if got := receipt.Digest(first); got != s.SHA256 {
		return "", errors.New("it has been changed since the server wrote it")
	}
	return s.Recording, nil
}
