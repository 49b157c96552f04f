// RUN: flashc-opt %s --convert-tile-to-warp --canonicalize --cse --split-input-file | FileCheck %s

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!narrow = memref<?x?x?x40xf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 2, producer = 32, consumer = 232, overlap = false, turns = true, rescale = always, apart = true, ahead = false, skip = false>
#schedule = #tile.schedule<q = 128, kv = 32, stages = 2, warps = 8, q_in_registers = false, sram = 232448, roles = #roles>

// Both roles run the tiles and the loop; the producer has the sends alone, the consumer no addresses. Rings and staging are shared,
// Q's rows and the output's are dealt to the groups, columns padded to 64.
// CHECK-LABEL: warp.kernel @two_roles(
// CHECK-SAME:    %[[Q:[^:]+]]: memref<{{[^>]*>}}>, %[[K:[^:]+]]: memref<{{[^>]*>}}>, %[[V:[^:]+]]: memref<{{[^>]*>}}>, %[[OUT:[^:]+]]: memref<{{[^>]*>}}> {tile.output}, %[[LSE:[^:]+]]: memref<{{[^>]*>}}> {tile.output})
// CHECK-SAME:    attributes {groups = 2 : i64, q_block = 128 : i64, turns, warps = 8 : i64}
// CHECK:         %[[QR:.+]] = warp.ring : !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
// CHECK-NEXT:    %[[KR:.+]] = warp.ring : !warp.ring<32x64xf16, 64, depth = 2>
// CHECK-NEXT:    %[[VR:.+]] = warp.ring : !warp.ring<32x64xf16, 64, depth = 2>
// CHECK-NEXT:    %[[STAGING:.+]] = warp.alloc : !warp.buffer<128x64xf16, 64, parts = 2>
// CHECK-NEXT:    warp.role producer registers(32) {
// CHECK-NEXT:      warp.tiles longest_first {
// CHECK-NEXT:      ^bb0(%[[B:.+]]: index, %[[H:.+]]: index, %[[I:.+]]: index):
// CHECK:             %[[HI:.+]] = memref.dim %[[K]]
// CHECK:             %[[ROW:.+]] = arith.muli %[[I]], %{{.+}} : index
// CHECK:             warp.send %[[Q]][%[[B]], %[[H]], %[[ROW]]] to %[[QR]] :
// CHECK-NEXT:        scf.for %[[J:.+]] = %{{.+}} to %[[HI]] step %{{.+}} {
// CHECK-NEXT:          %[[KEY:.+]] = arith.muli %[[J]], %{{.+}} : index
// CHECK-NEXT:          warp.send %[[K]][%[[B]], %[[H]], %[[KEY]]] to %[[KR]] :
// CHECK-NEXT:          warp.send %[[V]][%[[B]], %[[H]], %[[KEY]]] to %[[VR]] :
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    warp.role consumer registers(232) {
// CHECK-NEXT:      warp.tiles longest_first {
// CHECK-NEXT:      ^bb0(%[[B:.+]]: index, %[[H:.+]]: index, %[[I:.+]]: index):
// CHECK-DAG:         %[[ZERO:.+]] = warp.fill 0.000000e+00 : f32 -> !warp.fragment<128x48xf32>
// CHECK-DAG:         %[[MIN:.+]] = warp.fill 0xFF800000 : f32 -> !warp.fragment<128xf32>
// CHECK:             %[[QB:.+]] = warp.receive %[[QR]] :
// CHECK-NOT:         warp.fill
// CHECK:             %[[R:.+]]:2 = scf.for {{.*}} iter_args(%[[ACC:.+]] = %[[ZERO]], %[[M:.+]] = %[[MIN]])
// CHECK-NEXT:          %[[KB:.+]] = warp.receive %[[KR]] :
// A product that starts at zero has no accumulator.
// CHECK-NEXT:          %[[S:.+]] = warp.wgmma %[[QB]], %[[KB]] transpose_b depth(64) :
// CHECK-NEXT:          warp.reduce max %[[S]] init(%[[M]])
// CHECK-NEXT:          %[[P:.+]] = warp.map ins(%[[S]]
// CHECK:               %[[VB:.+]] = warp.receive %[[VR]] :
// CHECK-NEXT:          warp.wgmma %[[P]], %[[VB]] acc(%[[ACC]] : !warp.fragment<128x48xf32>) depth(32) :
// CHECK:             %[[O:.+]] = warp.map ins(%[[R]]#0
// CHECK:             warp.emit %[[O]] via %[[STAGING]] to %[[OUT]][%[[B]], %[[H]], %{{.+}}] :
// CHECK-NEXT:        warp.store_rows %[[R]]#1 to %[[LSE]]
tile.kernel @two_roles(%q: !view, %k: !view, %v: !narrow, %o: !narrow {tile.output}, %lse: !lse {tile.output}) attributes {schedule = #schedule} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %hi = memref.dim %k, %c2 : !view
  %zero = arith.constant dense<0.0> : tensor<128x48xf32>
  %none = arith.constant dense<0.0> : tensor<128x32xf32>
  %min = arith.constant dense<0xFF800000> : tensor<128xf32>
  %b, %h, %i = tile.program longest_first
  %row = arith.muli %i, %c128 : index
  %qt = tile.load %q[%b, %h, %row] : !view -> tensor<128x64xf16>
  %ks = tile.stream %k[%b, %h] blocks(%c0 to %hi) : !view -> !tile.stream<32x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%c0 to %hi) : !narrow -> !tile.stream<32x48xf16>
  %r:2 = scf.for %j = %c0 to %hi step %c1 iter_args(%acc = %zero, %m = %min) -> (tensor<128x48xf32>, tensor<128xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %s = tile.dot %qt, %kt acc(%none) transpose_b : tensor<128x64xf16>, tensor<32x64xf16> -> tensor<128x32xf32>
    %m1 = tile.reduce max %s init(%m) : tensor<128x32xf32>, tensor<128xf32>
    %p = tile.map ins(%s : tensor<128x32xf32>) -> tensor<128x32xf16> {
    ^bb0(%x: f32):
      %t = arith.truncf %x : f32 to f16
      tile.yield %t : f16
    }
    %vt = tile.next %vs[%j] : !tile.stream<32x48xf16> -> tensor<32x48xf16>
    %acc1 = tile.dot %p, %vt acc(%acc) : tensor<128x32xf16>, tensor<32x48xf16> -> tensor<128x48xf32>
    scf.yield %acc1, %m1 : tensor<128x48xf32>, tensor<128xf32>
  }
  %out = tile.map ins(%r#0 : tensor<128x48xf32>) -> tensor<128x48xf16> {
  ^bb0(%x: f32):
    %t = arith.truncf %x : f32 to f16
    tile.yield %t : f16
  }
  tile.store %out, %o[%b, %h, %row] : tensor<128x48xf16>, !narrow
  tile.store %r#1, %lse[%b, %h, %row] : tensor<128xf32>, !lse
  tile.return
}

