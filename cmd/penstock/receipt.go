// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/plugin/artifact"
	"github.com/penstock/penstock/host/plugin/load"
	recorded "github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/recording"
	interpreter "github.com/penstock/penstock/plugins/script"
)

func newReceipt() *cobra.Command {
	return newGroup("receipt", "Signed statements of how answers came about", newReceiptKey(), newReceiptVerify())
}

func newReceiptKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Make a key that signs receipts",
		Long: `Make a key that signs receipts, in a new file that only its owner may read, and print its id.

A server signs with it if receipts.key_file names it. To replace a key, append the old file to the
new one: the server then publishes both, and signs with the first.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return makeReceiptKey(cmd.OutOrStdout(), args[0]) },
	}
}

func makeReceiptKey(out io.Writer, path string) (err error) {
	key, err := receipt.NewKey()
	if err != nil {
		return err
	}
	text, err := key.PEM()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, key.ID())
	return err
}

// readReceiptKeys reads the keys that KEY names: the address of a server or of a JWK set, or a
// file. The second result is the signing key, if the file has one.
func readReceiptKeys(ctx context.Context, from string) (receipt.Keys, *receipt.Key, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, nil, err
		}
		keys, err := receipt.ParseKeys(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", from, err)
		}
		private, err := receipt.ReadKey(from)
		if err != nil {
			private = nil // the keys are public ones
		}
		return keys, private, nil
	}
	if !strings.HasSuffix(from, receipt.Path) {
		from = strings.TrimSuffix(from, "/") + receipt.Path
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, nil, usageError{err}
	}
	client := http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) > 3 || before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
			return errors.New("it redirects too often, or from https to http")
		}
		return nil
	}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("get the keys: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, excerpt.Of(strings.TrimSpace(string(text)), 400))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get the keys of %s: %w", from, err)
	}
	keys, err := receipt.ParseKeys(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", from, err)
	}
	return keys, nil, err
}

// verifier checks one receipt, and says of each check how it came out.
type verifier struct {
	cmd    *cobra.Command
	keys   receipt.Keys
	signer *receipt.Key // the server's own, if it was given
	says   *receipt.Statement
	failed bool

	key, request, answer, recording string // flags
}

func newReceiptVerify() *cobra.Command {
	v := &verifier{}
	cmd := &cobra.Command{
		Use:   "verify RECEIPT",
		Short: "Check a receipt, and what it is said to be of",
		Long: `Check a receipt: its signature, and that it is of the request, the answer and the recording that
are given. With --model the answer is computed anew, with the model and the plugins of this machine.

RECEIPT is a file with the receipt, or with the whole body that has it, which is checked as the answer; - is standard input.
There is a line for each check. The exit code is 0 where all are good, and 1 where one is not.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.cmd = cmd
			return v.verify(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.key, "key", "", "`URL` of the server that has signed, or of a JWK set, or a file with its keys (JWK set or PEM)")
	f.StringVar(&v.request, "request", "", "`FILE` with the body of the request, byte by byte")
	f.StringVar(&v.answer, "answer", "", "`FILE` with the body of the answer, or the text of one of its choices")
	f.StringVar(&v.recording, "recording", "", "`FILE` of the request's recording, as the server has sent it")
	_ = cmd.MarkFlagRequired("key") // there is one
	addConfigFlags(cmd, "model", "models", "chat", "sampling", "schema", "scheduler", "programs", "plugins", "log")
	return cmd
}

// check says how a check came out.
func (v *verifier) check(what string, err error, good string) (ok bool) {
	if err != nil {
		v.failed = true
		good = "FAILED: " + printable(err.Error())
	}
	fmt.Fprintf(v.cmd.OutOrStdout(), "%s: %s\n", what, good)
	return err == nil
}

// note says what was not checked.
func (v *verifier) note(text string) { fmt.Fprintln(v.cmd.OutOrStdout(), "note: "+printable(text)) }

func (v *verifier) verify(ctx context.Context, from string) (err error) {
	if v.keys, v.signer, err = readReceiptKeys(ctx, v.key); err != nil {
		return err
	}
	if u, err := url.Parse(v.key); err == nil && u.Scheme == "http" && !artifact.IsThisMachine(u.Host) {
		v.note("the keys came unencrypted, so somebody between here and the server could have sent others; use https:, or a copy of them")
	}
	text, err := readText(v.cmd, from)
	if err != nil {
		return err
	}
	jws, err := receipt.In(text)
	if err == nil {
		var kid string
		if v.says, kid, err = v.keys.Read(jws); err == nil {
			v.check("signature", nil, fmt.Sprintf("good: %q by key %s at %s", v.says.Issuer, kid, time.Unix(v.says.IssuedAt, 0).UTC().Format(time.RFC3339)))
		}
	}
	if err != nil {
		v.check("signature", err, "")
		return errReported
	}
	v.printStatement()
	var request []byte
	same := true
	if v.request != "" {
		if request, err = os.ReadFile(v.request); err != nil {
			return err
		}
		same = v.check("request", v.says.CheckRequest(request), "it is the one")
	}
	switch answer := text; {
	case v.answer != "":
		if answer, err = os.ReadFile(v.answer); err != nil {
			return err
		}
		fallthrough
	case jws != strings.TrimSpace(string(text)): // it is more than the receipt
		what, err := v.says.CheckAnswer(answer)
		v.check("answer", err, what)
	}
	if v.recording != "" {
		if err := v.checkRecording(ctx); err != nil {
			return err
		}
	}
	if same && v.cmd.Flags().Changed("model") {
		if err := v.checkRecomputed(ctx, request); err != nil {
			return err
		}
	}
	if v.failed {
		return errReported
	}
	return nil
}

