package script
import ("testing";"os";"strings";"fmt")
func TestProbe(t *testing.T) {
	b, err := os.ReadFile("/tmp/js/probes.txt")
	if err != nil { t.Skip() }
	for i, src := range strings.Split(string(b), "\n----\n") {
		err := every(t, src)
		fmt.Printf("%d %.70q\n    %.300s\n", i, src, said(err))
	}
}
