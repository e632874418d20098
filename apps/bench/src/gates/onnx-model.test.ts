import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { type AttentionWork, inputsOf } from './attention-work';
import { onnxOps } from './onnx-attention';
import { onnxModel } from './onnx-model';

const prompt: AttentionWork = {
  heads: 4,
  keyValueHeads: 4,
  queries: 700,
  keys: 700,
  headDim: 8,
  causal: true,
};
const step: AttentionWork = {
  heads: 4,
  keyValueHeads: 2,
  queries: 1,
  keys: 4096,
  headDim: 64,
  causal: false,
};

// The same bytes as protobufjs 7.6.6 makes of them with the messages of onnx.proto.
it.each([
  ['MultiHeadAttention', prompt, 265, 'aca1a16343230a0b'],
  ['GroupQueryAttention', prompt, 433, 'acd813a7db517d21'],
  ['Attention, folded', step, 234, '41889cc80dd58ccf'],
] as const)('writes a model of %s', (op, work, size, hash) => {
  const bytes = onnxModel(onnxOps[op](work, inputsOf(work))!.graph);
  expect(bytes).toHaveLength(size);
  expect(createHash('sha256').update(bytes).digest('hex').slice(0, 16)).toBe(hash);
});