// printStatement says what the receipt is about.
func (v *verifier) printStatement() {
	s, out := v.says, v.cmd.OutOrStdout()
	fmt.Fprintf(out, "receipt: %q of model %q, %d answers to %q\n", s.ID, s.Model.Name, len(s.Choices), s.Request.Route)
	for _, f := range s.Model.Files {
		fmt.Fprintf(out, "  %q sha256 %q\n", f.Role, f.SHA256)
	}
	for _, p := range s.Plugins {
		fmt.Fprintf(out, "  plugin %q sha256 %q\n", p.Name, p.SHA256)
	}
	for i, c := range s.Choices {
		fmt.Fprintf(out, "  answer %d: seed %d, %d tokens, %q\n", i, c.Seed, c.Tokens, c.FinishReason)
	}
	if s.Forked {
		v.note("the answer goes on from another one of the request")
	}
	if len(s.Steered) > 0 {
		v.note("its client has changed the answer while it was written: " + strings.Join(s.Steered, ", "))
	}
}

// checkRecording checks that a recording is as the server wrote it, of the same request and of the
// same answers, and replays its plugins.
func (v *verifier) checkRecording(ctx context.Context) error {
	data, err := os.ReadFile(v.recording)
	if err != nil {
		return err
	}
	id, err := recording.CheckSeal(v.keys, data)
	switch {
	case err != nil:
	case v.says.Recording == "":
		err = errors.New("the receipt is of a request that was not recorded")
	case id != v.says.Recording:
		err = fmt.Errorf("it is %s, and the receipt is of %s", id, v.says.Recording)
	}
	var file *recorded.File
	if err == nil {
		file, err = recorded.Read(bytes.NewReader(data))
	}
	if err == nil {
		err = compareAnswers(v.says, file.Recording)
	}
	if !v.check("recording", err, "it is the one, with the same answers") {
		return nil
	}
	return v.replay(ctx, file)
}

// compareAnswers compares the answers of a receipt and a recording.
func compareAnswers(s *receipt.Statement, r *recorded.Recording) error {
	if r == nil || len(r.Choices) != len(s.Choices) {
		return errors.New("it has not as many answers as the receipt")
	}
	for i, c := range r.Choices {
		tokens := make([]int32, len(c.Tokens))
		for n, t := range c.Tokens {
			tokens[n] = t.Token
		}
		want := s.Choices[i]
		switch {
		case c.Seed != want.Seed:
			return fmt.Errorf("answer %d has the seed %d, and in the receipt %d", i, c.Seed, want.Seed)
		case receipt.TokensDigest(tokens) != want.TokensSHA256:
			return fmt.Errorf("answer %d has other tokens; that of a recording that has reached recordings.size ends early", i)
		case receipt.Digest([]byte(c.Text)) != want.TextSHA256:
			return fmt.Errorf("answer %d has another text", i)
		case c.Reason != want.FinishReason:
			return fmt.Errorf("answer %d ended by %s, and in the receipt by %s", i, c.Reason, want.FinishReason)
		}
	}
	return nil
}

// replay replays the plugins of a recording that this machine has.
func (v *verifier) replay(ctx context.Context, file *recorded.File) error {
	cfg, err := loadConfig(v.cmd)
	if err != nil {
		return err
	}
	var names []string
	for _, s := range file.Sessions {
		if !slices.Contains(names, s.Plugin.Name) {
			names = append(names, s.Plugin.Name)
		}
	}
	for _, name := range names {
		if !load.ValidName(name) { // it is about to name a file
			v.check("plugin", fmt.Errorf("the recording has one called %q, and none can be called so", excerpt.Of(name, 80)), "")
			continue
		}
		module := interpreter.Name
		if name != interpreter.Name {
			module = filepath.Join(cfg.Plugins.Dir, name+".wasm")
		}
		if _, err := os.Stat(module); err != nil && name != interpreter.Name {
			v.note(fmt.Sprintf("plugin %s was not replayed: there is no %s; name its folder with --plugin-dir", name, module))
			continue
		}
		report, err := replay(ctx, v.cmd, module, v.recording)
		calls := 0
		if err == nil {
			for _, s := range report.Sessions {
				calls += s.Calls
				switch {
				case !s.SameModule:
					err = fmt.Errorf("%s is not the module that was recorded", module)
				case s.Difference != nil:
					err = fmt.Errorf("session %d: %s", s.Session, s.Difference)
				}
			}
		}
		v.check("plugin "+name, err, fmt.Sprintf("all %d calls came out as recorded", calls))
	}
	return nil
}

