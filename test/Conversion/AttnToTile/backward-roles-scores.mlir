// RUN: flashc-opt %s --convert-attn-to-tile="arch=sm_90a" --split-input-file | FileCheck %s
//
// Which gradient regions leave a kernel its roles: those that yield a multiple of dx.

// CHECK-LABEL: tile.kernel @multiple(
// CHECK-SAME:    roles = <groups = 2, producer = 56
!q = tensor<?x?x2x64xf16>
func.func @multiple(%q: !q, %lse: tensor<?x2x?xf32>) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, tensor<?x2x?xf32>, !q -> (!q, !q, !q) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %r = arith.mulf %s, %s : f32
    attn.yield %r : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    %m = arith.divf %dx, %s : f32
    %n = arith.negf %m : f32
    %ds = math.fma %s, %dx, %n : f32
    attn.yield %ds : f32
  }
  return %dq, %dk, %dv : !q, !q, !q
}

// -----

// CHECK-LABEL: tile.kernel @chosen(
// CHECK-SAME:    roles = <groups = 2
!q = tensor<?x?x2x64xf16>
func.func @chosen(%q: !q, %lse: tensor<?x2x?xf32>) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, tensor<?x2x?xf32>, !q -> (!q, !q, !q) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %r = arith.mulf %s, %s : f32
    attn.yield %r : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    %z = arith.constant 0.0 : f32
    %c = arith.cmpf ogt, %s, %z : f32
    %ds = arith.select %c, %dx, %z : f32
    attn.yield %ds : f32
  }
  return %dq, %dk, %dv : !q, !q, !q
}

// -----

// CHECK-LABEL: tile.kernel @square(
// CHECK-NOT:     roles =
// CHECK:         tile.program
!q = tensor<?x?x2x64xf16>
func.func @square(%q: !q, %lse: tensor<?x2x?xf32>) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, tensor<?x2x?xf32>, !q -> (!q, !q, !q) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %r = arith.mulf %s, %s : f32
    attn.yield %r : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    %ds = arith.mulf %dx, %dx : f32
    attn.yield %ds : f32
  }
  return %dq, %dk, %dv : !q, !q, !q
}

// -----

// CHECK-LABEL: tile.kernel @shifted(
// CHECK-NOT:     roles =
// CHECK:         tile.program
!q = tensor<?x?x2x64xf16>
func.func @shifted(%q: !q, %lse: tensor<?x2x?xf32>) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, tensor<?x2x?xf32>, !q -> (!q, !q, !q) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %r = arith.mulf %s, %s : f32
    attn.yield %r : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    %ds = arith.addf %dx, %s : f32
    attn.yield %ds : f32
  }
  return %dq, %dk, %dv : !q, !q, !q
}

// -----

// CHECK-LABEL: tile.kernel @below(
// CHECK-NOT:     roles =
// CHECK:         tile.program
!q = tensor<?x?x2x64xf16>
func.func @below(%q: !q, %lse: tensor<?x2x?xf32>) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, tensor<?x2x?xf32>, !q -> (!q, !q, !q) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %r = arith.mulf %s, %s : f32
    attn.yield %r : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    %ds = arith.divf %s, %dx : f32
    attn.yield %ds : f32
  }
  return %dq, %dk, %dv : !q, !q, !q
}

// -----

// CHECK-LABEL: tile.kernel @by_sign(
// CHECK-NOT:     roles =
// CHECK:         tile.program
!q = tensor<?x?x2x64xf16>
func.func @by_sign(%q: !q, %lse: tensor<?x2x?xf32>) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, tensor<?x2x?xf32>, !q -> (!q, !q, !q) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %r = arith.mulf %s, %s : f32
    attn.yield %r : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    %z = arith.constant 0.0 : f32
    %c = arith.cmpf ogt, %dx, %z : f32
    %ds = arith.select %c, %dx, %z : f32
    attn.yield %ds : f32
  }
  return %dq, %dk, %dv : !q, !q, !q
}
