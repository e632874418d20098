// Numbers as people read them.

/** A whole number, with its thousands apart. */
export const count = (n: number) => n.toLocaleString('en');

/** Three digits, or all of a larger whole number. */
export function threeDigits(n: number): string {
  const digits = Math.max(0, 3 - Math.floor(Math.abs(n)).toString().length);
  return n.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** How many times: `1.63 ×`, and `4 ×` where it is whole. */
export const times = (ratio: number) => `${Number.isInteger(ratio) ? ratio : ratio.toFixed(2)} ×`;

/** What a number is at most, with one digit: `2e-6` of 1.4e-6. */
export function atMost(n: number): string {
  const near = Number(n.toExponential(0));
  const power = 10 ** Math.floor(Math.log10(n));
  return near >= n ? near.toExponential(0) : ((Math.floor(n / power) + 1) * power).toExponential(0);
}

export const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
