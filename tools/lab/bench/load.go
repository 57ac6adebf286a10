// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// Class is a group of clients that send the same kind of request.
type Class struct {
	Name string `json:"name"`

	// Clients of a closed loop: each sends its next request when its last has ended and Think has
	// passed.
	Clients int           `json:"clients,omitempty"`
	Think   time.Duration `json:"think_ns,omitempty"`
	// Rate of an open loop, in requests a second: they arrive at random (Poisson), whether or not
	// others have ended. Exactly one of Clients and Rate is set.
	Rate float64 `json:"rate,omitempty"`

	Requests int           `json:"requests,omitempty"` // of all its clients together; 0: no bound
	Delay    time.Duration `json:"delay_ns,omitempty"` // before the class begins
	After    string        `json:"after,omitempty"`    // the class begins when one of that name has got its first text

	PromptWords int `json:"prompt_words"`
	// SharedWords of PromptWords, at the beginning of the prompt, are the same in all requests of
	// all classes of the load.
	SharedWords int `json:"shared_words,omitempty"`
	MaxTokens   int `json:"max_tokens"`
	// PictureSide is not 0 if each request begins with a new picture, of as many pixels a side. The
	// requests are chat completions then.
	PictureSide int `json:"picture_side,omitempty"`
}

// Load is what one run puts on a server.
type Load struct {
	Classes []Class

	// Requests are measured that are sent within Duration after Warmup. The load goes on until all
	// of them have got their first token and ends then. A Duration of 0: all requests are
	// measured, until each class's bound is reached.
	Warmup, Duration time.Duration
	Limit            time.Duration // the run is broken off after that; 0: DefaultLimit

	Seed        uint64 // the same seed gives the same prompts and arrivals
	Temperature float64
}

// DefaultLimit is how long a run may take where its Load does not say.
const DefaultLimit = 10 * time.Minute

const (
	maxClients = 4096
	maxRate    = 10_000 // requests a second
	maxWords   = 1 << 20
	maxSide    = 16384 // pixels
)

// Validate tells what is wrong with the load.
func (l Load) Validate() error {
	if len(l.Classes) == 0 {
		return fmt.Errorf("%w: it has no class of clients", ErrLoad)
	}
	if l.Warmup < 0 || l.Duration < 0 || l.Limit < 0 {
		return fmt.Errorf("%w: warm-up (%v), duration (%v) and limit (%v) must not be negative", ErrLoad, l.Warmup, l.Duration, l.Limit)
	}
	names := map[string]bool{}
	for _, c := range l.Classes {
		if names[c.Name] {
			return fmt.Errorf("%w: two classes are named %q", ErrLoad, c.Name)
		}
		if c.After != "" && !names[c.After] {
			return fmt.Errorf("%w: class %q begins after %q, which is none of the classes before it", ErrLoad, c.Name, c.After)
		}
		names[c.Name] = true
		if err := c.validate(); err != nil {
			return err
		}
		if l.Duration == 0 && c.Requests == 0 {
			return fmt.Errorf("%w: class %q would never end; give a duration, or a number of requests", ErrLoad, c.Name)
		}
	}
	return nil
}

func (c Class) validate() error {
	wrong := func(what string, args ...any) error {
		return fmt.Errorf("%w: class %q: %s", ErrLoad, c.Name, fmt.Sprintf(what, args...))
	}
	switch {
	case c.Clients != 0 && c.Rate != 0:
		return wrong("clients (%d) and rate (%g) exclude each other; a rate is sent by as many as it takes", c.Clients, c.Rate)
	case c.Rate == 0 && (c.Clients < 1 || c.Clients > maxClients):
		return wrong("%d clients; 1 to %d are possible", c.Clients, maxClients)
	case c.Rate != 0 && !(c.Rate > 0 && c.Rate <= maxRate):
		return wrong("a rate of %g requests a second; more than 0 and at most %d are possible", c.Rate, maxRate)
	case c.PromptWords < 1 || c.PromptWords > maxWords:
		return wrong("prompts of %d words; 1 to %d are possible", c.PromptWords, maxWords)
	case c.SharedWords < 0 || c.SharedWords > c.PromptWords:
		return wrong("%d shared words of %d", c.SharedWords, c.PromptWords)
	case c.PictureSide < 0 || c.PictureSide > maxSide:
		return wrong("pictures of %d pixels a side; 0 to %d are possible", c.PictureSide, maxSide)
	case c.MaxTokens < 1:
		return wrong("%d tokens to generate; at least 1 is needed", c.MaxTokens)
	case c.Requests < 0 || c.Think < 0 || c.Delay < 0:
		return wrong("requests (%d), think time (%v) and delay (%v) must not be negative", c.Requests, c.Think, c.Delay)
	}
	return nil
}

