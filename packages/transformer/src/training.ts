// Plain functions to train a model with: loss, gradients, optimizer, learning rate.
export { type AdamWOptions, adamW, decayMatrices, type Optimizer } from './training/adam-w';
export { crossEntropy, ignored, nextTokens } from './training/cross-entropy';
export { clipGradients, type Gradients, gradientsOf } from './training/gradients';
export { type WarmupCosine, warmupCosine } from './training/learning-rate';
