// SPDX-License-Identifier: MIT

package receipt

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Path is where a server has its public keys, as a JWK set (RFC 7517).
const Path = "/.well-known/penstock-receipts"

// Kinds of what is signed, each a JWS's "typ". One cannot stand for another.
const (
	KindReceipt   = "penstock-receipt+jws"
	KindRecording = "penstock-recording+jws" // payload: RecordingSeal
)

// RecordingSeal is what a server says of the file of a recording.
type RecordingSeal struct {
	Recording string `json:"recording"` // its id
	SHA256    string `json:"sha256"`    // of the file up to the seal
}

// encoding refuses text that another text stands for, too.
var encoding = base64.RawURLEncoding.Strict()

// Key signs receipts.
type Key struct {
	private ed25519.PrivateKey
	id      string
	secret  []byte              // of Conceal
	public  []ed25519.PublicKey // those that are published: its own first, then those of earlier keys
}

// NewKey draws a key.
func NewKey() (*Key, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	return newKey(private)
}

func newKey(private ed25519.PrivateKey) (*Key, error) {
	secret, err := hkdf.Key(sha256.New, private.Seed(), nil, "penstock receipts: configurations of plugins", sha256.Size)
	public := private.Public().(ed25519.PublicKey)
	return &Key{private, idOf(public), secret, []ed25519.PublicKey{public}}, err
}

// The PEM blocks of a key file.
const (
	privateBlock = "PRIVATE KEY" // PKCS #8
	publicBlock  = "PUBLIC KEY"  // PKIX
)

// ReadKey reads a key file: PEM with an Ed25519 private key in PKCS #8, which signs. Further
// private or public keys in it have signed earlier receipts; they are published and sign nothing.
func ReadKey(path string) (*Key, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	private, public, err := parsePEM(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case len(private) == 0:
		return nil, fmt.Errorf("%s has no private key: 'penstock receipt key FILE' makes one", path)
	}
	k, err := newKey(private[0])
	if err != nil {
		return nil, err
	}
	for _, p := range public {
		if !bytes.Equal(p, k.public[0]) {
			k.public = append(k.public, p)
		}
	}
	return k, nil
}

// parsePEM reads keys in their order. Of private ones it gives the public keys, too.
func parsePEM(text []byte) (private []ed25519.PrivateKey, public []ed25519.PublicKey, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		switch block.Type {
		case privateBlock:
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case publicBlock:
			key, err = x509.ParsePKIXPublicKey(block.Bytes)
		default:
			err = fmt.Errorf("it has a PEM block %q; a key file has %s and %s", block.Type, privateBlock, publicBlock)
		}
		if err != nil {
			return nil, nil, err
		}
		switch k := key.(type) {
		case ed25519.PrivateKey:
			private, public = append(private, k), append(public, k.Public().(ed25519.PublicKey))
		case ed25519.PublicKey:
			public = append(public, k)
		default:
			return nil, nil, fmt.Errorf("it has a key that is not one of Ed25519: %T", key)
		}
	}
	return private, public, nil
}

// PEM is the private key as a key file has it.
func (k *Key) PEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), err
}

// ID names the key in receipts: its thumbprint by RFC 7638.
func (k *Key) ID() string { return k.id }

// Conceal is a digest of what only the server's operator may know: nobody else can tell whether a
// guess is right.
func (k *Key) Conceal(data []byte) string {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil))
}

// header is a JWS's.
type header struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Typ string `json:"typ"`
}

const algorithm = "EdDSA"

// Sign makes a JWS of a kind, with a payload that is written as JSON.
func (k *Key) Sign(kind string, payload any) (string, error) {
	head, err := json.Marshal(header{algorithm, k.id, kind})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	text := encoding.EncodeToString(head) + "." + encoding.EncodeToString(body)
	return text + "." + encoding.EncodeToString(ed25519.Sign(k.private, []byte(text))), nil
}

