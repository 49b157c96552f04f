// RUN: flashc-opt %s --verify-roundtrip | FileCheck %s
//
// Each example of the ops' own texts, word for word.

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: warp.kernel @fwd(
warp.kernel @fwd(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 128 : i64, warps = 4 : i64} {
  warp.return
}

// CHECK-LABEL: warp.kernel @memory(
warp.kernel @memory(%view: !view, %lo: index, %hi: index) attributes {q_block = 128 : i64, warps = 4 : i64} {
  // CHECK: %[[B:.+]], %[[H:.+]], %[[I:.+]] = warp.program longest_first
  %b, %h, %i = warp.program longest_first
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  // CHECK: %[[BUF:.+]] = warp.alloc offset(16384) : !warp.buffer<128x64xf16, 64>
  %buf = warp.alloc offset(16384) : !warp.buffer<128x64xf16, 64>
  // CHECK: warp.copy_in %{{.+}}[%[[B]], %[[H]], %{{.+}}] to %[[BUF]]
  warp.copy_in %view[%b, %h, %row] to %buf : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, !warp.buffer<128x64xf16, 64>
  // CHECK: %[[KC:.+]] = warp.channel
  %kc = warp.channel %view[%b, %h] blocks(%lo to %hi) : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.channel<64x64xf16, 64, depth = 1>
  %c1 = arith.constant 1 : index
  scf.for %j = %lo to %hi step %c1 {
    // CHECK: warp.put %[[KC]][%{{.+}}]
    warp.put %kc[%j] : !warp.channel<64x64xf16, 64, depth = 1>
    // CHECK: warp.get %[[KC]][%{{.+}}] pending(0)
    %k = warp.get %kc[%j] pending(0) : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
  }
  // CHECK: warp.wait pending(1)
  warp.wait pending(1)
  // CHECK: %[[F:.+]] = warp.load %[[BUF]]
  %f = warp.load %buf : !warp.buffer<128x64xf16, 64> -> !warp.fragment<128x64xf16>
  // CHECK: warp.scan %[[BUF]]
  %bad = warp.scan %buf : !warp.buffer<128x64xf16, 64>
  %weights = warp.fill 1.0 : f16 -> !warp.fragment<64x128xf16>
  %sums = warp.fill 0.0 : f32 -> !warp.fragment<64x64xf32>
  // CHECK: warp.scrub %{{.+}}, %[[BUF]] acc(%{{.+}}) : !warp.fragment<64x128xf16>, !warp.buffer<128x64xf16, 64> -> !warp.fragment<64x64xf32>
  %clean = warp.scrub %weights, %buf acc(%sums) : !warp.fragment<64x128xf16>, !warp.buffer<128x64xf16, 64> -> !warp.fragment<64x64xf32>
  // CHECK: warp.store %[[F]] to %[[BUF]]
  warp.store %f to %buf : !warp.fragment<128x64xf16>, !warp.buffer<128x64xf16, 64>
  // CHECK: warp.barrier
  warp.barrier
  // CHECK: warp.copy_out %[[BUF]] to
  warp.copy_out %buf to %view[%b, %h, %row] : !warp.buffer<128x64xf16, 64>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  // CHECK: warp.return
  warp.return
}

// CHECK-LABEL: warp.kernel @limits(
warp.kernel @limits(%q: !view, %limit: index) attributes {q_block = 128 : i64, warps = 4 : i64} {
  // CHECK: warp.program{{$}}
  %b, %h, %i = warp.program
  // CHECK: warp.program descending
  %b1, %h1, %i1 = warp.program descending
  // CHECK: warp.alloc :
  %buf = warp.alloc : !warp.buffer<128x64xf16, 64>
  // CHECK: limit(%{{.+}}) to
  warp.copy_in %q[%b, %h, %i] limit(%limit) to %buf : !view, !warp.buffer<128x64xf16, 64>
  // CHECK: warp.channel {{.*}} limit(%{{.+}}) offset(128) : {{.*}} -> !warp.channel<64x96xf16, 32, depth = 3>
  %kc = warp.channel %q[%b, %h] blocks(%i to %i) limit(%limit) offset(128) : !view -> !warp.channel<64x96xf16, 32, depth = 3>
  // CHECK: warp.wait{{$}}
  warp.wait
  warp.return
}

// CHECK-LABEL: func.func @compute(
func.func @compute(%q: !warp.buffer<128x64xf16, 64>, %k: !warp.buffer<64x64xf16, 64>, %zero: !warp.fragment<128x64xf32>,
                   %i0: index, %j0: index, %parts: !warp.fragment<128xf32, partial>, %rows: !warp.fragment<128xi1>,
                   %view: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %b: index, %h: index, %row: index) {
  // CHECK: %[[M:.+]] = warp.fill 0xFF800000 : f32
  %m = warp.fill 0xFF800000 : f32 -> !warp.fragment<128xf32>
  // CHECK: %[[S:.+]] = warp.mma %{{.+}}, %{{.+}} acc(%{{.+}}) transpose_b
  %s = warp.mma %q, %k acc(%zero) transpose_b : !warp.buffer<128x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<128x64xf32>
  // CHECK: warp.map ins(%[[S]], %[[M]] : {{.*}}) at(%{{.+}}, %{{.+}}) -> !warp.fragment<128x64xf32>
  %r = warp.map ins(%s, %m : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>) at(%i0, %j0) -> !warp.fragment<128x64xf32> {
  ^bb0(%x: f32, %y: f32, %i: index, %j: index):
    %d = arith.subf %x, %y : f32
    warp.yield %d : f32
  }
  // CHECK: warp.reduce max %[[S]] init(%[[M]])
  %m1 = warp.reduce max %s init(%m) : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>
  // CHECK: %[[L:.+]] = warp.collect %{{.+}} : !warp.fragment<128xf32, partial> -> !warp.fragment<128xf32>
  %l = warp.collect %parts : !warp.fragment<128xf32, partial> -> !warp.fragment<128xf32>
  // CHECK: warp.any
  %c = warp.any %rows : !warp.fragment<128xi1>
  %lse = warp.map ins(%l : !warp.fragment<128xf32>) at(%i0) -> !warp.fragment<128xf32> {
  ^bb0(%x: f32, %i: index):
    warp.yield %x : f32
  }
  // CHECK: warp.store_rows
  warp.store_rows %lse to %view[%b, %h, %row] : !warp.fragment<128xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
  return
}

// CHECK-LABEL: warp.kernel @sums(
// CHECK-SAME:    grid = array<i64: 0, 0, 0, 1, 1, 2>
warp.kernel @sums(%sums: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>, %rows: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>,
                  %flat: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %sq: index) attributes {
    grid = array<i64: 0, 0, 0, 1, 1, 2>, q_block = 64 : i64, warps = 8 : i64} {
  %b, %h, %row = warp.program
  // CHECK: warp.load_values %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : {{.+}} -> !warp.fragment<1x64xf32, of 128>
  %lse = warp.load_values %rows[%b, %h, %row] : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> -> !warp.fragment<1x64xf32, of 128>
  // CHECK: %[[SUM:.+]] = warp.load_sums
  %sum = warp.load_sums %sums[%b, %h, %row] fragment_order : memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf32>
  // CHECK: warp.add_sums %[[SUM]] to %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] fragment_order
  warp.add_sums %sum to %sums[%b, %h, %row] fragment_order : !warp.fragment<64x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
  %x = warp.fill 0.000000e+00 : f32 -> !warp.fragment<128x64xf32>
  // CHECK: warp.map ins(%{{.+}}, %[[LSE:.+]] : !warp.fragment<128x64xf32>, !warp.fragment<1x64xf32, of 128>)
  %y = warp.map ins(%x, %lse : !warp.fragment<128x64xf32>, !warp.fragment<1x64xf32, of 128>) -> !warp.fragment<128x64xf32> {
  ^bb0(%u: f32, %v: f32):
    %w = arith.subf %u, %v : f32
    warp.yield %w : f32
  }
  // CHECK: warp.scatter add ins(%{{.+}} : !warp.fragment<128x64xf32>) at(%{{.+}}, %{{.+}}) to
  warp.scatter add ins(%x : !warp.fragment<128x64xf32>) at(%row, %b) to %flat : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {
  ^bb0(%v: f32, %j: index, %i: index):
    %inside = arith.cmpi slt, %i, %sq : index
    warp.yield %inside, %v, %b, %h, %j : i1, f32, index, index, index
  }
  // CHECK: %[[DS:.+]] = warp.alloc
  %ds = warp.alloc : !warp.buffer<128x64xf16, 64>
  %k = warp.alloc : !warp.buffer<128x64xf16, 64>
  // CHECK: warp.mma %[[DS]], %{{.+}} acc(%{{.+}}) transpose_a guarded :
  %dq = warp.mma %ds, %k acc(%sum) transpose_a guarded : !warp.buffer<128x64xf16, 64>, !warp.buffer<128x64xf16, 64> -> !warp.fragment<64x64xf32>
  warp.return
}

!rows = memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: warp.kernel @roles(
// CHECK-SAME:    groups = 2 : i64
// CHECK-SAME:    turns
warp.kernel @roles(%view: !rows, %row: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64, turns} {
  // CHECK: %[[QR:.+]] = warp.ring : !warp.ring<128x128xf16, 64, depth = 1, parts = 2>
  %qr = warp.ring : !warp.ring<128x128xf16, 64, depth = 1, parts = 2>
  // CHECK: %[[KR:.+]] = warp.ring offset(32768) barriers(212992) : !warp.ring<176x128xf16, 64, depth = 2>
  %kr = warp.ring offset(32768) barriers(212992) : !warp.ring<176x128xf16, 64, depth = 2>
  // CHECK: %[[BUF:.+]] = warp.alloc : !warp.buffer<128x128xf16, 64, parts = 2>
  %buf = warp.alloc : !warp.buffer<128x128xf16, 64, parts = 2>
  // CHECK: warp.role producer registers(32) {
  warp.role producer registers(32) {
    %stage = arith.constant 0 : i32
    %phase = arith.constant 0 : i32
    // CHECK: warp.tiles {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      // CHECK: warp.send %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] to %[[KR]] at(%[[S:.+]], %[[P:.+]]) :
      warp.send %view[%b, %h, %row] to %kr at(%stage, %phase) : memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>, !warp.ring<176x128xf16, 64, depth = 2>
      // CHECK: %[[S1:.+]], %[[P1:.+]] = warp.advance %[[S]], %[[P]] depth(2)
      %s1, %p1 = warp.advance %stage, %phase depth(2)
      // CHECK: warp.send %{{.+}} to %[[QR]] :
      warp.send %view[%b, %h, %row] to %qr : !rows, !warp.ring<128x128xf16, 64, depth = 1, parts = 2>
      // CHECK-NEXT: }
      warp.end_tile
    }
  }
  // CHECK: warp.role consumer registers(232) {
  warp.role consumer registers(232) {
    %zero = arith.constant 0 : i32
    %o = warp.fill 0.0 : f16 -> !warp.fragment<128x128xf16>
    // CHECK: warp.tiles longest_first inits(%{{.+}} : i32) -> i32 {
    // CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: index, %{{.+}}: index, %{{.+}}: i32):
    // CHECK-NEXT:   warp.end_tile %{{.+}} : i32
    %r = warp.tiles longest_first inits(%zero : i32) -> i32 {
    ^bb0(%b: index, %h: index, %i: index, %stage: i32):
      warp.end_tile %stage : i32
    }
    %r2:2 = warp.tiles inits(%zero, %zero : i32, i32) -> i32, i32 {
    ^bb0(%b: index, %h: index, %i: index, %stage: i32, %phase: i32):
      // CHECK: %[[Q:.+]] = warp.receive %[[QR]] :
      %q = warp.receive %qr : !warp.ring<128x128xf16, 64, depth = 1, parts = 2> -> !warp.buffer<128x128xf16, 64, parts = 2>
      // CHECK: %[[K:.+]] = warp.receive %[[KR]] at(%{{.+}}, %{{.+}}) :
      %k = warp.receive %kr at(%stage, %phase) : !warp.ring<176x128xf16, 64, depth = 2> -> !warp.buffer<176x128xf16, 64>
      // CHECK: warp.group{{$}}
      %g = warp.group
      // CHECK: warp.skip %[[KR]] at(%{{.+}}, %{{.+}}) :
      warp.skip %kr at(%stage, %phase) : !warp.ring<176x128xf16, 64, depth = 2>
      // CHECK: warp.await_turn
      warp.await_turn
      // CHECK: %[[SC:.+]] = warp.wgmma %[[Q]], %[[K]] transpose_b depth(128) :
      %s = warp.wgmma %q, %k transpose_b depth(128) : !warp.buffer<128x128xf16, 64, parts = 2>, !warp.buffer<176x128xf16, 64> -> !warp.fragment<128x176xf32>
      // CHECK: warp.pass_turn
      warp.pass_turn
      // CHECK: %[[SS:.+]] = warp.settle %[[SC]] pending(1) :
      %s1 = warp.settle %s pending(1) : !warp.fragment<128x176xf32>
      // CHECK: warp.wgmma %[[Q]], %[[K]] acc(%[[SS]] : !warp.fragment<128x176xf32>) transpose_b depth(64) :
      %t = warp.wgmma %q, %k acc(%s1 : !warp.fragment<128x176xf32>) transpose_b depth(64) : !warp.buffer<128x128xf16, 64, parts = 2>, !warp.buffer<176x128xf16, 64> -> !warp.fragment<128x176xf32>
      %t1 = warp.settle %t pending(0) : !warp.fragment<128x176xf32>
      // CHECK: %[[V:.+]] = warp.receive %[[KR]] :
      %v = warp.receive %kr : !warp.ring<176x128xf16, 64, depth = 2> -> !warp.buffer<176x128xf16, 64>
      %first = arith.constant 100 : index
      // CHECK: warp.clear_rows %[[V]] from %{{.+}} : !warp.buffer<176x128xf16, 64>
      warp.clear_rows %v from %first : !warp.buffer<176x128xf16, 64>
      // CHECK: warp.release %[[K]]
      warp.release %k : !warp.buffer<176x128xf16, 64>
      // CHECK: warp.emit %{{.+}} via %[[BUF]] to %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] :
      warp.emit %o via %buf to %view[%b, %h, %row] : !warp.fragment<128x128xf16>, !warp.buffer<128x128xf16, 64, parts = 2>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>
      warp.end_tile %stage, %phase : i32, i32
    }
  }
  warp.return
}

// CHECK-LABEL: func.func @alias(
func.func @alias(%q: !warp.buffer<128x192xf16, 64, parts = 2>) {
  // CHECK: warp.alias %{{.+}} : !warp.buffer<128x192xf16, 64, parts = 2> -> !warp.buffer<128x128xf16, 64, parts = 2>
  %ob = warp.alias %q : !warp.buffer<128x192xf16, 64, parts = 2> -> !warp.buffer<128x128xf16, 64, parts = 2>
  return
}

// CHECK-LABEL: warp.kernel @one_group(
warp.kernel @one_group(%q: !rows) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // CHECK: warp.role producer registers(24) {
  // CHECK-NEXT: }
  warp.role producer registers(24) {
  }
  warp.return
}

