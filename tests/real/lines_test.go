// SPDX-License-Identifier: MIT

package real

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Of these words lines are made. What a language has of its own is in them: capitals, accents,
// marks that combine, joined letters, none of blanks.
var words = []string{
	"the of and to in is that it was for on are with as his they be at one have this from or had by hot but some what there we can out other were all your when up use word how said an each she which do their time if will way about many then them would write like so these her long make thing see him two has look more day could go come did my sound no most number who over know water than call first people may down side been now find any new work part take get place made live where after back little only round man year came show every good me give our under name very through just form much great think say help low line before turn cause same mean differ move right boy old too does tell sentence set three want air well also play small end put home read hand port large spell add even land here must big high such follow act why ask men change went light kind off need house picture try us again animal point mother world near build self earth father",
	"I'm you're he's she'll we've they'd don't can't won't it's O'Neill rock'n'roll DON'T I'M We'Ve a'lL mother-in-law e.g. i.e. Mr. Mrs. U.S.A. Ph.D. NASA iPhone eBay McDonald",
	"der die das und ist nicht ein eine Stra\u00dfe \u00dcbergr\u00f6\u00dfe \u00c4rger M\u00e4dchen Donaudampfschifffahrtsgesellschaft Fu\u00dfg\u00e4nger schl\u00e4ft \u00f6ffentlich",
	"le la les un une \u00eatre avoir fran\u00e7ais \u00e9l\u00e8ve o\u00f9 ch\u00e2teau na\u00efve c\u0153ur aujourd'hui l'homme qu'il \u00c9TAT No\u00ebl",
	"el la ni\u00f1o ma\u00f1ana \u00bfqu\u00e9? \u00a1hola! coraz\u00f3n ping\u00fcino \u00d1and\u00fa espa\u00f1ol",
	"\u0142\u00f3dka \u017c\u00f3\u0142ty \u015bwi\u0119ta \u0141\u00f3d\u017a P\u0159\u00edli\u0161 \u017elu\u0165ou\u010dk\u00fd k\u016f\u0148 \u0171r \u0150si \u0219i \u021bar\u0103 \u0130stanbul \u0131\u015f\u0131k \u011fa\u011f",
	"\u043f\u0440\u0438\u0432\u0435\u0442 \u041c\u043e\u0441\u043a\u0432\u0430 \u0451\u043b\u043a\u0430 \u0419\u043e\u0433\u0443\u0440\u0442 \u0441\u044a\u0435\u0437\u0434 \u041d\u0415\u0422 \u0457\u0436\u0430\u043a \u0490\u0430\u043d\u043e\u043a",
	"\u03ba\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u039a\u03cc\u03c3\u03bc\u03bf\u03c2 \u0391\u0398\u0397\u039d\u0391 \u03c0\u03bf\u03bb\u03cd\u03c2 \u1f04\u03bd\u03b8\u03c1\u03c9\u03c0\u03bf\u03c2",
	"\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd \u05d1\u05bc\u05b0\u05e8\u05b5\u05d0\u05e9\u05c1\u05b4\u05d9\u05ea \u0645\u0631\u062d\u0628\u0627 \u0627\u0644\u0639\u0627\u0644\u0645 \u0627\u0644\u0644\u0651\u064e\u0647 \u0641\u0627\u0631\u0633\u06cc \u067e\u06cc\u0634\u200c\u0631\u0648",
	"\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e \u0939\u093f\u0928\u094d\u0926\u0940 \u09ac\u09be\u0982\u09b2\u09be \u0ba4\u0bae\u0bbf\u0bb4\u0bcd \u0c24\u0c46\u0c32\u0c41\u0c17\u0c41 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0e19\u0e49\u0e33 \u1781\u17d2\u1798\u17c2\u179a \u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8 \u0540\u0561\u0575\u0565\u0580\u0567\u0576 \u12a0\u121b\u122d\u129b",
	"\u4f60\u597d \u4e16\u754c \u6211\u4eec\u53bb\u516c\u56ed\u3002 \u7e41\u9ad4\u5b57\uff0c \u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8 \u30ab\u30bf\u30ab\u30ca \u3072\u3089\u304c\u306a\u3092\u3001 \u304c\u304e\u3050 \uff76\uff9e \uc548\ub155\ud558\uc138\uc694 \ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \U00020000\U0002a6d6",
	"\U0001f600 \U0001f680\U0001f680 \U0001f469\u200d\U0001f680 \u2764\ufe0f \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd \u2603 \u00a9 \u2122 \u20ac5 \u00a37 \u00bd \u00b2 \u2167 \u2460 \ufb01ne \uff26\uff55\uff4c\uff4c \u212b \u2126 \u221e \u2260 \u2192 \u2014 \u2013 \u2026 \u201cso\u201d \u2018so\u2019 \u00abso\u00bb \u3008x\u3009",
	"caf\u00e9 cafe\u0301 A\u030angstro\u0308m o\u0302\u0301 n\u0303 \u1e69 s\u0323\u0307 s\u0307\u0323 a\u0300\u0301\u0302\u0303\u0304 \u0958 \u095c",
	"func main() { if x != nil { return err } for i := 0; i < n; i++ { a[i] += b[i]*c } } def f(self, *args, **kwargs): lambda x: x**2 #include <stdio.h> std::vector<int> &mut self => fn<'a> // comment /* x */ <div class=\"a\"> </div> &nbsp; {\"key\": [1, 2.5, null]} SELECT * FROM t WHERE a='b'; snake_case camelCase PascalCase SCREAMING_CASE kebab-case $var ${x} `code` **bold** ## - [ ] |a|b| \\n \\u00e9 C:\\dir ./a/b/../c https://example.com/a?b=c&d=%20#e me@example.com @user #tag 0xDEADBEEF 1e-12 v1.2.3-rc.4",
	"0 1 7 10 42 100 1984 2026 3.14159 1,234,567.89 -5 +7 12:34:56 2024-02-29 50% $9.99 1st 2nd \u0663\u0664 \u096a\u0968 \uff11\uff12 x2 3D H2O 000123456789012345678901234567890",
	"<|im_start|> <|im_end|> <|endoftext|> [CLS] [SEP] [MASK] [UNK] [PAD] <s> </s> <|x|> ##ing [cls] <|im_end",
}

