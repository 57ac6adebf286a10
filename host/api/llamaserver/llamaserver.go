// SPDX-License-Identifier: MIT

// Package llamaserver serves llama-server's own API: completions, embeddings, tokens, templates,
// properties and slots.
package llamaserver

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// API answers llama-server's routes.
type API struct {
	*wire.Server
	UI        bool  // the browser UI is served
	NoSlots   bool  // GET /slots is refused
	NoMetrics bool  // GET /metrics is refused
	Props     bool  // POST /props says success
	BodyLimit int64 // bytes of a request's body and of a WebSocket's frame
}

// NoMetrics answers GET /metrics where it is off.
func NoMetrics(echo.Context) error {
	return notSupported("This server does not support metrics endpoint. Start it with `--metrics`")
}

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/completion", Handler: a.completion, Body: completionBody{}},
		{Method: http.MethodPost, Path: "/completions", Handler: a.completion, Body: completionBody{}},
		{Method: http.MethodPost, Path: "/tokenize", Handler: a.tokenize, Body: tokenizeBody{}},
		{Method: http.MethodPost, Path: "/detokenize", Handler: a.detokenize, Body: detokenizeBody{}},
		{Method: http.MethodPost, Path: "/apply-template", Handler: a.applyTemplate, Body: applyTemplateBody{}},
		{Method: http.MethodPost, Path: "/infill", Handler: a.infill, Body: infillBody{}},
		{Method: http.MethodPost, Path: "/embedding", Handler: a.embedding, Body: embeddingBody{}},
		{Method: http.MethodPost, Path: "/embeddings", Handler: a.embedding, Body: embeddingBody{}},
		{Method: http.MethodPost, Path: "/rerank", Handler: a.rerank, Body: rerankBody{}},
		{Method: http.MethodPost, Path: "/reranking", Handler: a.rerank, Body: rerankBody{}},
		{Method: http.MethodPost, Path: "/v1/rerank", Handler: a.rerank, Body: rerankBody{}},
		{Method: http.MethodPost, Path: "/v1/reranking", Handler: a.rerank, Body: rerankBody{}},
		{Method: http.MethodGet, Path: "/props", Handler: a.props},
		{Method: http.MethodPost, Path: "/props", Handler: a.setProps},
		{Method: http.MethodGet, Path: "/slots", Handler: a.slots},
		{Method: http.MethodPost, Path: "/slots/:id", Handler: a.actOnSlot, Body: slotBody{}},
		{Method: http.MethodGet, Path: "/lora-adapters", Handler: a.loraAdapters},
		{Method: http.MethodPost, Path: "/lora-adapters", Handler: a.setLoraAdapters, Admin: true},
	}
}

// findLoaded finds the model of a route that only tells of it: the one that the query names, or
// else the default. None is loaded for it: such a route has no rate limit, and a page may have it
// called for an image.
func (a API) findLoaded(c echo.Context) (*serving.Model, func(), error) {
	return a.Models.Loaded(c.QueryParam("model"))
}

// findModel finds the model of a route that is not for an answer: the one that the body names, the
// one that the query names, or else the default.
func (a API) findModel(c echo.Context, inBody string) (*serving.Model, func(), error) {
	return a.Models.Use(c.Request().Context(), cmp.Or(inBody, c.QueryParam("model")))
}

// Error is the ErrorShape of llama-server, which says the status in the body, and besides that in
// a word what is wrong, and the field at fault.
func Error(e *refusal.Error) any {
	body := map[string]any{"code": wire.StatusOf(e), "message": e.Message, "type": wire.TypeOf(e), "reason": e.Code}
	switch {
	case e.Code == refusal.TooLongCode:
		body["type"] = wire.TypeTooLong
	case e.Kind == refusal.KindNotFound:
		body["type"] = "not_found_error"
	}
	if e.Field != "" {
		body["param"] = e.Field
	}
	for name, n := range maps.All(e.Numbers) {
		body[name] = n
	}
	return map[string]any{"error": body}
}

// notSupported refuses what a route would do.
func notSupported(message string) error {
	return &refusal.Error{Kind: refusal.KindLacking, Code: "not_supported", Message: message}
}

// props is GET /props.
func (a API) props(c echo.Context) error {
	m, release, err := a.findLoaded(c)
	if err != nil {
		return a.foretellProps(c, err)
	}
	defer release()
	props := map[string]any{
		"default_generation_settings": map[string]any{"n_ctx": m.Context, "params": defaultSettings(m)},
		"total_slots":                 m.Compute.Slots,
		"model_alias":                 m.Name,
		"model_path":                  m.Path,
		"model_ftype":                 m.Weights.FileType,
		"modalities":                  map[string]bool{"vision": m.Media.Images, "video": false, "audio": m.Media.AudioRate > 0},
		"media_marker":                media.Marker,
		"endpoint_slots":              !a.NoSlots,
		"endpoint_props":              a.Props,
		"endpoint_metrics":            !a.NoMetrics,
		"ui":                          a.UI,
		"ui_settings":                 struct{}{},
		"cors_proxy_enabled":          false,
		"chat_template":               m.Template.Source,
		"chat_template_caps":          m.Template.Caps,
		"bos_token":                   m.Vocabulary.BOS,
		"eos_token":                   m.Vocabulary.EOS,
		"build_info":                  "penstock " + a.Version,
		"is_sleeping":                 false,
		"kernels":                     m.Compute.Kernels,
		"options":                     append([]string{}, m.Compute.Options...),
		"body_limit":                  a.BodyLimit, // Penstock's addition
	}
	if len(m.Compute.Workers) > 0 {
		props["workers"] = m.Compute.Workers
	}
	if m.Template.Assumed {
		props["chat_template_fallback"] = "chatml" // Penstock's addition
	}
	if m.Template.WithTools != "" {
		props["chat_template_tool_use"] = m.Template.WithTools
	}
	return c.JSON(http.StatusOK, props)
}