// CHECK-LABEL: warp.kernel @packed(
warp.kernel @packed(%sums: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %b, %h, %row = warp.program
  // CHECK: %[[SUM:.+]] = warp.load_sums %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] packed :
  %sum = warp.load_sums %sums[%b, %h, %row] packed : memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf32>
  // CHECK: warp.store_sums %[[SUM]] to %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] :
  warp.store_sums %sum to %sums[%b, %h, %row] : !warp.fragment<64x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
  warp.return
}

// CHECK-LABEL: warp.kernel @reducer(
warp.kernel @reducer(%view: !rows, %sums: memref<?x?x?x128xf32, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %h: index, %row: index,
                     %turns: memref<?x?x?xi32, strided<[?, ?, 1], offset: ?>>, %n: index, %some: i1)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  // CHECK: %[[DSR:.+]] = warp.ring : !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
  %dsr = warp.ring : !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
  // CHECK: warp.ring : !warp.ring<64x128xf16, 64, depth = 2, values = 64>
  %qr = warp.ring : !warp.ring<64x128xf16, 64, depth = 2, values = 64>
  // CHECK: %[[ROOM:.+]] = warp.staging offset(196608) : !warp.staging<64x64xf32, depth = 2>
  %room = warp.staging offset(196608) : !warp.staging<64x64xf32, depth = 2>
  %stage = arith.constant 0 : i32
  %phase = arith.constant 0 : i32
  // CHECK: warp.role reducer registers(72) {
  warp.role reducer registers(72) {
    %keys = warp.receive %dsr : !warp.ring<128x64xf16, 64, depth = 2, parts = 2> -> !warp.buffer<128x64xf16, 64, parts = 2>
    // CHECK: %[[DQ:.+]] = warp.wgmma %{{.+}}, %{{.+}} transpose_a depth(128) origin([0, 0]) :
    %dq = warp.wgmma %keys, %keys transpose_a depth(128) origin([0, 0]) : !warp.buffer<128x64xf16, 64, parts = 2>, !warp.buffer<128x64xf16, 64, parts = 2> -> !warp.fragment<64x64xf32>
    // CHECK: warp.stage_sums %[[DQ]] to %[[ROOM]] slot(0) :
    warp.stage_sums %dq to %room slot(0) : !warp.fragment<64x64xf32>, !warp.staging<64x64xf32, depth = 2>
    // CHECK: warp.begin_sums %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] number(%{{.+}}) follows(%{{.+}}) :
    warp.begin_sums %turns[%b, %h, %row] number(%n) follows(%some) : memref<?x?x?xi32, strided<[?, ?, 1], offset: ?>>
    // CHECK: warp.send_sums %[[ROOM]] slot(0) to %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] columns(0, 64) :
    warp.send_sums %room slot(0) to %sums[%b, %h, %row] columns(0, 64) : !warp.staging<64x64xf32, depth = 2>, memref<?x?x?x128xf32, strided<[?, ?, ?, 1], offset: ?>>
    // CHECK: warp.end_sums %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] number(%{{.+}}) :
    warp.end_sums %turns[%b, %h, %row] number(%n) : memref<?x?x?xi32, strided<[?, ?, 1], offset: ?>>
  }
  warp.role consumer registers(216) {
    // CHECK: warp.read_values %{{.+}} : !warp.buffer<64x128xf16, 64> -> !warp.fragment<1x64xf32, of 128>
    %rows = warp.receive %qr : !warp.ring<64x128xf16, 64, depth = 2, values = 64> -> !warp.buffer<64x128xf16, 64>
    %lse = warp.read_values %rows : !warp.buffer<64x128xf16, 64> -> !warp.fragment<1x64xf32, of 128>
    // CHECK: %[[DS:.+]] = warp.acquire %[[DSR]] at(%{{.+}}, %{{.+}}) : !warp.ring<128x64xf16, 64, depth = 2, parts = 2> ->
    %ds = warp.acquire %dsr at(%stage, %phase) : !warp.ring<128x64xf16, 64, depth = 2, parts = 2> -> !warp.buffer<128x64xf16, 64, parts = 2>
    // CHECK: warp.commit %[[DS]] : !warp.buffer<128x64xf16, 64, parts = 2>
    warp.commit %ds : !warp.buffer<128x64xf16, 64, parts = 2>
  }
  warp.return
}

