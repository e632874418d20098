// Weights of a layer out of torch's `nn.Linear`s, whose weights are [out, in].
import { type GoldenTensor, golden } from './golden';
import { tabulate } from './inputs';
import { entryAt, type HostTensor } from './oracle';

/** The name of a linear map; the rows that belong to this projection where it holds several. */
export type Linear = string | { readonly name: string; readonly rows: readonly number[] };

/** `projection/kernel` [in, out], and `projection/bias` [out] where there is one, for each projection. */
export function fromLinears(
  tensors: { readonly [name: string]: GoldenTensor },
  linears: { readonly [projection: string]: Linear },
): { readonly [name: string]: HostTensor } {
  const entries = Object.entries(linears).flatMap(([projection, linear]) => {
    const name = typeof linear === 'string' ? linear : linear.name;
    const weight = golden(tensors, `${name}.weight`);
    const bias = tensors[`${name}.bias`];
    const [outputs, inputs] = weight.shape as [number, number];
    const rows = typeof linear === 'string' ? Array.from({ length: outputs }, (_, o) => o) : linear.rows;
    const kernel = tabulate([inputs, rows.length], (i, o) => entryAt(weight, [rows[o!]!, i!]));
    return [
      [`${projection}/kernel`, kernel] as const,
      ...(bias
        ? [[`${projection}/bias`, tabulate([rows.length], (o) => bias.data[rows[o!]!]!)] as const]
        : []),
    ];
  });
  return Object.fromEntries(entries);
}
