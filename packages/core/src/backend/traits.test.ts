import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../contract/errors';
import { backendTraits, setBackendTraits } from './traits';

describe('traits of backends', () => {
  it('are those of the current backend', () => {
    expect(backendTraits()).toBe(backendTraits(tf.getBackend()));
    expect(backendTraits().synchronousRead).toBe(true); // cpu, wasm, tensorflow
  });

  it('count a backend of which nothing is known as a device', () => {
    expect(backendTraits('unheard-of')).toMatchObject({ synchronousRead: false, maxDispatch: 65_535 });
  });

  it('take what a package says, and keep the rest', () => {
    setBackendTraits('mine', { exactLog: true });
    setBackendTraits('mine', { synchronousRead: true });
    expect(backendTraits('mine')).toEqual({
      ...backendTraits('unheard-of'),
      exactLog: true,
      synchronousRead: true,
    });
  });

  it('refuse traits that there are not, and values of the wrong type', () => {
    expect(() => setBackendTraits('mine', { fast: true } as object)).toThrow(ConfigError);
    expect(() => setBackendTraits('mine', { maxDispatch: 'many' } as object)).toThrow(
      /maxDispatch must be a number/,
    );
  });
});