// checkRecomputed has a host of this machine answer the request again, and compares the receipts.
func (v *verifier) checkRecomputed(ctx context.Context, request []byte) error {
	const what = "recomputed"
	switch {
	case request == nil:
		return usageError{errors.New("--model computes the answer anew, so it needs the --request, too")}
	case v.says.Forked || len(v.says.Steered) > 0:
		v.check(what, errors.New("the request alone does not lead to the answer: its client has forked or steered it; give its --recording instead of --model"), "")
		return nil
	}
	anew, err := v.recomputeReceipt(ctx, request)
	if err == nil {
		if all := v.says.Differences(anew, v.signer != nil); len(all) > 0 {
			err = errors.New(strings.Join(all, "; "))
		}
	}
	v.check(what, err, "the same model, plugins and parameters give the same answer")
	if err == nil && v.says.Concealed() && v.signer == nil {
		v.note("the configuration of the operator's plugins was not compared: only the server's private key can")
	}
	return nil
}

// recomputeReceipt sends the request to a host of this machine and returns that receipt.
func (v *verifier) recomputeReceipt(ctx context.Context, request []byte) (_ *receipt.Statement, err error) {
	cfg, err := loadConfig(v.cmd)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "penstock-receipt-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	signer := v.signer
	if signer == nil {
		if signer, err = receipt.NewKey(); err != nil {
			return nil, err
		}
	}
	text, err := signer.PEM()
	if err != nil {
		return nil, err
	}
	cfg.Receipts.KeyFile, cfg.Recordings.Enabled = filepath.Join(folder, "key.pem"), false
	if err := os.WriteFile(cfg.Receipts.KeyFile, text, 0o600); err != nil {
		return nil, err
	}
	cfg.Server.APIKeys, cfg.Server.AdminKey = []string{rand.Text()}, ""
	cfg.Plugins.Scripts = "on"
	url, end, err := startPrivateHost(ctx, v.cmd, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	body, err := v.ask(ctx, url, cfg.Server.APIKeys[0], loading.NameOf(cfg.Model), request)
	if err != nil {
		return nil, err
	}
	jws, err := receipt.In(body)
	if err != nil {
		return nil, fmt.Errorf("%w; it was: %.400s", err, body)
	}
	keys, err := receipt.ParseKeys(text)
	if err != nil {
		return nil, err
	}
	anew, _, err := keys.Read(jws)
	return anew, err
}

// ask sends the request again, and returns what the host answers.
func (v *verifier) ask(ctx context.Context, url, key, model string, request []byte) ([]byte, error) {
	_, path, _ := strings.Cut(v.says.Request.Route, " ")
	if !strings.HasPrefix(path, "/") { // it is about to follow the host's name
		return nil, fmt.Errorf("the receipt has the route %q, which is none", v.says.Request.Route)
	}
	mediaType := "application/json"
	if boundary, _, ok := strings.Cut(string(request), "\r\n"); ok && strings.HasPrefix(boundary, "--") {
		mediaType = "multipart/form-data; boundary=" + strings.TrimPrefix(boundary, "--")
	} else {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(request, &fields); err != nil {
			return nil, err
		}
		if path == "/v1/ws" {
			path = "/v1/completions"
			if fields["messages"] != nil {
				path = "/v1/chat/completions"
			}
		}
		var err error
		if request, err = setSeed(fields, model, v.says.Choices[0].Seed); err != nil {
			return nil, err
		}
	}
	to, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	to.Header.Set("Content-Type", mediaType)
	to.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(to)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<30))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("this machine does not answer the request: %s: %s", answer.Status, strings.TrimSpace(string(body)))
	}
	return body, err
}

// setSeed gives a request the seed that was drawn for it, and the model's name on this machine.
func setSeed(fields map[string]json.RawMessage, model string, seed uint32) ([]byte, error) {
	drawn := json.RawMessage(fmt.Sprint(seed))
	fields["seed"], fields["record"] = drawn, json.RawMessage("false")
	if fields["model"] != nil {
		fields["model"], _ = json.Marshal(model) // a text
	}
	var options map[string]json.RawMessage // Ollama's
	if json.Unmarshal(fields["options"], &options) == nil && options != nil {
		options["seed"] = drawn
		text, err := json.Marshal(options)
		if err != nil {
			return nil, err
		}
		fields["options"] = text
	}
	return json.Marshal(fields)
}
