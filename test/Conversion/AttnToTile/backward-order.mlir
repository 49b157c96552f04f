// RUN: flashc --backward --head-dim=64 --mask=none --arch=sm_90a --emit=tile | FileCheck %s --check-prefix=FULL
// RUN: flashc --backward --head-dim=64 --mask=causal --arch=sm_90a --emit=tile | FileCheck %s --check-prefix=CAUSAL
// RUN: flashc --backward --head-dim=64 --mask=causal --arch=sm_80 --emit=tile | FileCheck %s --check-prefix=CAUSAL
// RUN: flashc --backward --head-dim=64 --mask='!causal' --arch=sm_90a --emit=tile | FileCheck %s --check-prefix=ANTI
// RUN: flashc --backward --head-dim=64 --mask='window(100,100)' --arch=sm_90a --emit=tile | FileCheck %s --check-prefix=FULL
//
// The order in which blocks of keys start: where a mask makes some of them longer, these come first, of several heads before the next
// ones of any, so that the last head's long ones are not alone at the end.

// FULL-LABEL:   tile.kernel @attention_backward(
// FULL:           tile.program{{$}}
// CAUSAL-LABEL: tile.kernel @attention_backward(
// CAUSAL:         tile.program abreast(512)
// ANTI-LABEL:   tile.kernel @attention_backward(
// ANTI:           tile.program longest_first abreast(512)