// jwk is a public key as RFC 8037 has it.
type jwk struct {
	Crv string `json:"crv"`
	Kty string `json:"kty"`
	X   string `json:"x"`

	Alg string `json:"alg,omitempty"`
	Kid string `json:"kid,omitempty"`
	Use string `json:"use,omitempty"`
}

// KeySet is a JWK set.
type KeySet struct {
	Keys []jwk `json:"keys"`
}

func jwkOf(k ed25519.PublicKey) jwk {
	return jwk{Crv: "Ed25519", Kty: "OKP", X: encoding.EncodeToString(k)}
}

// idOf is a key's thumbprint: a digest of its required members, in this order.
func idOf(k ed25519.PublicKey) string {
	text, _ := json.Marshal(jwkOf(k)) // three texts
	sum := sha256.Sum256(text)
	return encoding.EncodeToString(sum[:])
}

// Public are the keys with which receipts of this server can be checked.
func (k *Key) Public() KeySet {
	var set KeySet
	for _, p := range k.public {
		j := jwkOf(p)
		j.Alg, j.Kid, j.Use = algorithm, idOf(p), "sig"
		set.Keys = append(set.Keys, j)
	}
	return set
}

// Keys check receipts, by their ids.
type Keys map[string]ed25519.PublicKey

// ParseKeys reads what a server has at Path, or a key file.
func ParseKeys(text []byte) (Keys, error) {
	keys := Keys{}
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		_, public, err := parsePEM(text)
		if err == nil && len(public) == 0 {
			err = errors.New("there is no key in it: neither a JWK set nor PEM")
		}
		for _, p := range public {
			keys[idOf(p)] = p
		}
		return keys, err
	}
	var set KeySet
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("it is no JWK set: %w", err)
	}
	for i, j := range set.Keys {
		if j.Kty != "OKP" || j.Crv != "Ed25519" {
			continue // of another use
		}
		x, err := encoding.DecodeString(j.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("keys[%d].x is no Ed25519 public key", i)
		}
		keys[idOf(x)] = x
	}
	if len(keys) == 0 {
		return nil, errors.New("the JWK set has no key of Ed25519")
	}
	return keys, nil
}

// largest bounds a JWS, in bytes.
const largest = 4 << 20

// ErrSignature means that a JWS is not what a holder of one of the keys has signed.
var ErrSignature = errors.New("the signature is not good")

// Open checks a JWS of a kind and reads its payload. It returns the id of the key.
func (ks Keys) Open(kind, jws string, payload any) (kid string, err error) {
	if len(jws) > largest {
		return "", fmt.Errorf("it has %d bytes; at most %d are read", len(jws), largest)
	}
	parts := strings.Split(jws, ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("it is no JWS: that has three parts with a dot between them, and this has %d", len(parts))
	}
	var decoded [3][]byte
	for i, p := range parts {
		if decoded[i], err = encoding.DecodeString(p); err != nil || encoding.EncodeToString(decoded[i]) != p { // the decoder skips line ends
			return "", fmt.Errorf("part %d of the JWS is not base64url", i+1)
		}
	}
	var head header
	strict := json.NewDecoder(bytes.NewReader(decoded[0]))
	strict.DisallowUnknownFields() // crit, b64: what it would mean is not known
	if err := strict.Decode(&head); err != nil {
		return "", fmt.Errorf("the header of the JWS: %w", err)
	}
	if head.Alg != algorithm || head.Typ != kind {
		return "", fmt.Errorf("the JWS has alg %.40q and typ %.40q; it must have %q and %q", head.Alg, head.Typ, algorithm, kind)
	}
	key, ok := ks[head.Kid]
	if !ok {
		return "", fmt.Errorf("it is signed with the key %.60q, which is not among those given", head.Kid)
	}
	if !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), decoded[2]) {
		return "", ErrSignature
	}
	if err := json.Unmarshal(decoded[1], payload); err != nil {
		return "", fmt.Errorf("what was signed cannot be read: %w", err)
	}
	return head.Kid, nil
}
