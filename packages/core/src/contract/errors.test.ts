import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { AttentionError, ConfigError, isAttentionError, ShapeError, UnsupportedError } from './errors';

describe('errors', () => {
  it('name the function, the rule, and what came, one fact a line', () => {
    const error = new ShapeError('attend', 'query and key must have the same batch', {
      query: tf.zeros([2, 6, 5, 11]),
      Hq: 6,
      lengths: [1, 2],
    });
    expect(error.message).toBe(
      [
        'attend: query and key must have the same batch',
        '  query    [2, 6, 5, 11] float32',
        '  Hq       6',
        '  lengths  [1, 2]',
      ].join('\n'),
    );
    expect(error.name).toBe('ShapeError');
  });

  it('say that a tensor is disposed', () => {
    const gone = tf.zeros([1]);
    gone.dispose();
    expect(new ShapeError('f', 'x', { gone }).message).toContain('[1] float32 (disposed)');
  });

  it('carry all reasons of a refusal', () => {
    const error = new UnsupportedError('attend', 'no kernel', ['a: too wide', 'b: too deep']);
    expect(error.reasons).toEqual(['a: too wide', 'b: too deep']);
    expect(error.message).toContain('reason 2  b: too deep');
  });

  it('are known across copies of the library, and nothing else is', () => {
    const fromAnotherCopy = Object.assign(new Error(), { [Symbol.for('polyhead.AttentionError')]: true });
    for (const error of [new ConfigError('f', 'x'), new AttentionError('f', 'x'), fromAnotherCopy]) {
      expect(isAttentionError(error)).toBe(true);
    }
    for (const other of [new Error('x'), null, undefined, 'x', {}])
      expect(isAttentionError(other)).toBe(false);
  });
});
