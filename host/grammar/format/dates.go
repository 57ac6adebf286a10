// SPDX-License-Identifier: MIT

package format

import (
	"fmt"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// timeRules are those of RFC 3339, with its section 5.7 (days of a month, leap years) written out.
const timeRules = `
DIGIT          = %x30-39
date           = year "-" day-of-year / leap-year "-02-29"
year           = 4DIGIT
leap-year      = 2DIGIT fourth / fourths "00"
fourth         = "0" ("4" / "8") / odd ("2" / "6") / even ("0" / "4" / "8")
fourths        = "00" / fourth
odd            = "1" / "3" / "5" / "7" / "9"
even           = "2" / "4" / "6" / "8"
day-of-year    = ("01" / "03" / "05" / "07" / "08" / "10" / "12") "-" (day30 / "31")
               / ("04" / "06" / "09" / "11") "-" day30
               / "02-" day28
day28          = "0" %x31-39 / "1" DIGIT / "2" %x30-38
day30          = day28 / "29" / "30"
hour           = ("0" / "1") DIGIT / "2" %x30-33
minute         = %x30-35 DIGIT
fraction       = "." 1*DIGIT
plain-time     = hour ":" minute ":" minute [fraction] offset
offset         = "Z" / ("+" / "-") hour ":" minute
duration       = %s"P" (days [clock] / clock / 1*DIGIT %s"W")
days           = 1*DIGIT (%s"D" / %s"M" [1*DIGIT %s"D"] / %s"Y" [1*DIGIT %s"M" [1*DIGIT %s"D"]])
clock          = %s"T" 1*DIGIT (%s"S" / %s"M" [seconds] / %s"H" [1*DIGIT %s"M" [seconds]])
seconds        = 1*DIGIT %s"S"
`

// timeOfDay is a full-time. A second numbered 60 is the last of a day of UTC; of offsets that have
// one, those of quarter hours are known, which all zones' are.
func timeOfDay(g *abnf) lexeme.Expr {
	a := g.a
	second := a.Then(a.Text(":60"), a.Or(lexeme.Empty, g.rule("fraction")))
	leaps := []lexeme.Expr{a.Then(a.Text("23:59"), second, g.anyCase("z"))}
	const day = 24 * 60
	for offset := 0; offset < day; offset += 15 {
		for sign, text := range map[int]string{1: "+", -1: "-"} {
			local := (day - 1 + sign*offset + day) % day
			clock := fmt.Sprintf("%02d:%02d", local/60, local%60)
			leaps = append(leaps, a.Then(a.Text(clock), second, a.Text(fmt.Sprintf("%s%02d:%02d", text, offset/60, offset%60))))
		}
	}
	return a.Or(append(leaps, g.rule("plain-time"))...)
}

func dateTime(g *abnf) lexeme.Expr {
	return g.a.Then(g.rule("date"), g.anyCase("t"), timeOfDay(g))
}
