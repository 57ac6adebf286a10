module github.com/penstock/penstock/plugins/sdk/go

go 1.24
