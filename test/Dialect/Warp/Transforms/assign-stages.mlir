// RUN: flashc-opt %s --warp-assign-stages --split-input-file --verify-diagnostics | FileCheck %s

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>

// A loop carries its ring's state behind what it carried before, from tile to tile as well; each role has its own.
// CHECK-LABEL: warp.kernel @both_roles(
warp.kernel @both_roles(%q: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %c1 = arith.constant 1 : index
  // CHECK: %[[KR:.+]] = warp.ring
  %kr = warp.ring : !two
  // CHECK: warp.role producer
  warp.role producer registers(24) {
    // CHECK-NEXT: %[[Z:.+]] = arith.constant 0 : i32
    // CHECK-NEXT: warp.tiles longest_first inits(%[[Z]], %[[Z]] : i32, i32) -> i32, i32 {
    // CHECK-NEXT: ^bb0(%[[B:.+]]: index, %[[H:.+]]: index, %{{.+}}: index, %[[TS:.+]]: i32, %[[TP:.+]]: i32):
    warp.tiles longest_first {
    ^bb0(%b: index, %h: index, %i: index):
      // CHECK-NEXT: %[[R:.+]]:2 = scf.for %[[J:.+]] = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[S:.+]] = %[[TS]], %[[P:.+]] = %[[TP]]) -> (i32, i32) {
      scf.for %j = %lo to %hi step %c1 {
        // CHECK-NEXT: warp.send %{{.+}}[%[[B]], %[[H]], %[[J]]] to %[[KR]] at(%[[S]], %[[P]])
        warp.send %q[%b, %h, %j] to %kr : !view, !two
        // CHECK-NEXT: %[[S1:.+]], %[[P1:.+]] = warp.advance %[[S]], %[[P]] depth(2)
        // CHECK-NEXT: scf.yield %[[S1]], %[[P1]] : i32, i32
      }
      // CHECK: warp.end_tile %[[R]]#0, %[[R]]#1 : i32, i32
      warp.end_tile
    }
  }
  // CHECK: warp.role consumer
  warp.role consumer registers(240) {
    // CHECK-NEXT: %[[Y:.+]] = arith.constant 0 : i32
    // CHECK: warp.tiles inits(%{{.+}}, %[[Y]], %[[Y]] : index, i32, i32) -> index, i32, i32 {
    // CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: index, %{{.+}}: index, %[[N:.+]]: index, %[[TS:.+]]: i32, %[[TP:.+]]: i32):
    %n = arith.constant 5 : index
    %t = warp.tiles inits(%n : index) -> index {
    ^bb0(%b: index, %h: index, %i: index, %n0: index):
      // CHECK-NEXT: %[[R:.+]]:3 = scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[X:.+]] = %[[N]], %[[S:.+]] = %[[TS]], %[[P:.+]] = %[[TP]]) -> (index, i32, i32) {
      %m = scf.for %j = %lo to %hi step %c1 iter_args(%x = %n0) -> (index) {
        // CHECK-NEXT: warp.receive %[[KR]] at(%[[S]], %[[P]]) : {{.*}} -> !warp.buffer<64x64xf16, 64>
        // CHECK-NEXT: %[[S1:.+]], %[[P1:.+]] = warp.advance %[[S]], %[[P]] depth(2)
        %k = warp.receive %kr : !two -> !slot
        // CHECK-NEXT: %[[Y:.+]] = arith.addi %[[X]]
        %y = arith.addi %x, %c1 : index
        // CHECK-NEXT: scf.yield %[[Y]], %[[S1]], %[[P1]] : index, i32, i32
        scf.yield %y : index
      }
      // CHECK: warp.end_tile %[[R]]#0, %[[R]]#1, %[[R]]#2 : index, i32, i32
      warp.end_tile %m : index
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!three = !warp.ring<64x64xf16, 64, depth = 3>

// The third use of a ring goes on where a loop inside a loop left it; a ring that a loop does not use is not carried by it, and a loop
// that uses none stays as it is.
// CHECK-LABEL: warp.kernel @in_program_order(
warp.kernel @in_program_order(%q: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %c1 = arith.constant 1 : index
  // CHECK: %[[QR:.+]] = warp.ring
  // CHECK-NEXT: %[[KR:.+]] = warp.ring
  %qr = warp.ring : !one
  %kr = warp.ring : !three
  warp.role producer registers(24) {
    // CHECK: warp.tiles inits(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : i32, i32, i32, i32)
    // CHECK-NEXT: ^bb0({{.*}}, %[[QS:[^ ]+]]: i32, %[[QP:[^ ]+]]: i32, %[[S0:[^ ]+]]: i32, %[[P0:[^ ]+]]: i32):
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      // CHECK: warp.send {{.*}} to %[[QR]] at(%[[QS]], %[[QP]])
      // CHECK-NEXT: %[[QS1:.+]], %[[QP1:.+]] = warp.advance %[[QS]], %[[QP]] depth(1)
      warp.send %q[%b, %h, %i] to %qr : !view, !one
      // CHECK: warp.send {{.*}} to %[[KR]] at(%[[S0]], %[[P0]])
      // CHECK-NEXT: %[[S1:.+]], %[[P1:.+]] = warp.advance %[[S0]], %[[P0]] depth(3)
      warp.send %q[%b, %h, %lo] to %kr : !view, !three
      // CHECK: %[[O:.+]]:2 = scf.for {{.*}} iter_args(%[[OS:.+]] = %[[S1]], %[[OP:.+]] = %[[P1]])
      scf.for %i0 = %lo to %hi step %c1 {
        // CHECK: %[[N:.+]]:2 = scf.for {{.*}} iter_args(%{{.+}} = %[[OS]], %{{.+}} = %[[OP]])
        scf.for %j = %lo to %hi step %c1 {
          warp.send %q[%b, %h, %j] to %kr : !view, !three
        }
        // CHECK: scf.yield %[[N]]#0, %[[N]]#1
      }
      // CHECK: scf.for %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} step %{{[^ ]+}} {
      scf.for %j = %lo to %hi step %c1 {
        %unused = arith.addi %j, %c1 : index
      }
      // CHECK: warp.send {{.*}} to %[[KR]] at(%[[O]]#0, %[[O]]#1)
      // CHECK-NEXT: %[[S2:.+]], %[[P2:.+]] = warp.advance %[[O]]#0, %[[O]]#1 depth(3)
      warp.send %q[%b, %h, %hi] to %kr : !view, !three
      // CHECK: warp.end_tile %[[QS1]], %[[QP1]], %[[S2]], %[[P2]]
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: warp.kernel @no_rings(
warp.kernel @no_rings(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // CHECK-NEXT: warp.role producer registers(24) {
  // CHECK-NEXT: warp.tiles {
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: }
  warp.role producer registers(24) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>

warp.kernel @branch(%q: !view, %some: i1) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %kr = warp.ring : !two
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      // expected-error @+1 {{'scf.if' op takes slots of a ring in one of its branches, but the slots' order has to be the same whichever is taken; move the send or receive out of it}}
      scf.if %some {
        %k = warp.receive %kr : !two -> !warp.buffer<64x64xf16, 64>
      }
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>

// A send of a block that may not be there takes the slot in its turn; the ring goes on behind the branch, whichever is taken. What a
// reducer reads of a ring that it fills has a count of its own.
// CHECK-LABEL: warp.kernel @ahead(
warp.kernel @ahead(%q: !view, %n: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %c0 = arith.constant 0 : index
  %kr = warp.ring : !two
  warp.role reducer registers(72) {
    // CHECK: %[[Z:.+]] = arith.constant 0 : i32
    // CHECK: warp.send {{.+}} at(%[[Z]], %[[Z]])
    warp.send %q[%c0, %c0, %c0] to %kr : !view, !two
    // CHECK-NEXT: %[[S1:.+]], %[[P1:.+]] = warp.advance %[[Z]], %[[Z]]
    %more = arith.cmpi sgt, %n, %c0 : index
    // CHECK: scf.if
    // CHECK-NEXT: warp.send {{.+}} at(%[[S1]], %[[P1]])
    // CHECK-NEXT: }
    scf.if %more {
      warp.send %q[%c0, %c0, %c0] to %kr : !view, !two
    }
    // CHECK-NEXT: warp.advance %[[S1]], %[[P1]] depth(2)
    // CHECK-NEXT: warp.receive {{.+}} at(%[[Z]], %[[Z]])
    %k = warp.receive %kr : !two -> !warp.buffer<64x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>
!three = !warp.ring<64x64xf16, 64, depth = 3>

// Rings of one depth that a loop takes a slot each of go round together: one carries the state of both, of depth 2 also where the other is
// some slots ahead. Of depth 3 that would take more than it saves.
// CHECK-LABEL: warp.kernel @together(
warp.kernel @together(%q: !view, %n: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = warp.ring : !two
  %b = warp.ring : !two
  %c = warp.ring : !three
  %d = warp.ring : !three
  %e = warp.ring : !three
  warp.role reducer registers(72) {
    // CHECK: %[[Z:.+]] = arith.constant 0 : i32
    // CHECK: warp.send {{.+}} at(%[[Z]], %[[Z]])
    // CHECK-NEXT: %[[B1:.+]], %[[BP1:.+]] = warp.advance %[[Z]], %[[Z]] depth(2)
    warp.send %q[%c0, %c0, %c0] to %b : !view, !two
    // CHECK-NEXT: warp.send {{.+}} at(%[[Z]], %[[Z]])
    // CHECK-NEXT: %[[E1:.+]], %[[EP1:.+]] = warp.advance %[[Z]], %[[Z]] depth(3)
    warp.send %q[%c0, %c0, %c0] to %e : !view, !three
    // CHECK-NEXT: scf.for {{.*}} iter_args(%[[A:.+]] = %[[Z]], %[[AP:.+]] = %[[Z]], %[[C:.+]] = %[[Z]], %[[CP:.+]] = %[[Z]], %[[E:.+]] = %[[E1]], %[[EP:.+]] = %[[EP1]])
    scf.for %i = %c0 to %n step %c1 {
      // CHECK-NEXT: %[[B:.+]], %[[BP:.+]] = warp.advance %[[A]], %[[AP]] depth(2)
      // CHECK-NEXT: warp.send {{.+}} at(%[[A]], %[[AP]])
      // CHECK-NEXT: %[[A2:.+]], %[[AP2:.+]] = warp.advance %[[A]], %[[AP]] depth(2)
      warp.send %q[%c0, %c0, %i] to %a : !view, !two
      // CHECK-NEXT: warp.send {{.+}} at(%[[B]], %[[BP]])
      // CHECK-NEXT: warp.advance %[[B]], %[[BP]] depth(2)
      warp.send %q[%c0, %c0, %i] to %b : !view, !two
      // CHECK-NEXT: warp.send {{.+}} at(%[[C]], %[[CP]])
      // CHECK-NEXT: %[[C2:.+]], %[[CP2:.+]] = warp.advance %[[C]], %[[CP]] depth(3)
      warp.send %q[%c0, %c0, %i] to %c : !view, !three
      // CHECK-NEXT: warp.send {{.+}} at(%[[C]], %[[CP]])
      // CHECK-NEXT: warp.advance %[[C]], %[[CP]] depth(3)
      warp.send %q[%c0, %c0, %i] to %d : !view, !three
      // CHECK-NEXT: warp.send {{.+}} at(%[[E]], %[[EP]])
      // CHECK-NEXT: %[[E2:.+]], %[[EP2:.+]] = warp.advance %[[E]], %[[EP]] depth(3)
      warp.send %q[%c0, %c0, %i] to %e : !view, !three
      // CHECK-NEXT: scf.yield %[[A2]], %[[AP2]], %[[C2]], %[[CP2]], %[[E2]], %[[EP2]]
    }
  }
  warp.return
}
