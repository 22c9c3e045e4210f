// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// expected-error @+1 {{expected tile from 1 to 256, got 257}}
func.func private @f() attributes {kvq.schedule = #kvq.schedule<tile = 257>}

// -----

// expected-error @+1 {{expected splits from 1 to 1024, got 0}}
func.func private @f() attributes {kvq.schedule = #kvq.schedule<splits = 0>}

// -----

// expected-error @+1 {{expected prefetch from 0 to 16, got -1}}
func.func private @f() attributes {kvq.schedule = #kvq.schedule<prefetch = -1>}

// -----

// expected-error @+1 {{expected vector_width as a power of two, got 12}}
func.func private @f() attributes {kvq.schedule = #kvq.schedule<vector_width = 12>}

// -----

// expected-error @+1 {{expected kvq.schedule as a #kvq.schedule<...> of a function, got 3 : i64 of 'func.func'}}
func.func private @f() attributes {kvq.schedule = 3}

// -----

// expected-error @+1 {{duplicate or unknown struct parameter name: threads}}
func.func private @f() attributes {kvq.schedule = #kvq.schedule<threads = 2>}
