/** Why no fused kernel returns weights, and what gives them. */
export const weightsRefused =
  'weights are an array of Sq x Skv, which this kernel never holds: take exactWeights() by attentionStatistics, or by ' +
  'withStatistics in a layer, or the kernel composed()';