// between are what lies between words.
var between = []string{" ", " ", " ", " ", " ", " ", "  ", "   ", ", ", ". ", "", "", "-", "/", "\t", "\n", "\r\n", "\n\n", " \n ", "\u00a0", "\u3000", "\u200b", "\u2028", "!", "?! ", "...", " (", ") ", "'", "\"", "_", "\u0301"}

// wild are ranges of characters that Unicode has had for long, so that all libraries know them.
var wild = [][2]rune{
	{0x20, 0x7e}, {0x20, 0x7e}, {0xa0, 0x17f}, {0x1, 0x1f}, {0x7f, 0x9f}, {0x300, 0x36f}, {0x391, 0x3a1}, {0x400, 0x45f}, {0x5d0, 0x5ea}, {0x621, 0x64a}, {0x904, 0x939}, {0xe01, 0xe3a},
	{0x1e00, 0x1e9b}, {0x2010, 0x205e}, {0x20a0, 0x20b5}, {0x2190, 0x21ff}, {0x2200, 0x22ff}, {0x2460, 0x24ff}, {0x2500, 0x25ff}, {0x3041, 0x3096}, {0x4e00, 0x9fa5}, {0xac00, 0xd7a3}, {0xe000, 0xe0ff},
	{0xff01, 0xff5e}, {0xfffd, 0xfffd}, {0x1d400, 0x1d454}, {0x1f600, 0x1f64f}, {0x20000, 0x2a6d6},
}

// lines are mixed texts, the same ones each time.
func lines(n int) []string {
	source := rand.NewPCG(47, 3)
	below := func(n int) int { return int(source.Uint64() % uint64(n)) }
	var pools [][]string
	for _, w := range words {
		pools = append(pools, strings.Fields(w))
	}
	all := make([]string, n)
	for i := range all {
		var b strings.Builder
		pool := pools[below(len(pools))]
		for range 1 + below(24) {
			switch below(30) {
			case 0:
				pool = pools[below(len(pools))]
			case 1:
				for range 1 + below(6) {
					r := wild[below(len(wild))]
					b.WriteRune(r[0] + rune(below(int(r[1]-r[0]+1))))
				}
			case 2:
				fmt.Fprintf(&b, "%d", source.Uint64()>>(below(60)))
			case 3:
				b.WriteString(strings.Repeat(between[below(len(between))], 1+below(9)))
			case 4:
				b.WriteString(strings.ToUpper(pool[below(len(pool))]))
			case 5:
				if below(10) == 0 {
					b.WriteString(strings.Repeat(pool[below(len(pool))], 1+below(40)))
				}
			}
			b.WriteString(pool[below(len(pool))] + between[below(len(between))])
		}
		all[i] = b.String()
	}
	return all
}