// -----

!view = memref<?x?x?x40xbf16, strided<[?, ?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 1, producer = 24, consumer = 240, overlap = false, turns = false, rescale = late, apart = false, ahead = false, skip = false>
#schedule = #tile.schedule<q = 64, kv = 32, stages = 3, warps = 4, q_in_registers = false, sram = 232448, roles = #roles>

// Without bytes of its own the output leaves through Q's. A depth is the tile's columns, not those of the padded slot. Key heads and
// other scalars of a coordinate are computed by the producer too.
// CHECK-LABEL: warp.kernel @through_q(
// CHECK-SAME:    attributes {groups = 1 : i64, q_block = 64 : i64, warps = 4 : i64}
// CHECK:         %[[QR:.+]] = warp.ring : !warp.ring<64x64xbf16, 64, depth = 1>
// CHECK-NEXT:    %[[KR:.+]] = warp.ring : !warp.ring<32x64xbf16, 64, depth = 3>
// CHECK-NOT:     warp.alloc
// CHECK:         warp.role producer registers(24) {
// CHECK:           %[[KH:.+]] = arith.divui
// CHECK:           warp.send %{{.+}}[%{{.+}}, %[[KH]], %{{.+}}] to %[[KR]] :
// CHECK-NOT:       warp.{{fill|map|emit}}
// CHECK:         warp.role consumer registers(240) {
// CHECK-NOT:       arith.divui
// CHECK:           %[[QB:.+]] = warp.receive %[[QR]] : {{.*}} -> !warp.buffer<64x64xbf16, 64>
// CHECK:           warp.wgmma %[[QB]], %{{.+}} transpose_b depth(48) :
// CHECK:           %[[OB:.+]] = warp.alias %[[QB]] : !warp.buffer<64x64xbf16, 64> -> !warp.buffer<64x64xbf16, 64>
// CHECK:           warp.emit %{{.+}} via %[[OB]] to
tile.kernel @through_q(%q: !view, %k: !view, %v: !view, %o: !view {tile.output}) attributes {schedule = #schedule} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %hi = memref.dim %k, %c2 : !view
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %zero = arith.constant dense<0.0> : tensor<64x48xbf16>
  %b, %h, %i = tile.program
  %kh = arith.divui %h, %c2 : index
  %qt = tile.load %q[%b, %h, %i] : !view -> tensor<64x48xbf16>
  %ks = tile.stream %k[%b, %kh] blocks(%c0 to %hi) : !view -> !tile.stream<32x48xbf16>
  %r = scf.for %j = %c0 to %hi step %c1 iter_args(%acc = %none) -> (tensor<64x32xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<32x48xbf16> -> tensor<32x48xbf16>
    %s = tile.dot %qt, %kt acc(%none) transpose_b : tensor<64x48xbf16>, tensor<32x48xbf16> -> tensor<64x32xf32>
    scf.yield %s : tensor<64x32xf32>
  }
  tile.store %zero, %o[%b, %h, %i] : tensor<64x48xbf16>, !view
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 1, producer = 24, consumer = 240, overlap = false, turns = false, rescale = late, apart = true, ahead = false, skip = false>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 2, warps = 4, q_in_registers = false, sram = 232448, roles = #roles>

// What is computed again, in a branch, has no ring and nothing of it in the producer: left operands are fetched to registers, right
// ones where they are multiplied, guarded as they were.
// CHECK-LABEL: warp.kernel @computed_again(
// CHECK-SAME:    %[[Q:[^:]+]]: memref<{{[^>]*>}}>, %[[K:[^:]+]]: memref<{{[^>]*>}}>, %[[V:[^:]+]]: memref<{{[^>]*>}}>, %[[OUT:[^:]+]]: memref
// CHECK:         = warp.ring
// CHECK-NOT:     = warp.ring
// CHECK:         warp.role producer
// CHECK:           warp.send %[[Q]]
// CHECK-NOT:       warp.{{send|fetch|any}}
// CHECK:         warp.role consumer
// CHECK:           %[[ANY:.+]] = warp.any_not_finite
// CHECK-NEXT:      %[[R:.+]] = scf.if %[[ANY]] -> (!warp.fragment<64x64xf32>) {
// CHECK-NEXT:        %[[QF:.+]] = warp.fetch %[[Q]][%[[B:.+]], %[[H:.+]], %[[I:.+]]] : {{.*}} -> !warp.fragment<64x64xf16>
// CHECK-NEXT:        %[[S:.+]] = warp.mma_fetch %[[QF]], %[[K]][%[[B]], %[[H]], %[[I]]] limit(%[[N:.+]]) acc(%{{.+}}) transpose_b :
// CHECK-NEXT:        %[[P:.+]] = warp.map ins(%[[S]]
// CHECK:             %[[O:.+]] = warp.mma_fetch %[[P]], %[[V]][%[[B]], %[[H]], %[[I]]] limit(%[[N]]) acc(%{{.+}}) guarded :
// CHECK-NEXT:        scf.yield %[[O]]
tile.kernel @computed_again(%q: !view, %k: !view, %v: !view, %o: !view {tile.output}) attributes {schedule = #schedule} {
  %c2 = arith.constant 2 : index
  %n = memref.dim %k, %c2 : !view
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %b, %h, %i = tile.program
  %first = tile.load %q[%b, %h, %i] : !view -> tensor<64x64xf16>
  %any = tile.any_not_finite %zero : tensor<64x64xf32>
  %r = scf.if %any -> (tensor<64x64xf32>) {
    %qt = tile.load %q[%b, %h, %i] : !view -> tensor<64x64xf16>
    %kt = tile.load %k[%b, %h, %i] limit(%n) : !view -> tensor<16x64xf16>
    %s = tile.dot %qt, %kt acc(%none) transpose_b : tensor<64x64xf16>, tensor<16x64xf16> -> tensor<64x16xf32>
    %p = tile.map ins(%s : tensor<64x16xf32>) -> tensor<64x16xf16> {
    ^bb0(%x: f32):
      %t = arith.truncf %x : f32 to f16
      tile.yield %t : f16
    }
    %vt = tile.load %v[%b, %h, %i] limit(%n) : !view -> tensor<16x64xf16>
    %acc = tile.dot %p, %vt acc(%zero) guarded : tensor<64x16xf16>, tensor<16x64xf16> -> tensor<64x64xf32>
    scf.yield %acc : tensor<64x64xf32>
  } else {
    scf.yield %zero : tensor<64x64xf32>
  }
  %out = tile.map ins(%r : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f32):
    %t = arith.truncf %x : f32 to f16
    tile.yield %t : f16
  }
  tile.store %out, %o[%b, %h, %i] : tensor<64x64xf16>, !view
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 1, producer = 24, consumer = 240, overlap = false, turns = false, rescale = late, apart = true, ahead = false, skip = false>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 2, warps = 4, q_in_registers = false, sram = 232448, roles = #roles>

// Rows of V past a limit are summed with weights of zero: they are cleared. Those of K give scores that the mask drops.
// CHECK-LABEL: warp.kernel @limit(
// CHECK:         %[[KR:.+]] = warp.ring
// CHECK-NEXT:    %[[VR:.+]] = warp.ring
// CHECK:         warp.role consumer
// CHECK:           %[[N:.+]] = memref.dim %arg2
// CHECK:           scf.for %[[J:[^ ]+]] =
// CHECK-NEXT:        %[[K:.+]] = warp.receive %[[KR]]
// CHECK-NEXT:        warp.wgmma %{{.+}}, %[[K]] transpose_b
// CHECK:             %[[V:.+]] = warp.receive %[[VR]]
// CHECK-NEXT:        %[[ROW:.+]] = arith.muli %[[J]], %{{.+}} : index
// CHECK-NEXT:        %[[FIRST:.+]] = arith.subi %[[N]], %[[ROW]] : index
// CHECK-NEXT:        warp.clear_rows %[[V]] from %[[FIRST]]
// CHECK-NEXT:        warp.wgmma %{{.+}}, %[[V]] acc(
// CHECK-NOT:       warp.clear_rows
tile.kernel @limit(%q: !view, %k: !view, %v: !view) attributes {schedule = #schedule} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %hi = memref.dim %k, %c2 : !view
  %n = memref.dim %v, %c2 : !view
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = arith.constant dense<1.0> : tensor<64x64xf16>
  %b, %h, %i = tile.program
  %ks = tile.stream %k[%b, %h] blocks(%c0 to %hi) limit(%n) : !view -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%c0 to %hi) limit(%n) : !view -> !tile.stream<64x64xf16>
  %r = scf.for %j = %c0 to %hi step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s = tile.dot %p, %kt acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc1 = tile.dot %p, %vt acc(%acc) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %acc1 : tensor<64x64xf32>
  }
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 2, producer = 32, consumer = 232, overlap = false, turns = false, rescale = late, apart = true, ahead = false, skip = true>
#schedule = #tile.schedule<q = 128, kv = 64, stages = 2, warps = 8, q_in_registers = false, sram = 232448, roles = #roles>

// The producer's rows are the tile's; a group's loop is that of its own 64, and the other blocks of the tile pass: those before in
// front of its own, those behind when its output has left.
// CHECK-LABEL: warp.kernel @own_blocks(
// CHECK:         %[[KR:.+]] = warp.ring : !warp.ring<64x64xf16, 64, depth = 2>
// CHECK-NEXT:    %[[VR:.+]] = warp.ring : !warp.ring<64x64xf16, 64, depth = 2>
// CHECK:         warp.role producer
// CHECK:           %[[I0:.+]] = arith.muli %{{.+}}, %[[C128:.+]] : index
// CHECK-NEXT:      %[[END:.+]] = arith.addi %[[I0]], %[[C128]] : index
// CHECK-NEXT:      scf.for %{{.+}} = %[[I0]] to %[[END]] step
// CHECK-NOT:       scf.for
// CHECK:         warp.role consumer
// CHECK:           %[[I0:.+]] = arith.muli %{{.+}}, %{{.+}} : index
// CHECK-NEXT:      %[[ALL:.+]] = arith.addi %[[I0]], %{{.+}} : index
// CHECK-NEXT:      %[[G:.+]] = warp.group
// CHECK-NEXT:      %[[BEFORE:.+]] = arith.muli %[[G]], %[[C64:.+]] : index
// CHECK-NEXT:      %[[FIRST:.+]] = arith.addi %[[I0]], %[[BEFORE]] : index
// CHECK-NEXT:      %[[OWN:.+]] = arith.addi %[[FIRST]], %[[C64]] : index
// CHECK-NEXT:      scf.for %{{.+}} = %[[I0]] to %[[FIRST]] step %{{.+}} {
// CHECK-NEXT:        warp.skip %[[KR]] :
// CHECK-NEXT:        warp.skip %[[VR]] :
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[R:.+]] = scf.for %{{.+}} = %[[FIRST]] to %[[OWN]] step
// CHECK:             warp.receive %[[VR]]
// CHECK:           warp.emit
// CHECK-NEXT:      scf.for %{{.+}} = %[[OWN]] to %[[ALL]] step %{{.+}} {
// CHECK-NEXT:        warp.skip %[[KR]] :
// CHECK-NEXT:        warp.skip %[[VR]] :
// CHECK-NEXT:      }
// CHECK-NEXT:    }
tile.kernel @own_blocks(%q: !view, %k: !view, %v: !view, %o: !view {tile.output}) attributes {schedule = #schedule} {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %none = arith.constant dense<0.0> : tensor<128x64xf32>
  %p = arith.constant dense<1.0> : tensor<128x64xf16>
  %b, %h, %i = tile.program
  %row = arith.muli %i, %c128 : index
  %first, %end = tile.own_rows %row
  %ks = tile.stream %k[%b, %h] blocks(%first to %end) : !view -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%first to %end) : !view -> !tile.stream<64x64xf16>
  %r = scf.for %j = %first to %end step %c1 iter_args(%acc = %none) -> (tensor<128x64xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s = tile.dot %p, %kt acc(%acc) transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc1 = tile.dot %p, %vt acc(%s) : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %acc1 : tensor<128x64xf32>
  }
  %out = tile.map ins(%r : tensor<128x64xf32>) -> tensor<128x64xf16> {
  ^bb0(%x: f32):
    %t = arith.truncf %x : f32 to f16
    tile.yield %t : f16
  }
  tile.store %out, %o[%b, %h, %row] : tensor<128x64xf16>, !view
  tile.return
}
