// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{unknown preset 'ggml.q4_2', the nearest are ggml.q}}
#f = #kvq.preset<"ggml.q4_2">

// -----

// expected-error@+1 {{unknown preset 'q5_1', the nearest are ggml.q5_1, ggml.q}}
#f = #kvq.preset<"q5_1">

// -----

// expected-error@+1 {{expected string}}
#f = #kvq.preset<ggml>

// -----

// expected-error@+1 {{unknown attribute 'presets' in dialect 'kvq'}}
#f = #kvq.presets<"ggml.q4_0">
