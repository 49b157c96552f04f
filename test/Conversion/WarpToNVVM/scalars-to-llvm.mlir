// RUN: flashc-opt %s --convert-scalars-to-llvm --reconcile-unrealized-casts | FileCheck %s
// RUN: flashc-opt %s --convert-scalars-to-llvm --reconcile-unrealized-casts | FileCheck %s --check-prefix=NONE

// What a loop over key blocks looks like after convert-scf-to-cf: an index that
// goes round through a block argument, floats, and NVVM's ops between them.
// CHECK-LABEL: llvm.func @kernel
// CHECK-SAME: (%[[LENGTH:.*]]: i32, %[[SCORE:.*]]: f32)
llvm.func @kernel(%length: i32, %score: f32) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.index_cast %length : i32 to index
  // CHECK: llvm.br ^[[HEAD:.*]](%{{.*}}, %[[SCORE]] : i32, f32)
  cf.br ^head(%zero, %score : index, f32)
// CHECK: ^[[HEAD]](%[[J:.*]]: i32, %[[SUM:.*]]: f32):
^head(%j: index, %sum: f32):
  // CHECK: %[[MORE:.*]] = llvm.icmp "slt" %[[J]], %{{.*}} : i32
  %more = arith.cmpi slt, %j, %end : index
  // CHECK: llvm.cond_br %[[MORE]]
  cf.cond_br %more, ^body, ^exit
^body:
  // CHECK: nvvm.barrier0
  nvvm.barrier0
  // CHECK: llvm.intr.fma(%[[SUM]], %[[SCORE]], %[[SUM]])
  %next = math.fma %sum, %score, %sum : f32
  // CHECK: llvm.add %[[J]], %{{.*}} : i32
  %k = arith.addi %j, %one : index
  cf.br ^head(%k, %next : index, f32)
^exit:
  llvm.return %sum : f32
}
// NONE-NOT: {{(arith|math|cf|builtin)\.}}
