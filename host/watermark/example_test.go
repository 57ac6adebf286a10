// SPDX-License-Identifier: MIT

package watermark_test

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/watermark"
)

// A text that is one word over and over has few contexts, and no mark.
func ExampleDetector_Detect() {
	d, err := watermark.New(watermark.Config{
		Key: strings.Repeat("5a", 32), Scheme: watermark.Green, Context: watermark.DefaultContext, Gamma: watermark.DefaultGamma,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := d.Detect([]int32{17, 17, 17, 17, 17, 17, 17, 17})
	fmt.Println(r.Tokens, r.Scored, r.PValue < 1e-5)
	// Output: 8 1 false
}
