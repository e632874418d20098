// How a file of ours keeps the state of an optimizer.

/** Stands before the names of its tensors. */
export const optimizerPrefix = 'optimizer/';
/** The metadata that hold its kind; a file without them keeps none. */
export const optimizerKey = 'optimizer';
