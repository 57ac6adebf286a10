// SPDX-License-Identifier: MIT

package bench

import (
	"math/rand/v2"
	"strings"
)

// words are common enough that each is one token, or nearly, in any vocabulary that knows English.
var words = strings.Fields(`
about above across act add after again against age air all alone along also always among animal answer any appear apple
area arm army around arrive art ask autumn away baby back bad ball band bank base basket bear beat beauty bed before began
behind believe bell below beside best better between big bird black blood blow blue board boat body bone book born both
bottom box boy branch bread break bridge bright bring broad brother brown build burn busy buy cabin call calm camp capital
captain car card care carry case castle cat catch cause cell center chain chair chance change chart check chief child
choose church circle city class clean clear climb clock close cloth cloud coast coat coin cold color column come common
company compare consider contain cook cool copper copy corn corner cost cotton count country course cover cow create cross
crowd cry current curve cut dance danger dark daughter day dead deal dear decide deep degree depend desert design develop
die differ dinner direct discuss distance divide doctor dog dollar door double down draw dream dress drink drive drop dry
duck during dust each ear early earth east easy eat edge effect egg eight electric element empty end enemy energy engine
enough enter equal evening event ever every exact example except excite exercise expect eye face fact fair fall family
famous far farm fast father favor fear feed feel few field fight figure fill final find fine finger finish fire first fish
five flat floor flow flower fly follow food foot force forest forget form forward found four free fresh friend front fruit
full game garden gas gate gather gave general gentle girl give glad glass gold good govern grand grass gray great green
grew ground group grow guess guide gun hair half hand happen happy hard harvest hat head hear heart heat heavy help high
hill history hold hole home hope horse hot hotel hour house huge human hunt hurry ice idea imagine inch industry insect
inside instant iron island join journey judge jump keep key kind king kitchen knife know lake land language large last late
laugh law lead leaf learn least leave left leg length less letter level lie life lift light line list listen little live
local long look lost loud love low machine main make many map mark market master match material matter mean measure meat
meet member metal method middle might mile milk million mind mine minute miss mix modern moment money month moon more
morning mother motion mount mountain mouth move much multiply music must name nation nature near neck need neighbor never
new next night nine noise noon north nose note nothing notice noun number object observe ocean offer office oil old once
only open opposite order other over own oxygen page paint pair paper parent part party pass past path pattern pay people
perhaps period person phrase picture piece place plain plan plane planet plant play please plural poem point poor port
position possible post pound power practice prepare present press pretty print probable problem process produce proper
protect prove provide pull push question quick quiet quite race radio rail rain raise range rather reach read ready real
reason receive record red region remember repeat reply rest result rich ride right ring rise river road rock roll room root
rope rose round row rub rule run safe sail salt same sand save say scale school science score sea search season seat second
section seed seem select sell send sense sentence separate serve settle seven shape share sharp sheet shell shine ship shoe
shop shore short shoulder shout show side sight sign silent silver similar simple sing sister size skill skin sky sleep
slip slow small smell smile snow soft soil soldier solution solve some song soon sound south space speak special speech
speed spell spend spot spread spring square stand star start state station stay steam steel step stick still stone stop
store story straight strange stream street string strong student study subject success sudden sugar suggest suit summer sun
supply support sure surface surprise swim symbol system table tail take talk tall teach team tell temper ten term test
thank thick thin thing think third thought thousand three throw tie time tiny tire together tone tool top total touch
toward town track trade train travel tree triangle trip trouble truck true try tube turn twenty two type under unit until
use usual valley value vary very view village visit voice wait walk wall war warm wash watch water wave way wear weather
week weight west wheel white whole wide wife wild wind window wing winter wire wish woman wonder wood word work world
write wrong yard year yellow young`)

// prompt is that of request n of class number class: the load's shared words, then words no other
// request has.
func (l Load) prompt(class, n int) string {
	c := l.Classes[class]
	var b strings.Builder
	write := func(r *rand.Rand, count int) {
		for range count {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(words[r.IntN(len(words))])
		}
	}
	write(l.random(-1, 0), c.SharedWords)
	write(l.random(class, n), c.PromptWords-c.SharedWords)
	return b.String()
}

// arrivalTimes is the number of the source that a class's arrivals are drawn from; no request has
// it.
const arrivalTimes = 1<<32 - 1

// random is a source of its own for each request of each class.
func (l Load) random(class, n int) *rand.Rand {
	return rand.New(rand.NewPCG(l.Seed, uint64(class+1)<<32|uint64(n)))
}
