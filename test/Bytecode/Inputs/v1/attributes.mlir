#format = #kvq.format<codes = none>
module {
  func.func private @attributes() attributes {
    components = [#kvq.component<codes>, #kvq.component<scales>, #kvq.component<means>],
    entry = #kvq.policy_entry<side = keys, layers = [0, 2], format = #format>,
    items = [#kvq.work_item<0>, #kvq.work_item<3>]}
}
