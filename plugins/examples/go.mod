module github.com/penstock/penstock/plugins/examples

go 1.25.0

require github.com/penstock/penstock/plugins/sdk/go v0.0.0

replace github.com/penstock/penstock/plugins/sdk/go => ../sdk/go
