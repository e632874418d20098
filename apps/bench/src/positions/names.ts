// Position methods that can be compared, by name: read by the command line before TensorFlow.js is loaded.

/** Those that a causal layer takes for tokens in a line. */
export const positionNames = [
  'rotary',
  'alibi',
  't5',
  'shaw',
  'bertRelative',
  'transformerXL',
  'deberta',
] as const;
export type PositionName = (typeof positionNames)[number];
