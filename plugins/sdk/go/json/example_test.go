// SPDX-License-Identifier: MIT

package json_test

import (
	"fmt"

	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// A plugin reads its configuration. What is missing, or of another kind, is a zero value.
func ExampleParse() {
	config, err := json.Parse([]byte(`{"phrases": ["as an AI", "I cannot"], "most": 3.0}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	phrases := config.Get("phrases")
	for i := range phrases.Len() {
		fmt.Println(phrases.At(i).Text())
	}
	fmt.Println(config.Get("most").Int(), config.Get("case").Bool())

	_, err = json.Parse([]byte(`{"most": }`))
	fmt.Println(err != nil)
	// Output:
	// as an AI
	// I cannot
	// 3 false
	// true
}

func ExampleAppendText() {
	fmt.Println(string(json.AppendText([]byte(`{"said":`), "\"yes\"\n")) + "}")
	// Output: {"said":"\"yes\"\u000a"}
}
