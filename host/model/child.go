// SPDX-License-Identifier: MIT

package model

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/native"
)

// ProbeMain makes this process the child that tries models if it was started as one; it never returns then. A program
// that calls Check begins its main with it, its tests their TestMain.
func ProbeMain() {
	limit, ok := os.LookupEnv(probeEnv)
	if !ok {
		return
	}
	if err := probe(limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// probe answers requests from standard input until it ends.
func probe(limit string) error {
	bytes, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is %q, not a number of bytes", probeEnv, limit)
	}
	if bytes > 0 {
		bytes += native.TemplateStack // which counts, though next to nothing of it is used
	}
	limitProcess(bytes)
	native.SetLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	fmt.Println(hello)
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		// A parent that was killed cannot end a child that hangs.
		watchdog := time.AfterFunc(r.Timeout+10*time.Second, func() { os.Exit(1) })
		verdict, err := json.Marshal(judge(r))
		watchdog.Stop()
		if err != nil {
			return err
		}
		fmt.Printf("%s%s\n", marker, verdict)
	}
}

func judge(r request) answer {
	limit := forTemplates
	limit.all = min(limit.all, r.Timeout/2)
	err := try(r.Path, limit)
	if err == nil {
		return answer{}
	}
	const most = 600 // bytes; llama.cpp lists every damaged tensor
	reason := strings.ReplaceAll(err.Error(), "load "+r.Path+": ", "")
	a := answer{Error: reason[:min(most, len(reason))]}
	switch {
	case strings.Contains(reason, "unknown model architecture"):
		a.Kind = kindArchitecture
	case errors.Is(err, errTemplate):
		a.Kind = kindTemplate
	case errors.Is(err, native.ErrNoMemory), errors.Is(err, native.ErrTooLarge):
		a.Kind = kindMemory
	}
	return a
}

// try loads a model, gives it a small context, decodes one token and tries the chat template. It ends the process if
// llama.cpp does, or the template takes longer than templates may.
func try(path string, templates patience) (err error) {
	m, err := native.LoadModel(context.Background(), path, native.ModelOptions{CheckTensors: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	c, err := native.NewContext(m, native.ContextOptions{Cells: 64, Batch: 8, UBatch: 8, Threads: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if !m.Info().Encoder { // its decoder would want the encoder's output first
		if err := decodeOne(c); err != nil {
			return err
		}
	}
	fmt.Println(templateStage)
	return tryTemplate(m, templates)
}

// decodeOne decodes the first token of the vocabulary; any would do.
func decodeOne(c *native.Context) error {
	var b native.Batch
	b.Add(0, 0, 0, true)
	if err := c.Decode(&b); err != nil {
		return err
	}
	for _, x := range c.Row(0) {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 1) {
			return errors.New("it computes logits that are not numbers; its weights are damaged")
		}
	}
	return nil
}