// foretellProps answers with what the file of a model says that is not loaded; known is why it is
// not told of one that is.
func (a API) foretellProps(c echo.Context, known error) error {
	name := strings.TrimSuffix(c.QueryParam("model"), ":latest") // as clients of Ollama name it
	for _, m := range a.Models.List() {
		if m.Failed != nil || name == "" || m.Name != name && !slices.Contains(m.Aliases, name) {
			continue
		}
		return c.JSON(http.StatusOK, map[string]any{
			"default_generation_settings": map[string]any{"n_ctx": m.Weights.Training}, "model_alias": m.Name, "model_path": m.Path, "model_ftype": m.Weights.FileType,
			"modalities":    map[string]bool{"vision": m.Media.Images, "video": false, "audio": m.Media.AudioRate > 0},
			"chat_template": m.Template.Source, "chat_template_caps": m.Template.Caps, "build_info": "penstock " + a.Version, "is_sleeping": true,
		})
	}
	return known
}

// setProps is POST /props: there is nothing that could be set. As with llama-server, clients may
// be told otherwise.
func (a API) setProps(c echo.Context) error {
	if a.Props {
		return c.JSON(http.StatusOK, map[string]bool{"success": true})
	}
	return notSupported("the properties of this server cannot be changed while it runs; set them in its configuration")
}

// loraAdapter is an entry of GET /lora-adapters.
type loraAdapter struct {
	ID               int     `json:"id"`
	Path             string  `json:"path"`
	Scale            float32 `json:"scale"`
	TaskName         string  `json:"task_name"`
	PromptPrefix     string  `json:"prompt_prefix"`
	InvocationText   *string `json:"alora_invocation_string,omitempty"`
	InvocationTokens []int32 `json:"alora_invocation_tokens,omitempty"`
}

// loraAdapters is GET /lora-adapters.
func (a API) loraAdapters(c echo.Context) error {
	m, release, err := a.findLoaded(c)
	if err != nil {
		return err
	}
	defer release()
	list := []loraAdapter{}
	if m.Adapters == nil {
		return c.JSON(http.StatusOK, list)
	}
	for _, info := range m.Adapters.List() {
		entry := loraAdapter{ID: info.ID, Path: info.Path, Scale: info.Scale, TaskName: info.TaskName, PromptPrefix: info.PromptPrefix}
		if len(info.InvocationTokens) > 0 {
			entry.InvocationText, entry.InvocationTokens = &info.InvocationText, info.InvocationTokens
		}
		list = append(list, entry)
	}
	return c.JSON(http.StatusOK, list)
}

// setLoraAdapters is POST /lora-adapters: how strongly each adapter counts for requests that name
// none.
func (a API) setLoraAdapters(c echo.Context) error {
	body, err := wire.Read(c)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return wire.Malformed("the request body must be a list of objects with id and scale")
	}
	scales, err := completion.ReadAdapterScales(body, "body")
	if err != nil {
		return err
	}
	m, release, err := a.findModel(c, "")
	if err != nil {
		return err
	}
	defer release()
	switch {
	case m.Adapters != nil:
		err = m.Adapters.SetScales(scales)
	case len(scales) > 0:
		err = scales[0].UnknownAdapter(nil)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]bool{"success": true})
}

// slot is an entry of GET /slots. It has no text of an answer, and no name of a stream, which
// would let a stranger attach to it.
type slot struct {
	ID          int    `json:"id"`
	Context     int    `json:"n_ctx"`
	Speculative bool   `json:"speculative"`
	Processing  bool   `json:"is_processing"`
	State       string `json:"state"`
	*task
}

// task is the request that a slot has.
type task struct {
	ID        uint64      `json:"id_task"`
	Prompt    int         `json:"n_prompt_tokens"`
	Processed int         `json:"n_prompt_tokens_processed"`
	Cached    int         `json:"n_prompt_tokens_cache"`
	Computed  int         `json:"n_past"`
	AgeMS     int64       `json:"age_ms"`
	Branch    uint64      `json:"branch,omitempty"`        // of a program: which of its branches
	Has       int         `json:"branch_tokens,omitempty"` // tokens of the branch
	Next      []nextToken `json:"next_token"`
}

type nextToken struct {
	HasNext bool `json:"has_next_token"`
	Remain  int  `json:"n_remain"` // -1: any number
	Decoded int  `json:"n_decoded"`
}

