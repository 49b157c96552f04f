// RUN: flashc-opt %s --tile-drop-guards | FileCheck %s

#plain = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536>
#roles = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>

// CHECK-LABEL: tile.kernel @roles(
// CHECK:         tile.dot %{{.+}}, %{{.+}} acc(%{{.+}}) : tensor<64x64xf16>
tile.kernel @roles(%q: memref<?x?x?x64xf16>) attributes {schedule = #roles} {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<64x64xf32>
  %b, %h, %i = tile.program
  %t = tile.load %q[%b, %h, %c0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %r = tile.dot %t, %t acc(%a) guarded : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @plain(
// CHECK:         tile.dot %{{.+}}, %{{.+}} acc(%{{.+}}) guarded : tensor<64x64xf16>
tile.kernel @plain(%q: memref<?x?x?x64xf16>) attributes {schedule = #plain} {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<64x64xf32>
  %b, %h, %i = tile.program
  %t = tile.load %q[%b, %h, %c0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %r = tile.dot %t, %t acc(%a) guarded : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  tile.return
}
