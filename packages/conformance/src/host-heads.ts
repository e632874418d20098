// The steps of a layer that oracles of variants share, in doubles.
import { tabulate } from './inputs';
import { entryAt, type HostTensor } from './oracle';

/** [B, S, in] times `NAME/kernel` [in, out], plus `NAME/bias` where there is one: [B, S, out]. */
export function projectHost(
  x: HostTensor,
  weights: { readonly [name: string]: HostTensor },
  name: string,
): HostTensor {
  const kernel = weights[`${name}/kernel`]!;
  const bias = weights[`${name}/bias`];
  const [B, S, inputs] = x.shape as [number, number, number];
  const outputs = kernel.shape[1]!;
  return tabulate([B, S, outputs], (b, s, o) => {
    let sum = bias?.data[o] ?? 0;
    for (let i = 0; i < inputs; i++) sum += x.data[(b * S + s) * inputs + i]! * kernel.data[i * outputs + o]!;
    return sum;
  });
}

/** [B, S, H * N] as [B, H, S, N]: head h owns channels h N to (h + 1) N. */
export function splitHostHeads(x: HostTensor, heads: number): HostTensor {
  const [B, S, width] = x.shape as [number, number, number];
  const N = width / heads;
  return tabulate([B, heads, S, N], (b, h, s, n) => x.data[(b * S + s) * width + h * N + n]!);
}

/** [B, H, S, N] as [B, S, H * N]. */
export function mergeHostHeads(x: HostTensor): HostTensor {
  const [B, H, S, N] = x.shape as [number, number, number, number];
  return tabulate([B, S, H * N], (b, s, c) => entryAt(x, [b, Math.floor(c / N), s, c % N]));
}
