/** Matrices of one product, and rows of one softmax, that WebGPU computes at once: more are refused, or come out wrong. */
export const dispatchLimit = 65_535;
