// RUN: flashc-opt %s --convert-attn-to-tile=tiles=64x32 --canonicalize --cse --split-input-file | FileCheck %s

// Layout bshd: the views are (batch, head, length, head dim). D = 40 is padded
// to 48 and Dv = 24 to 32. Four query heads share a key head.
// CHECK:       #[[SET:.+]] = affine_set<(d0, d1)[s0, s1] : (-d1 + s1 - 1 >= 0)>
// CHECK-LABEL: tile.kernel @plain(
// CHECK-SAME:    %[[Q:.+]]: memref<?x32x?x40xf16, strided<[?, ?, ?, 1], offset: ?>>, %[[K:.+]]: memref<?x8x?x40xf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME:    %[[V:.+]]: memref<?x8x?x24xf16, strided<[?, ?, ?, 1], offset: ?>>, %[[O:.+]]: memref<?x32x?x24xf16, strided<[?, ?, ?, 1], offset: ?>> {tile.output},
// CHECK-SAME:    %[[LSE:.+]]: memref<?x32x?xf32, strided<[?, ?, 1], offset: ?>> {tile.output})
// CHECK-SAME:    schedule = #tile.schedule<q = 64, kv = 32
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : index
// CHECK-DAG:     %[[C31:.+]] = arith.constant 31 : index
// CHECK-DAG:     %[[C32:.+]] = arith.constant 32 : index
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK-DAG:     %[[ACC0:.+]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
// CHECK-DAG:     %[[M0:.+]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK-DAG:     %[[L0:.+]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK:         %[[B:.+]], %[[H:.+]], %[[I:.+]] = tile.program{{$}}
// CHECK:         %[[I0:.+]] = arith.muli %[[I]], %[[C64]]
// CHECK:         %[[HK:.+]] = arith.divui %[[H]], %[[C4]]
// CHECK:         %[[SQ:.+]] = memref.dim %[[Q]]
// CHECK:         %[[SK:.+]] = memref.dim %[[K]]
// CHECK:         %[[QT:.+]] = tile.load %[[Q]][%[[B]], %[[H]], %[[I0]]] : {{.*}} -> tensor<64x48xf16>
// CHECK:         %[[UP:.+]] = arith.addi %[[SK]], %[[C31]]
// CHECK:         %[[N:.+]] = arith.divui %[[UP]], %[[C32]]
// CHECK:         %[[R:.+]]:3 = scf.for %[[J:.+]] = %[[C0]] to %[[N]] step %{{.+}} iter_args(%[[ACC:.+]] = %[[ACC0]], %[[M:.+]] = %[[M0]], %[[L:.+]] = %[[L0]])
// CHECK:           %[[J0:.+]] = arith.muli %[[J]], %[[C32]]
// CHECK:           %[[KT:.+]] = tile.load %[[K]][%[[B]], %[[HK]], %[[J0]]] : {{.*}} -> tensor<32x48xf16>
// CHECK:           %[[S:.+]] = tile.dot %[[QT]], %[[KT]] acc(%{{.+}}) transpose_b
// CHECK:           %[[SM:.+]] = tile.mask %[[S]] at(%[[I0]], %[[J0]]) symbols(%[[SQ]], %[[SK]]) sets([#[[SET]]])
// CHECK:           %[[P:[^,]+]], %[[M1:[^,]+]], %[[L1:[^,]+]], %[[ALPHA:[^,]+]] = tile.softmax_update %[[SM]], %[[M]], %[[L]] base(e) scale(0.158113882)
// CHECK:           %[[ACC1:.+]] = tile.rescale %[[ACC]] by %[[ALPHA]]
// CHECK:           %[[P16:.+]] = tile.map ins(%[[P]] : tensor<64x32xf32>) -> tensor<64x32xf16>
// CHECK:             arith.truncf
// CHECK:           %[[VT:.+]] = tile.load %[[V]][%[[B]], %[[HK]], %[[J0]]] : {{.*}} -> tensor<32x32xf16>
// CHECK:           %[[ACC2:.+]] = tile.dot %[[P16]], %[[VT]] acc(%[[ACC1]])
// CHECK:           scf.yield %[[ACC2]], %[[M1]], %[[L1]]
// CHECK:         %[[OT:[^,]+]], %[[LT:[^,]+]] = tile.finish %[[R]]#0, %[[R]]#1, %[[R]]#2 base(e) scale(0.158113882)
// CHECK:         %[[O16:.+]] = tile.map ins(%[[OT]]
// CHECK:         tile.store %[[O16]], %[[O]][%[[B]], %[[H]], %[[I0]]]
// CHECK:         tile.store %[[LT]], %[[LSE]][%[[B]], %[[H]], %[[I0]]]
// CHECK:         tile.return
func.func @plain(%q: tensor<?x?x32x40xf16>, %k: tensor<?x?x8x40xf16>, %v: tensor<?x?x8x24xf16>) -> (tensor<?x?x32x24xf16>, tensor<?x32x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v : tensor<?x?x32x40xf16>, tensor<?x?x8x40xf16>, tensor<?x?x8x24xf16> -> (tensor<?x?x32x24xf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x?x32x24xf16>, tensor<?x32x?xf32>
}

// -----

// Layout bhsd, as many key heads as query heads (no division), no LSE, causal
// (long blocks first), key lengths kept inside 0 .. Sk.
// CHECK:       affine_set<(d0, d1)[s0, s1] : (d0 - d1 - s0 + s1 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK-LABEL: tile.kernel @lengths(
// CHECK-SAME:    %[[Q:.+]]: memref<2x4x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %[[K:[^:]+]]: memref<2x4x?x64xf16, strided<{{[^>]+}}>>, %[[V:[^:]+]]: memref<2x4x?x64xf16, strided<{{[^>]+}}>>,
// CHECK-SAME:    %[[LEN:[^:]+]]: memref<2xi32>, %[[O:[^:]+]]: memref<2x4x?x64xf16, strided<{{[^>]+}}>> {tile.output})
// CHECK:         %[[B:.+]], %[[H:.+]], %{{.+}} = tile.program longest_first
// CHECK-NOT:     arith.divui %[[H]]
// CHECK:         %[[SK:.+]] = memref.dim %[[K]]
// CHECK:         %[[RAW:.+]] = memref.load %[[LEN]][%[[B]]]
// CHECK:         %[[IDX:.+]] = arith.index_cast %[[RAW]]
// CHECK:         %[[LOW:.+]] = arith.maxsi %[[IDX]]
// CHECK:         %[[N:.+]] = arith.minsi %[[LOW]], %[[SK]]
// CHECK:         tile.load %[[K]][%[[B]], %[[H]], %{{.+}}] limit(%[[N]])
// CHECK:         tile.mask %{{.+}} symbols(%{{.+}}, %[[N]])
// CHECK:         tile.load %[[V]][%[[B]], %[[H]], %{{.+}}] limit(%[[N]])
func.func @lengths(%q: tensor<2x4x?x64xf16>, %k: tensor<2x4x?x64xf16>, %v: tensor<2x4x?x64xf16>, %n: tensor<2xi32>) -> tensor<2x4x?x64xf16> {
  %o, %lse = attn.forward %q, %k, %v kv_lengths(%n : tensor<2xi32>) mask(#attn.causal) layout(bhsd)
      : tensor<2x4x?x64xf16>, tensor<2x4x?x64xf16>, tensor<2x4x?x64xf16> -> (tensor<2x4x?x64xf16>, tensor<2x4x?xf32>)
  return %o : tensor<2x4x?x64xf16>
}

// -----

// Unknown head counts: the group is divided out when run. One key head: head 0.
// CHECK-LABEL: tile.kernel @groups(
// CHECK:         %[[H:.+]], %{{.+}} = tile.program
// CHECK:         %[[HQ:.+]] = memref.dim %arg0
// CHECK:         %[[HKV:.+]] = memref.dim %arg1
// CHECK:         %[[G:.+]] = arith.divui %[[HQ]], %[[HKV]]
// CHECK:         arith.divui %{{.+}}, %[[G]]
func.func @groups(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16> {
  %o, %lse = attn.forward %q, %k, %v : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o : tensor<?x?x?x64xf16>
}

// -----

// CHECK-LABEL: tile.kernel @one_key_head(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK:         %[[B:.+]], %{{.+}}, %{{.+}} = tile.program
// CHECK:         tile.load %arg1[%[[B]], %[[C0]], %{{.+}}]
func.func @one_key_head(%q: tensor<?x?x8x64xf16>, %k: tensor<?x?x1x64xf16>, %v: tensor<?x?x1x64xf16>) -> tensor<?x?x8x64xf16> {
  %o, %lse = attn.forward %q, %k, %v : tensor<?x?x8x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16> -> (tensor<?x?x8x64xf16>, tensor<?x8x?xf32>)
  return %o : tensor<?x?x8x64xf16>
}

// -----

// A score function: the scale is multiplied first, its ops follow with captured
// tensors as loads, and the softmax has scale 1.
// CHECK-LABEL: tile.kernel @alibi(
// CHECK-SAME:    %[[SLOPES:[^:]+]]: memref<32xf32>, %{{.+}}: memref<?x32x?x64xf16, strided<{{[^>]+}}>> {tile.output})
// CHECK-DAG:     %[[C:.+]] = arith.constant 1.250000e-01 : f32
// CHECK:         %[[H:.+]], %{{.+}} = tile.program
// CHECK:         %[[S:.+]] = tile.dot
// CHECK:         %[[X:.+]] = tile.map ins(%[[S]] : tensor<64x32xf32>) at(%{{.+}}, %{{.+}}) -> tensor<64x32xf32> {
// CHECK-NEXT:    ^bb0(%[[E:.+]]: f32, %[[I:.+]]: index, %[[J:.+]]: index):
// CHECK:           %[[SCALED:.+]] = arith.mulf %[[E]], %[[C]]
// CHECK:           %[[SLOPE:.+]] = memref.load %[[SLOPES]][%{{.+}}]
// CHECK:           %[[BIAS:.+]] = arith.mulf %[[SLOPE]]
// CHECK:           %[[Y:.+]] = arith.addf %[[SCALED]], %[[BIAS]]
// CHECK:           tile.yield %[[Y]]
// CHECK:         %[[XM:.+]] = tile.mask %[[X]]
// CHECK:         tile.softmax_update %[[XM]], %{{.+}}, %{{.+}} base(e) scale(1.000000e+00)
// CHECK:         tile.finish {{.+}} scale(1.000000e+00)
func.func @alibi(%q: tensor<?x32x?x64xf16>, %k: tensor<?x32x?x64xf16>, %v: tensor<?x32x?x64xf16>, %slopes: tensor<32xf32>) -> tensor<?x32x?x64xf16> {
  %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<32xf32>) layout(bhsd)
      : tensor<?x32x?x64xf16>, tensor<?x32x?x64xf16>, tensor<?x32x?x64xf16> -> (tensor<?x32x?x64xf16>, tensor<?x32x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<32xf32>):
    %slope = tensor.extract %m[%h] : tensor<32xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %bias = arith.mulf %slope, %df : f32
    %r = arith.addf %s, %bias : f32
    attn.yield %r : f32
  }
  return %o : tensor<?x32x?x64xf16>
}

// -----

// Of a sum the scale is taken out, so that the softmax has it: scale * (s + (slope / scale) * x).
// CHECK-LABEL: tile.kernel @sum(
// CHECK-DAG:     %[[C:.+]] = arith.constant 8.000000e+00 : f32
// CHECK:         tile.map ins(
// CHECK-NEXT:    ^bb0(%[[E:.+]]: f32, %{{.+}}: index, %{{.+}}: index):
// CHECK:           %[[SLOPE:.+]] = memref.load
// CHECK:           %[[D:.+]] = arith.sitofp
// CHECK-NEXT:      %[[K:.+]] = arith.mulf %[[SLOPE]], %[[C]] : f32
// CHECK-NEXT:      %[[Y:.+]] = math.fma %[[K]], %[[D]], %[[E]] : f32
// CHECK-NEXT:      tile.yield %[[Y]]
// CHECK:         tile.softmax_update {{.+}} base(e) scale(1.250000e-01)
// CHECK:         tile.finish {{.+}} scale(1.250000e-01)
func.func @sum(%q: tensor<?x32x?x64xf16>, %k: tensor<?x32x?x64xf16>, %v: tensor<?x32x?x64xf16>, %slopes: tensor<32xf32>) -> tensor<?x32x?x64xf16> {
  %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<32xf32>) layout(bhsd)
      : tensor<?x32x?x64xf16>, tensor<?x32x?x64xf16>, tensor<?x32x?x64xf16> -> (tensor<?x32x?x64xf16>, tensor<?x32x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<32xf32>):
    %slope = tensor.extract %m[%h] : tensor<32xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %r = math.fma %slope, %df, %s : f32
    attn.yield %r : f32
  }
  return %o : tensor<?x32x?x64xf16>
}

// -----

// A function without attention stays.
// CHECK-LABEL: func.func @other(
func.func @other(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}
