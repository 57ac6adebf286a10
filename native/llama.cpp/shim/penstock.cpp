extern "C" int penstock_shim_probe() { return 1; }
