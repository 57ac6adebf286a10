// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

func open(t *testing.T, config, content string) *plugintest.Session {
	t.Helper()
	return plugintest.Open[pii](t, plugintest.Request{Config: config, Messages: fmt.Sprintf(`[{"role":"user","content":%q}]`, content), Pieces: []string{"a"}})
}

func TestPII_Rewrite_Masks(t *testing.T) {
	const all = `{}`
	for content, want := range map[string]string{
		"Mail ann.lee+x@mail.example.org, please.":             "Mail [EMAIL_1], please.",
		"a@b.co and a@b.co and c@d.co":                         "[EMAIL_1] and [EMAIL_1] and [EMAIL_2]",
		"me@localhost, @ann, a@b.c, x@y..org":                  "me@localhost, @ann, a@b.c, x@y..org",
		"Call +49 30 901820 or (030) 901-820-11.":              "Call [PHONE_1] or [PHONE_2].",
		"555-123-4567 but not 2026-11-29 15:27":                "[PHONE_1] but not 2026-11-29 15:27",
		"In 1999 it sold 123456789 times.":                     "In 1999 it sold 123456789 times.",
		"DE89 3704 0044 0532 0130 00 is mine":                  "[IBAN_1] is mine",
		"GB82WEST12345698765432; DE88370400440532013000":       "[IBAN_1]; DE88370400440532013000",
		"4111 1111 1111 1111 and 4111111111111112":             "[CARD_1] and 4111111111111112",
		"From 192.168.0.1 to 2001:db8::ff00:42:8329.":          "From [IP_1] to [IP_2].",
		"Version 1.2.3.4.5 of std::abs at 12:34:56, 300.1.1.1": "Version 1.2.3.4.5 of std::abs at 12:34:56, 300.1.1.1",
		"[EMAIL_1] is not a@b.co":                              "[EMAIL_1] is not [EMAIL_2]",
		"été.a@b.co, jörg@müller.de":                           "[EMAIL_1], [EMAIL_2]",
		"“a@b.co”, (c@d.co…)":                                  "“[EMAIL_1]”, ([EMAIL_2]…)",
		"地址是a@b.co。电话+49 30 901820。":                           "地址是[EMAIL_1]。电话[PHONE_1]。",
		"4111 1111 1111 1111 12/27, 4111111111111111 123":      "[CARD_1] 12/27, [CARD_2] 123",
		"555-123-4567 555-765-4321, +49 30 901820 2026-11-29":  "[PHONE_1] [PHONE_2], [PHONE_3] 2026-11-29",
	} {
		if got := masked(t, all, content); got != want {
			t.Errorf("%q becomes %q, want %q", content, got, want)
		}
	}
	if got, want := masked(t, `{"kinds":["email"],"names":["Ann","Ann Lee","Müller"]}`, "ANN LEE, Ann, Anna, Frau Müller: 192.168.0.1"), "[NAME_1], [NAME_2], Anna, Frau [NAME_3]: 192.168.0.1"; got != want {
		t.Errorf("names: %q, want %q", got, want)
	}
}

// A name is found in any case of its letters and beside any punctuation, and not inside a word.
func TestPII_Rewrite_MasksNames(t *testing.T) {
	const config = `{"names":["Müller","Ωνάσης","Иван","王伟"]}`
	for content, want := range map[string]string{
		"MÜLLER’s, “müller”—Müller…": "[NAME_1]’s, “[NAME_2]”—[NAME_3]…",
		"ΩΝΆΣΗΣ, ИВАН😀":              "[NAME_1], [NAME_2]😀",
		"我是王伟。":                      "我是[NAME_1]。",
		"Müllerin, Иванов":           "Müllerin, Иванов",
	} {
		if got := masked(t, config, content); got != want {
			t.Errorf("%q becomes %q, want %q", content, got, want)
		}
	}
}

func masked(t *testing.T, config, content string) string {
	t.Helper()
	got, err := open(t, config, content).Rewrite()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(got, `[{"role":"user","content":"`), `"}]`)
}

// Arguments of earlier calls and reasoning are masked, too, and what names a call is not.
func TestPII_Rewrite_MasksCalls(t *testing.T) {
	s := plugintest.Open[pii](t, plugintest.Request{Config: `{"names":["Ann"]}`, Pieces: []string{"a"}, Messages: `[{"role":"assistant","content":"","reasoning_content":"Ann?",
		"tool_calls":[{"id":"Ann","type":"function","function":{"name":"Ann","arguments":"{\"to\":\"Ann\",\"text\":\"x\\na@b.co\"}"}}]}]`})
	got, err := s.Rewrite()
	if want := `[{"role":"assistant","content":"","reasoning_content":"[NAME_1]?","tool_calls":[{"function":{"arguments":"{\"to\":\"[NAME_1]\",\"text\":\"x\\n[EMAIL_1]\"}","name":"Ann"},"id":"Ann","type":"function"}]}]`; got != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// However the text of an answer is cut, the client reads the originals, and no sooner than the
// placeholder is whole.
func TestPII_Filter_PutsBackAcrossTexts(t *testing.T) {
	const answer = "[EMAIL_1] or [EMAIL_11], [IP_1]: [[EMAIL_2]] [EMA [1] é[EMAIL_"
	const want = "a@b.co or [EMAIL_11], [IP_1]: [c@d.co] [EMA [1] é[EMAIL_"
	for size := 1; size <= len(answer); size++ {
		s, got := open(t, `{}`, "a@b.co c@d.co"), ""
		for rest := answer; rest != ""; {
			n := min(size, len(rest))
			for n < len(rest) && rest[n]&0xc0 == 0x80 {
				n++
			}
			got += s.Filter(rest[:n], len(rest) == n)
			rest = rest[n:]
		}
		if got != want {
			t.Errorf("pieces of %d bytes: %q, want %q", size, got, want)
		}
	}
	if got := open(t, `{}`, "a@b.co").Filter("Hello [", false); got != "Hello " {
		t.Errorf("shown: %q", got)
	}
	if got := open(t, `{}`, "nothing").Filter("Hello [", false); got != "Hello [" {
		t.Errorf("without data nothing is kept back: %q", got)
	}
}
