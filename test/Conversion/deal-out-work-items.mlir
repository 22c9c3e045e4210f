// RUN: kvq-opt %s -kvq-deal-out-work-items | FileCheck %s

// A schedule that a loop has stays.
// CHECK: omp.wsloop schedule(dynamic) {
// CHECK: omp.wsloop schedule(static) {
func.func @f(%n: index, %c0: index, %c1: index) {
  omp.wsloop {
    omp.loop_nest (%i) : index = (%c0) to (%n) step (%c1) {
      omp.yield
    }
  }
  omp.wsloop schedule(static) {
    omp.loop_nest (%i) : index = (%c0) to (%n) step (%c1) {
      omp.yield
    }
  }
  return
}
