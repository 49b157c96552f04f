// RUN: flashc-opt %s --convert-tile-to-cpu=vector-bits=96 --verify-diagnostics

// expected-error @+1 {{vector-bits is the width of a vector register, 128, 256 or 512, but it is 96; leave it out for 256}}
module {}
