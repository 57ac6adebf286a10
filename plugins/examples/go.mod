module github.com/penstock/penstock/plugins/examples

go 1.25.0

require (
	github.com/penstock/penstock/plugins/sdk/go v0.0.0
	github.com/tetratelabs/wazero v1.12.0
)

require golang.org/x/sys v0.44.0 // indirect

replace github.com/penstock/penstock/plugins/sdk/go => ../sdk/go
