// SPDX-License-Identifier: MIT

package index

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
)

// SignatureSuffix follows the name of an index in that of its signature: 64 bytes in base64.
const SignatureSuffix = ".sig"

// MaxSignature bounds the file of a signature, in bytes.
const MaxSignature = 256

const keyPrefix = "ed25519:"

// ErrSignature refuses an index that its key has not signed.
var ErrSignature = errors.New("the signature is not that of the index's key")

// ParseKey reads a public key: ed25519:BASE64.
func ParseKey(text string) (ed25519.PublicKey, error) {
	coded, ok := strings.CutPrefix(text, keyPrefix)
	key, err := base64.StdEncoding.DecodeString(coded)
	if !ok || err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is no key: it must be %s and 32 bytes in base64, as `penstock plugin index --sign` prints it", excerpt.Of(text, 80), keyPrefix)
	}
	return key, nil
}

// FormatKey returns the text that ParseKey reads.
func FormatKey(key ed25519.PublicKey) string {
	return keyPrefix + base64.StdEncoding.EncodeToString(key)
}

// ReadPrivateKey reads a private key as `openssl genpkey -algorithm ed25519` writes it.
func ReadPrivateKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no private key in PEM; `openssl genpkey -algorithm ed25519` makes one")
	}
	read, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("no private key in PKCS #8: %w", err)
	}
	key, ok := read.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("a %T, and an index is signed with a key of Ed25519", read)
	}
	return key, nil
}

// Sign returns the file of an index's signature.
func Sign(text []byte, key ed25519.PrivateKey) []byte {
	return []byte(base64.StdEncoding.EncodeToString(ed25519.Sign(key, text)) + "\n")
}

// Verify checks the file of an index's signature. The error wraps ErrSignature.
func Verify(text, signature []byte, key ed25519.PublicKey) error {
	read, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(signature)))
	if err != nil || len(read) != ed25519.SignatureSize {
		return fmt.Errorf("%w: it must be 64 bytes in base64", ErrSignature)
	}
	if !ed25519.Verify(key, text, read) {
		return fmt.Errorf("%w (%s): the index or its signature was changed, or its publisher has another key now; ask the publisher", ErrSignature, FormatKey(key))
	}
	return nil
}