// CHECK-LABEL: warp.kernel @of_groups(
warp.kernel @of_groups(%view: memref<?x?x?x256xf16, strided<[?, ?, ?, 1], offset: ?>>, %sums: memref<?x?x?x256xf32, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %h: index, %row: index)
    attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  // CHECK: %[[KR:.+]] = warp.ring : !warp.ring<64x256xf16, 64, depth = 1>
  %kr = warp.ring : !warp.ring<64x256xf16, 64, depth = 1>
  %dsr = warp.ring : !warp.ring<64x64xf16, 64, depth = 2>
  warp.role reducer registers(72) {
    %k = warp.receive %kr : !warp.ring<64x256xf16, 64, depth = 1> -> !warp.buffer<64x256xf16, 64>
    %ds = warp.receive %dsr : !warp.ring<64x64xf16, 64, depth = 2> -> !warp.buffer<64x64xf16, 64>
    %dq = warp.wgmma %ds, %k transpose_a depth(64) origin([0, 64]) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x256xf16, 64> -> !warp.fragment<64x64xf32>
    // CHECK: warp.add_packed %{{.+}} to %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] first(64) :
    warp.add_packed %dq to %sums[%b, %h, %row] first(64) : !warp.fragment<64x64xf32>, memref<?x?x?x256xf32, strided<[?, ?, ?, 1], offset: ?>>
  }
  // CHECK: warp.role consumer group(0) registers(216) {
  warp.role consumer group(0) registers(216) {
    %ds = warp.acquire %dsr : !warp.ring<64x64xf16, 64, depth = 2> -> !warp.buffer<64x64xf16, 64>
    warp.commit %ds : !warp.buffer<64x64xf16, 64>
  }
  // CHECK: warp.role consumer group(1) registers(216) {
  warp.role consumer group(1) registers(216) {
    // CHECK: warp.reclaim %[[KR]] : !warp.ring<64x256xf16, 64, depth = 1> -> !warp.buffer<64x256xf16, 64>
    %room = warp.reclaim %kr : !warp.ring<64x256xf16, 64, depth = 1> -> !warp.buffer<64x256xf16, 64>
  }
  warp.return
}

