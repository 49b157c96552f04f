// Reads a small table at indices that leave it on both sides, with many kinds of ops; only the output is returned.
func.func @table(%q: tensor<?x?x?x32xf32>, %k: tensor<?x?x?x32xf32>, %v: tensor<?x?x?x32xf32>, %t: tensor<?x3xf32>,
                 %on: tensor<5xi32>) -> tensor<?x?x?x32xf32> {
  %o, %lse = attn.forward %q, %k, %v captures(%t, %on : tensor<?x3xf32>, tensor<5xi32>) mask(#attn.window<left = 9, right = 4>) scale(0.25)
      : tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32> -> (tensor<?x?x?x32xf32>, tensor<?x?x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x3xf32>, %y: tensor<5xi32>):
    %c3 = arith.constant 3 : index
    %c7 = arith.constant 7 : i32
    %zero = arith.constant 0 : i32
    %two = arith.constant 2.0 : f32
    %d = arith.subi %i, %j : index
    %a = tensor.extract %x[%d, %j] : tensor<?x3xf32>
    %jj = arith.floordivsi %j, %c3 : index
    %f = tensor.extract %y[%jj] : tensor<5xi32>
    %g = arith.remsi %f, %c7 : i32
    %odd = arith.cmpi sgt, %g, %zero : i32
    %c = arith.divf %s, %two : f32
    %u = math.tanh %c : f32
    %w = math.fma %u, %two, %a : f32
    %m = arith.maximumf %w, %s : f32
    %r = arith.select %odd, %m, %w : f32
    attn.yield %r : f32
  }
  return %o : tensor<?x?x?x32xf32>
}
