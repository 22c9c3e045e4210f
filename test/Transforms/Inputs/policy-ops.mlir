module attributes {kvq.policy = #kvq.policy<<format = #kvq.format<codes = none>>>} {
  func.func private @f()
}