// slots is GET /slots. With fail_on_no_slot in the query it is refused while no slot is free.
func (a API) slots(c echo.Context) error {
	if a.NoSlots {
		return notSupported("This server does not support slots endpoint. Start it with `--slots`")
	}
	m, release, err := a.findLoaded(c)
	if err != nil {
		return err
	}
	defer release()
	snap, err := m.Scheduler.Inspect(c.Request().Context(), 0)
	if err != nil {
		return err
	}
	free := slices.ContainsFunc(snap.Slots, func(s scheduler.SlotInfo) bool { return s.Stream == "" })
	if !free && c.QueryParam("fail_on_no_slot") != "" {
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "no_slot", Message: "no slot available"}
	}
	list := make([]slot, len(snap.Slots))
	for i, info := range snap.Slots {
		list[i] = slot{ID: info.Slot, Context: m.Context, Speculative: snap.Speculates, Processing: info.Stream != "", State: info.State, task: taskOf(info)}
	}
	return c.JSON(http.StatusOK, list)
}

func taskOf(info scheduler.SlotInfo) *task {
	if info.Stream == "" {
		return nil
	}
	next := nextToken{HasNext: true, Remain: -1, Decoded: info.Generated}
	if info.Limit > 0 {
		next.Remain = info.Limit - info.Generated
	}
	return &task{ID: info.Request, Prompt: info.Prompt, Processed: max(0, min(info.Computed, info.Prompt)-info.Cached), Cached: info.Cached,
		Computed: info.Computed, AgeMS: info.Age.Milliseconds(), Branch: info.Branch, Has: info.Tokens, Next: []nextToken{next}}
}

// slotBody is the body of POST /slots/ID?action=save and restore; erase has none.
type slotBody struct {
	Filename *string `json:"filename"`
}

// savedSlot, restoredSlot and erasedSlot are the answers.
type savedSlot struct {
	ID       int            `json:"id_slot"`
	Filename string         `json:"filename"`
	Saved    int            `json:"n_saved"`
	Written  int64          `json:"n_written"`
	Timings  map[string]any `json:"timings"`
}

type restoredSlot struct {
	ID       int            `json:"id_slot"`
	Filename string         `json:"filename"`
	Restored int            `json:"n_restored"`
	Read     int64          `json:"n_read"`
	Timings  map[string]any `json:"timings"`
}

type erasedSlot struct {
	ID     int `json:"id_slot"`
	Erased int `json:"n_erased"`
}

// actOnSlot is POST /slots/ID, which saves, restores or erases the conversation that a slot's last
// answer has left in the KV cache.
func (a API) actOnSlot(c echo.Context) error {
	m, release, err := a.findModel(c, "")
	if err != nil {
		return err
	}
	defer release()
	if m.Conversations == nil {
		return notSupported("this server does not support actions on slots; start it with --slot-save-path")
	}
	slot, err := strconv.Atoi(c.Param("id"))
	if err != nil || slot < 0 || slot >= m.Compute.Slots {
		return refusal.Invalid("id_slot", "the slot is %q; it must be a number from 0 to %d", c.Param("id"), m.Compute.Slots-1)
	}
	switch action := c.QueryParam("action"); action {
	case "save":
		err = saveSlot(c, m, slot)
	case "restore":
		err = restoreSlot(c, m, slot)
	case "erase":
		err = eraseSlot(c, m, slot)
	default:
		err = refusal.Invalid("action", "action is %q; it must be save, restore or erase", action)
	}
	if err != nil && c.Request().Context().Err() != nil {
		return refusal.ErrGone
	}
	return err
}

func eraseSlot(c echo.Context, m *serving.Model, slot int) error {
	n, err := m.Conversations.Erase(c.Request().Context(), slot, wire.CallerOf(c).CacheSalt)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, erasedSlot{ID: slot, Erased: n})
}

func saveSlot(c echo.Context, m *serving.Model, slot int) error {
	name, err := filename(c)
	if err != nil {
		return err
	}
	began := time.Now()
	tokens, bytes, err := m.Conversations.Save(c.Request().Context(), slot, wire.CallerOf(c).CacheSalt, name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, savedSlot{ID: slot, Filename: name, Saved: tokens, Written: bytes, Timings: map[string]any{"save_ms": sinceMS(began)}})
}

func restoreSlot(c echo.Context, m *serving.Model, slot int) error {
	name, err := filename(c)
	if err != nil {
		return err
	}
	began := time.Now()
	tokens, bytes, err := m.Conversations.Restore(c.Request().Context(), slot, wire.CallerOf(c).CacheSalt, name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, restoredSlot{ID: slot, Filename: name, Restored: tokens, Read: bytes, Timings: map[string]any{"restore_ms": sinceMS(began)}})
}

func filename(c echo.Context) (string, error) {
	var body slotBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return "", err
	}
	if body.Filename == nil {
		return "", refusal.Invalid("filename", "filename is missing; it must be the name of a file")
	}
	return *body.Filename, nil
}

func sinceMS(began time.Time) float64 { return float64(time.Since(began).Microseconds()) / 1000 }