// CHECK-LABEL: warp.kernel @packed_sums(
warp.kernel @packed_sums(%sums: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %b, %h, %row = warp.program
  // CHECK: warp.load_sums %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] packed :
  %sum = warp.load_sums %sums[%b, %h, %row] packed : memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf32>
  warp.return
}

// CHECK-LABEL: func.func @fetches(
func.func @fetches(%view: !rows, %b: index, %h: index, %row: index, %limit: index, %zero: !warp.fragment<128x16xf32>,
                   %p: !warp.fragment<128x16xf16>, %acc: !warp.fragment<128x128xf32>) {
  // CHECK: %[[Q:.+]] = warp.fetch %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] :
  %q = warp.fetch %view[%b, %h, %row] : memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<128x128xf16>
  // CHECK: warp.mma_fetch %[[Q]], %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] acc(%{{.+}}) transpose_b :
  %s = warp.mma_fetch %q, %view[%b, %h, %row] acc(%zero) transpose_b : !warp.fragment<128x128xf16>, memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<128x16xf32>
  // CHECK: warp.fetch %{{.+}} limit(%{{.+}}) :
  %q1 = warp.fetch %view[%b, %h, %row] limit(%limit) : !rows -> !warp.fragment<128x128xf16>
  // CHECK: warp.mma_fetch %{{.+}} limit(%{{.+}}) acc(%{{.+}}) guarded :
  %o = warp.mma_fetch %p, %view[%b, %h, %row] limit(%limit) acc(%acc) guarded : !warp.fragment<128x16xf16>, !rows -> !warp.fragment<128x128xf32>
  return
}

// CHECK-LABEL: func.func @votes(
func.func @votes(%s: !warp.fragment<128x64xf32>, %limits: !warp.fragment<128xf32>, %o: !warp.fragment<128x64xf32>) -> i1 {
  // CHECK: %[[A:.+]] = warp.any_above %{{.+}}, %{{.+}} : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>
  %c = warp.any_above %s, %limits : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>
  // CHECK: warp.any_above %{{.+}}, %{{.+}} floor(-5.000000e-01) : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>
  %d = warp.any_above %s, %limits floor(-0.5) : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>
  return %c : i1
}

// CHECK-LABEL: func.func @finite(
func.func @finite(%o: !warp.fragment<128x64xf32>) -> i1 {
  // CHECK: warp.any_not_finite %{{.+}} : !warp.fragment<128x64xf32>
  %c = warp.any_not_finite %o : !warp.fragment<128x64xf32>
  return %c : i1
}
