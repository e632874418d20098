// A kernel without gradients, as one in WGSL or native code is at first: it passes the rest.
import { composed } from '@polyhead/core';
import { wrapKernel } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { beforeEach } from 'vitest';
import { describeKernel } from '../describe-kernel';

const noGradient = 'it has no backward pass';
const noRows = 'it reads tensors only';

beforeEach(({ skip }) =>
  skip(tf.getBackend() !== 'cpu', 'an example: the suite asks the same on every backend'),
);

describeKernel('forward only', {
  create: () =>
    wrapKernel(composed(), {
      name: 'forward only',
      unsupported: ({ isTaped, inputs }) => [
        ...(isTaped ? [noGradient] : []),
        ...(inputs.stored ? [noRows] : []),
      ],
    }),
  refuses: { gradients: noGradient, stored: noRows },
});
