"builtin.module"() ({
  "func.func"() <{function_type = (tensor<1x1x1x16xf32>) -> tensor<1x1x1x16xf32>, sym_name = "g"}> ({
  ^bb0(%q: tensor<1x1x1x16xf32>):
    %o, %l = "attn.forward"(%q, %q, %q) <{layout = #attn.layout<bshd>, mask = #attn.window<left = 1, right = 2>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 5.000000e-01 : f64}> ({
    }) : (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) -> (tensor<1x1x1x16xf32>, tensor<1x1x1xf32>)
    "func.return"(%o) : (tensor<1x1x1x16xf32>) -> ()
  }) : () -> ()
}) : () -> ()
