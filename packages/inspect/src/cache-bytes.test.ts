// Numbers of bytes from transformers' own cache, see the fixture.
import { golden, goldenCases } from '@polyhead/conformance';
import { describe, expect, it } from 'vitest';
import { type CacheStorage, cacheBytes } from './cache-bytes';
import file from './fixtures/cache-bytes.json';
import { cacheShape } from './layer-config';

interface CacheParams {
  readonly layers: number;
  readonly B: number;
  readonly S: number;
  readonly dtype: string;
  readonly hidden_size: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly head_dim?: number;
  readonly qk_nope_head_dim?: number;
  readonly qk_rope_head_dim?: number;
  readonly v_head_dim?: number;
  readonly kv_lora_rank?: number;
}

const cases = [...goldenCases<CacheParams>(file).values()];
const isLatent = ({ params }: (typeof cases)[number]) => params.kv_lora_rank !== undefined;

describe('cacheBytes', () => {
  it.each(cases.filter((one) => !isLatent(one)))('gives the bytes of $name', ({ params, outputs }) => {
    const config = {
      embedDim: params.hidden_size,
      numHeads: params.num_attention_heads,
      numKeyValueHeads: params.num_key_value_heads,
      headDim: params.head_dim!,
    };
    expect(cacheBytes(cacheShape(config, params.B), extentOf(params))).toBe(golden(outputs, 'bytes').data[0]);
  });

  it.each(cases.filter(isLatent))(
    'gives the bytes of $name, expanded and as latents',
    ({ params, outputs }) => {
      const { B: batch, num_attention_heads: heads, v_head_dim: valueSize } = params;
      const rotated = params.qk_rope_head_dim!;
      const expanded = { batch, heads, keySize: params.qk_nope_head_dim! + rotated, valueSize: valueSize! };
      const latent = { batch, heads: 1, keySize: params.kv_lora_rank! + rotated, valueSize: 0 };
      expect(cacheBytes(expanded, extentOf(params))).toBe(golden(outputs, 'bytes').data[0]);
      expect(cacheBytes(latent, extentOf(params))).toBe(golden(outputs, 'latent_bytes').data[0]);
    },
  );

  it('keeps exactly a quarter of the bytes for 8 of 32 heads, in every storage', () => {
    const config = { embedDim: 4096, numHeads: 32 };
    for (const storage of ['float32', 'float16', 'int8', 'int4'] as const) {
      const bytes = (numKeyValueHeads: number) =>
        cacheBytes(cacheShape({ ...config, numKeyValueHeads }, 4), { tokens: 1001, storage });
      expect(bytes(32)).toBe(4 * bytes(8));
    }
  });

  it('halves with each storage, and rounds half bytes up', () => {
    const shape = { batch: 1, heads: 3, keySize: 4, valueSize: 1 };
    const bytes = (storage: CacheStorage) => cacheBytes(shape, { tokens: 3, storage });
    expect([bytes('float32'), bytes('float16'), bytes('int8'), bytes('int4')]).toEqual([180, 90, 45, 23]);
    expect(cacheBytes(shape, { tokens: 0 })).toBe(0);
  });

  it.each([
    [undefined, /extent must be an object/],
    [{ tokens: 1, token: 2 }, /unknown +\[token\]/],
    [{ tokens: -1 }, /tokens must be a whole number of at least 0/],
    [{ tokens: 1, layers: 0.5 }, /layers must be/],
    [{ tokens: 1, storage: 'toString' }, /storage must be one of float32, float16, int8, int4/],
  ])('refuses %j', (extent, message) => {
    expect(() => cacheBytes(cacheShape({ embedDim: 4, numHeads: 2 }), extent as never)).toThrow(message);
  });

  it('refuses shapes and configs that are none', () => {
    expect(() => cacheBytes(undefined as never, { tokens: 1 })).toThrow(/shape must be an object/);
    expect(() => cacheShape(null as never)).toThrow(/cacheShape: config must be an object/);
  });
});

/** Only the size of bfloat16 matters here. */
function extentOf({ S, layers, dtype }: CacheParams) {
  return { tokens: S, layers, storage: dtype.replace('bfloat', 'float') as CacheStorage };
}
