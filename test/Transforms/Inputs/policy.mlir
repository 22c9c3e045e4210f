// A policy in a file of its own: comments and names for formats, as in any module.
#k = #kvq.format<codes = i8, group = [1, *], scale = f16>
module attributes {kvq.policy = #kvq.policy<<format = #k>>} {}
