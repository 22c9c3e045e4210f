// RUN: kvq-emulate %s --kernel=shuffles --arg=zeros:640 --print=0:i32 \
// RUN:   | FileCheck %s --check-prefix=SHUFFLE
// RUN: kvq-emulate %s --kernel=shuffles --arg=zeros:640 --print=0:i32 --order=reverse \
// RUN:   | FileCheck %s --check-prefix=SHUFFLE
// RUN: kvq-emulate %s --kernel=shuffles --arg=zeros:640 --print=0:i32 --order=random --seed=5 \
// RUN:   | FileCheck %s --check-prefix=SHUFFLE
// RUN: kvq-emulate %s --kernel=votes --arg=zeros:1152 --print=0:i32 \
// RUN:   | FileCheck %s --check-prefix=VOTE
// RUN: kvq-emulate %s --kernel=halves --arg=zeros:128 --print=0:i32 --order=random \
// RUN:   | FileCheck %s --check-prefix=HALVES

// Down by 3 with its predicate, up by 2, butterfly by 5, index 7 in segments of
// 16 lanes.
// SHUFFLE: 3, 4, 5, {{.*}}, 30, 31, 29, 30, 31, {{((1, ){29}(0, ){3})}}0, 1, 0, 1, 2, 3,
// SHUFFLE-SAME: 28, 29, 5, 4, 7, 6, 1, 0, 3, 2, 13,
// SHUFFLE-SAME: 27, 26, {{((7, ){16}(23, ){15}23)$}}
gpu.module @kernels {
  llvm.func @put(%out: !llvm.ptr<1>, %row: i32, %value: i32) attributes {passthrough = ["alwaysinline"]} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %first = llvm.mul %row, %c32 : i32
    %index = llvm.add %first, %lane : i32
    %to = llvm.getelementptr %out[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %value, %to : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @shuffles(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c3 = llvm.mlir.constant(3 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c7 = llvm.mlir.constant(7 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %segment = llvm.mlir.constant(0x101f : i32) : i32
    %down = nvvm.shfl.sync down %all, %lane, %c3, %c31 {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
    %value = llvm.extractvalue %down[0] : !llvm.struct<(i32, i1)>
    %valid = llvm.extractvalue %down[1] : !llvm.struct<(i32, i1)>
    %valid32 = llvm.zext %valid : i1 to i32
    llvm.call @put(%out, %c0, %value) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @put(%out, %c1, %valid32) : (!llvm.ptr<1>, i32, i32) -> ()
    %up = nvvm.shfl.sync up %all, %lane, %c2, %c0 : i32 -> i32
    llvm.call @put(%out, %c2, %up) : (!llvm.ptr<1>, i32, i32) -> ()
    %butterfly = nvvm.shfl.sync bfly %all, %lane, %c5, %c31 : i32 -> i32
    llvm.call @put(%out, %c3, %butterfly) : (!llvm.ptr<1>, i32, i32) -> ()
    %index = nvvm.shfl.sync idx %all, %lane, %c7, %segment : i32 -> i32
    llvm.call @put(%out, %c4, %index) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.return
  }

  // Any, all, ballot of lanes below 5; sums, minima, bits; matches of lane / 8.
  // VOTE: {{(^(1, ){32}(0, ){32}(31, ){32})}}
  // VOTE-SAME: {{((496, ){32}(-31, ){32}(31, ){32})}}
  // VOTE-SAME: {{((255, ){8}(65280, ){8}(16711680, ){8}(-16777216, ){8})}}
  // VOTE-SAME: {{((0, ){32}1(, 0){31})$}}
  llvm.func @votes(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c3 = llvm.mlir.constant(3 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c6 = llvm.mlir.constant(6 : i32) : i32
    %c7 = llvm.mlir.constant(7 : i32) : i32
    %c8 = llvm.mlir.constant(8 : i32) : i32
    %isLow = llvm.icmp "ult" %lane, %c5 : i32
    %any = nvvm.vote.sync any %all, %isLow -> i1
    %any32 = llvm.zext %any : i1 to i32
    llvm.call @put(%out, %c0, %any32) : (!llvm.ptr<1>, i32, i32) -> ()
    %every = nvvm.vote.sync all %all, %isLow -> i1
    %every32 = llvm.zext %every : i1 to i32
    llvm.call @put(%out, %c1, %every32) : (!llvm.ptr<1>, i32, i32) -> ()
    %ballot = nvvm.vote.sync ballot %all, %isLow -> i32
    llvm.call @put(%out, %c2, %ballot) : (!llvm.ptr<1>, i32, i32) -> ()
    %sum = nvvm.redux.sync add %lane, %all : i32 -> i32
    llvm.call @put(%out, %c3, %sum) : (!llvm.ptr<1>, i32, i32) -> ()
    %negative = llvm.sub %c0, %lane : i32
    %min = nvvm.redux.sync min %negative, %all : i32 -> i32
    llvm.call @put(%out, %c4, %min) : (!llvm.ptr<1>, i32, i32) -> ()
    %bits = nvvm.redux.sync or %lane, %all : i32 -> i32
    llvm.call @put(%out, %c5, %bits) : (!llvm.ptr<1>, i32, i32) -> ()
    %eighth = llvm.udiv %lane, %c8 : i32
    %same = nvvm.match.sync any %all, %eighth : i32 -> i32
    llvm.call @put(%out, %c6, %same) : (!llvm.ptr<1>, i32, i32) -> ()
    %match = nvvm.match.sync all %all, %eighth : i32 -> !llvm.struct<(i32, i1)>
    %matching = llvm.extractvalue %match[0] : !llvm.struct<(i32, i1)>
    llvm.call @put(%out, %c7, %matching) : (!llvm.ptr<1>, i32, i32) -> ()
    %isLeader = nvvm.elect.sync -> i1
    %leader32 = llvm.zext %isLeader : i1 to i32
    llvm.call @put(%out, %c8, %leader32) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.return
  }

  // The halves of a warp each do what is theirs: 2 · (0 + … + 15), 3 · (16 + …).
  // HALVES: {{^}}240, 240, {{.*}}, 240, 1128, {{.*}}, 1128{{$}}
  llvm.func @halves(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c3 = llvm.mlir.constant(3 : i32) : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %low = llvm.mlir.constant(0xffff : i32) : i32
    %high = llvm.mlir.constant(0xffff0000 : i32) : i32
    %isLow = llvm.icmp "ult" %lane, %c16 : i32
    llvm.cond_br %isLow, ^low, ^high
  ^low:
    %double = llvm.mul %lane, %c2 : i32
    %a = nvvm.redux.sync add %double, %low : i32 -> i32
    llvm.br ^end(%a : i32)
  ^high:
    %triple = llvm.mul %lane, %c3 : i32
    %b = nvvm.redux.sync add %triple, %high : i32 -> i32
    llvm.br ^end(%b : i32)
  ^end(%sum: i32):
    llvm.call @put(%out, %c0, %sum) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.return
  }
}
