// RUN: flashc-opt %S/expanded-causal.mlir --tile-to-warp=arch=sm_80 | FileCheck %s
// RUN: sed "s/stages = 1/stages = 2/; s/q_in_registers = false/q_in_registers = true/" %S/expanded-causal.mlir | flashc-opt --tile-to-warp=arch=sm_80 | FileCheck %s --check-prefix=DEEP
// RUN: not flashc-opt %S/expanded-causal.mlir --tile-to-warp="arch=sm_80 sram=16384" 2>&1 | FileCheck %s --check-prefix=OVER
//
// The schedule that the warp level makes of a causal kernel, checked by warp-verify-protocol as its last pass.

// CHECK:      shared_bytes = 32768 : i64
// CHECK:      %[[Q:.+]] = warp.alloc offset(0)
// CHECK:      warp.copy_in {{.*}} to %[[Q]]
// CHECK:      %[[K:.+]] = warp.channel {{.*}} offset(16384)
// CHECK-NEXT: %[[V:.+]] = warp.channel {{.*}} offset(24576)
// CHECK-NEXT: warp.put %[[K]]
// CHECK-NEXT: scf.for
// CHECK:        %[[KB:.+]] = warp.get %[[K]]{{.*}} pending(0)
// CHECK-NEXT:   warp.put %[[V]]
// CHECK:        warp.mma %[[Q]], %[[KB]]
// CHECK-NEXT:   %[[VB:.+]] = warp.get %[[V]]{{.*}} pending(0)
// CHECK:        warp.put %[[K]]
// CHECK:        warp.reduce max
// CHECK:        warp.mma %{{.+}}, %[[VB]]
// CHECK:      scf.for
// CHECK:        warp.get %[[K]]
// CHECK:      warp.wait pending(0)
// CHECK-NEXT: %[[O:.+]] = warp.alloc offset(0)
// CHECK-NEXT: warp.store %{{.+}} to %[[O]]
// CHECK-NEXT: warp.barrier
// CHECK-NEXT: warp.copy_out %[[O]]
// CHECK-NEXT: warp.store_rows

// DEEP:      shared_bytes = 49152 : i64
// DEEP-COUNT-3: warp.put
// DEEP-NEXT: warp.wait pending(3)
// DEEP-NEXT: %[[QF:.+]] = warp.load
// DEEP-NEXT: scf.for
// DEEP:        warp.get {{.*}} pending(2)
// DEEP:        warp.put
// DEEP:        warp.mma %[[QF]]
// DEEP:        warp.reduce max
// DEEP:        warp.get {{.*}} pending(2)
// DEEP:        warp.put
// DEEP:        warp.mma

// OVER: 'warp.kernel' op needs 32768 bytes of shared memory, but one block may use 16384; choose smaller tiles or rings of fewer stages