func (l Load) limit() time.Duration {
	if l.Limit == 0 {
		return DefaultLimit
	}
	return l.Limit
}

// Scenario is a load with a name.
type Scenario struct {
	Name string
	Load Load
	Same bool // each round has the prompts of the first, so that a server may have them in its cache
}

// How many words the prompts of the scenarios have.
const (
	ShortWords = 40
	LongWords  = 1500
)

// PictureSide is how many pixels a side the pictures of a scenario have: those of a phone's photo.
const PictureSide = 3500

// Temperature is llama-server's default and Penstock's: what most requests are sampled with.
const Temperature = 0.8

// Single is one stream alone, n times.
func Single(seed uint64, n int) Scenario {
	return Scenario{Name: "single", Load: Load{Seed: seed, Temperature: Temperature, Classes: []Class{
		{Name: "stream", Clients: 1, Requests: n, PromptWords: 8, MaxTokens: 128}}}}
}

// Batch is a burst of requests, all at once.
func Batch(seed uint64, name string, streams int) Scenario {
	return Scenario{Name: name, Load: Load{Seed: seed, Temperature: Temperature, Classes: []Class{
		{Name: "stream", Clients: streams, Requests: streams, PromptWords: ShortWords, MaxTokens: 64}}}}
}

// Mixed is streams while other clients send prompts of longWords words, which stalls a server that
// does not plan for it. Either number may be 0.
func Mixed(seed uint64, name string, streams, long, longWords int, duration time.Duration) Scenario {
	s := Scenario{Name: name, Load: Load{Seed: seed, Temperature: Temperature, Warmup: 3 * time.Second, Duration: duration}}
	if streams > 0 {
		s.Load.Classes = append(s.Load.Classes, Class{Name: "stream", Clients: streams, PromptWords: ShortWords, MaxTokens: 256})
	}
	if long > 0 {
		s.Load.Classes = append(s.Load.Classes, Class{Name: "long", Clients: long, PromptWords: longWords, MaxTokens: 16})
	}
	return s
}

// Pictures is streams while other clients send new pictures of side by side pixels.
// Either number may be 0.
func Pictures(seed uint64, name string, streams, seeing, side int, duration time.Duration) Scenario {
	s := Mixed(seed, name, streams, 0, 0, duration)
	if seeing > 0 {
		s.Load.Classes = append(s.Load.Classes, Class{Name: "picture", Clients: seeing, PromptWords: 8, MaxTokens: 16, PictureSide: side})
	}
	return s
}

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

// picture is that of request n of class number class, if it has one: stripes in colours that no
// other request has. Only the palette is written again, so a picture of any size costs the machine
// that is measured next to nothing.
func (l Load) picture(class, n int) []byte {
	side := l.Classes[class].PictureSide
	if side == 0 {
		return nil
	}
	file := bytes.Clone(striped(side))
	at := bytes.Index(file, []byte("PLTE")) // the chunk's length is before it, its checksum behind it
	size := int(binary.BigEndian.Uint32(file[at-4:]))
	palette := file[at+4 : at+4+size]
	r := l.random(class, n)
	for i := range palette {
		palette[i] = byte(r.Uint32())
	}
	binary.BigEndian.PutUint32(file[at+4+size:], crc32.ChecksumIEEE(file[at:at+4+size]))
	return file
}

// pictures are the files that striped has made, by their side.
var pictures sync.Map

// striped is a PNG of stripes with a palette.
func striped(side int) []byte {
	if known, ok := pictures.Load(side); ok {
		return known.([]byte)
	}
	palette := make(color.Palette, 16)
	for i := range palette {
		palette[i] = color.Gray{Y: uint8(i)}
	}
	m := image.NewPaletted(image.Rect(0, 0, side, side), palette)
	for i := range m.Pix {
		m.Pix[i] = uint8((i%side/31 + i/side/47) % len(palette))
	}
	var file bytes.Buffer
	_ = png.Encode(&file, m) // a buffer takes everything
	known, _ := pictures.LoadOrStore(side, file.Bytes())
	return known.([]byte)
}
