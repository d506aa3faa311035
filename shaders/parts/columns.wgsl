// What the kernels for CPU adapters share that multiply a matrix stored column after column: barriers and subgroups are
// slow there, so an invocation does 4 neighbouring rows, a quad, alone. STRIDE: the matrix' rows, a multiple of 4.
// Each format offers `column` (the values at a column), `product` (with the whole of x), and for sums over blocks of 32
// columns `number`, `scale_of` and `minimum_of`: a value is number * scale + minimum.

override COLUMNS: u32;
override STRIDE: u32;
