import { composed } from '@polyhead/core';
import { it } from 'vitest';
import { attentionCase } from './attention-case';
import { seededRandom } from './inputs';
import { checkGradients, checkResults } from './kernel-checks/values';
import { maskKinds } from './mask-kinds';
it('fuzz', () => {
  const r = seededRandom(Number(process.env.SEED ?? 1));
  const pick = <T>(xs: readonly T[]) => xs[Math.floor(r() * xs.length)]!;
  let bad = 0;
  for (let n = 0; n < 70; n++) {
    const Hkv = pick([1, 2, 3]), G = pick([1, 2, 3]);
    const row: any = {
      sizes: { B: pick([1, 2, 3]), Hq: Hkv * G, Hkv, Sq: pick([1, 2, 17, 40, 257, 300, 520]), Skv: pick([1, 3, 16, 64, 257, 300]), D: pick([1, 3, 8, 33, 64]), Dv: pick([1, 4, 7, 64]) },
      mask: pick(Object.keys(maskKinds)), bias: pick(['none', 'none', '[1, 1, 1, Skv]', '[B, 1, Sq, 1]', '[1, Hq, Sq, Skv]', '[B, Hq, 1, Skv]', '[B, 1, 1, Skv] hiding keys', '[B, Hq, Sq, Skv] hiding pairs and a row', '[1, Hq, 1, 1]']),
      softcap: pick([0, 0, 2]), sinkLogits: pick([false, true]), scale: pick([undefined, 0.1]), dropout: pick([0, 0, 0.3]), returns: pick([[], ['weights'], ['logSumExp'], ['weights', 'logSumExp']]), queryStart: pick([undefined, undefined, 0, 'ragged', -3, 5]),
    };
    if (row.sizes.B * row.sizes.Hq * row.sizes.Sq * row.sizes.Skv > 400000) { continue; }
    const c = attentionCase(row);
    for (const f of [checkResults, checkGradients]) try { f(composed, c); } catch (e) { bad++; console.log(c.name, f.name, String(e).slice(0, 300)); }
  }
  console.log('bad', bad);
}, 400000);
