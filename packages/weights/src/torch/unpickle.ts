// Python's pickle (https://docs.python.org/3/library/pickletools.html), as far as checkpoints of PyTorch need it: data, and three
// functions, all of which are written here. A pickle that asks for any other is refused, so that reading runs no code of a file.
import { UnsupportedError } from '@polyhead/core';
import { FileError } from '../errors';
import { rebuild, type TorchTensor } from './rebuild';

/** What a checkpoint is made of: dictionaries are `Map`s, lists and tuples arrays. */
export type TorchValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | TorchTensor
  | readonly TorchValue[]
  | ReadonlyMap<TorchValue, TorchValue>;

const where = 'readTorch';

/**
 * @param bytes the pickle
 * @param storage finds the storage that a pickle names by a tuple
 * @throws FileError for a broken pickle, UnsupportedError for one that asks for more than tensors
 */
export function unpickle(bytes: Uint8Array, storage: (id: unknown) => unknown): TorchValue {
  const machine = new Machine(bytes, storage);
  for (;;) if (machine.step()) return machine.pop() as TorchValue;
}

/** The stack machine that pickles are programs of. Each instruction takes a byte at least, and none jumps back. */
class Machine {
  private at = 0;
  private readonly stack: unknown[] = [];
  private readonly marks: number[] = [];
  private readonly memo = new Map<number, unknown>();
  private readonly view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly storage: (id: unknown) => unknown,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Does one instruction; true at the end of the program. */
  step(): boolean {
    const instruction = String.fromCharCode(this.uint8());
    const run = instructions[instruction];
    if (!run) {
      const code = instruction.charCodeAt(0).toString(16);
      const reasons = [`instruction 0x${code} at ${this.at - 1} is none of theirs`];
      throw new UnsupportedError(where, 'a pickle must hold tensors and plain data', reasons);
    }
    run(this);
    return instruction === '.';
  }

  pop(): unknown {
    if (this.stack.length <= (this.marks.at(-1) ?? 0)) throw this.fail('a value must be on the stack');
    return this.stack.pop();
  }

  push(value: unknown): void {
    this.stack.push(value);
  }

  /** The last `count` values. */
  popMany(count: number): unknown[] {
    return Array.from({ length: count }, () => this.pop()).reverse();
  }

  mark(): void {
    this.marks.push(this.stack.length);
  }

  popToMark(): unknown[] {
    const mark = this.marks.pop();
    if (mark === undefined) throw this.fail('a mark must be on the stack');
    return this.stack.splice(mark);
  }

  top<T>(type: new () => T): T {
    const top = this.stack.length > (this.marks.at(-1) ?? 0) ? this.stack.at(-1) : undefined;
    if (!(top instanceof type)) throw this.fail(`the stack must hold a ${type.name}`);
    return top;
  }

  setItems(items: readonly unknown[]): void {
    const map = this.top<Map<unknown, unknown>>(Map);
    if (items.length % 2 !== 0) throw this.fail('each key must have a value');
    for (let n = 0; n < items.length; n += 2) map.set(items[n], items[n + 1]);
  }

  append(items: readonly unknown[]): void {
    const list = this.top<unknown[]>(Array);
    for (const item of items) list.push(item);
  }

  remember(place: number): void {
    const value = this.pop();
    this.memo.set(place, value);
    this.push(value);
  }

  memoize(): void {
    this.remember(this.memo.size);
  }

  recall(place: number): void {
    if (!this.memo.has(place)) throw this.fail(`there is no value ${place}`);
    this.push(this.memo.get(place));
  }

  persistent(): void {
    this.push(this.storage(this.pop()));
  }

  /** @throws UnsupportedError for anything but what `rebuild` knows */
  global(module: string, name: string): void {
    this.push(rebuild(`${module}.${name}`));
  }

  reduce(): void {
    const [callable, values] = this.popMany(2);
    if (typeof callable !== 'function' || !Array.isArray(values))
      throw this.fail('a function and a tuple must be there');
    this.push(callable(values));
  }

  uint8(): number {
    return this.view.getUint8(this.advance(1));
  }

  uint16(): number {
    return this.view.getUint16(this.advance(2), true);
  }

  int32(): number {
    return this.view.getInt32(this.advance(4), true);
  }

  uint32(): number {
    return this.view.getUint32(this.advance(4), true);
  }

  float64(): number {
    return this.view.getFloat64(this.advance(8), false);
  }

  /** A whole number of so many bytes; `bigint` where it is beyond 2^53. */
  long(length: number): number | bigint {
    const from = this.advance(length);
    let value = 0n;
    for (let n = length - 1; n >= 0; n--) value = (value << 8n) | BigInt(this.bytes[from + n]!);
    const signed = BigInt.asIntN(8 * length, value);
    return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed;
  }

  text(length: number): string {
    const from = this.advance(length);
    return new TextDecoder().decode(this.bytes.subarray(from, from + length));
  }

  line(): string {
    const end = this.bytes.indexOf(10, this.at);
    const text = this.text((end < 0 ? this.bytes.length : end) - this.at);
    this.advance(1);
    return text;
  }

  /** Where the next `length` bytes begin. */
  advance(length: number): number {
    const from = this.at;
    if (from + length > this.bytes.length) throw this.fail('the pickle must not end before its program does');
    this.at += length;
    return from;
  }

  private fail(rule: string): FileError {
    return new FileError(where, `${rule}: the pickle is broken`, { position: this.at });
  }
}

/** By the characters that stand for them. */
const instructions: Readonly<Record<string, (machine: Machine) => unknown>> = {
  '\x80': (m) => m.advance(1), // protocol
  '\x95': (m) => m.advance(8), // frame
  '.': () => undefined,
  '(': (m) => m.mark(),
  '0': (m) => m.pop(),
  N: (m) => m.push(null),
  '\x88': (m) => m.push(true),
  '\x89': (m) => m.push(false),
  K: (m) => m.push(m.uint8()),
  M: (m) => m.push(m.uint16()),
  J: (m) => m.push(m.int32()),
  '\x8a': (m) => m.push(m.long(m.uint8())),
  G: (m) => m.push(m.float64()),
  X: (m) => m.push(m.text(m.uint32())),
  '\x8c': (m) => m.push(m.text(m.uint8())),
  U: (m) => m.push(m.text(m.uint8())),
  '}': (m) => m.push(new Map()),
  ']': (m) => m.push([]),
  ')': (m) => m.push([]),
  t: (m) => m.push(m.popToMark()),
  l: (m) => m.push(m.popToMark()),
  '\x85': (m) => m.push(m.popMany(1)),
  '\x86': (m) => m.push(m.popMany(2)),
  '\x87': (m) => m.push(m.popMany(3)),
  a: (m) => m.append([m.pop()]),
  e: (m) => m.append(m.popToMark()),
  s: (m) => m.setItems(m.popMany(2)),
  u: (m) => m.setItems(m.popToMark()),
  q: (m) => m.remember(m.uint8()),
  r: (m) => m.remember(m.uint32()),
  '\x94': (m) => m.memoize(),
  h: (m) => m.recall(m.uint8()),
  j: (m) => m.recall(m.uint32()),
  c: (m) => m.global(m.line(), m.line()),
  '\x93': (m) => {
    const [module, name] = m.popMany(2);
    m.global(`${module}`, `${name}`);
  },
  Q: (m) => m.persistent(),
  R: (m) => m.reduce(),
  b: (m) => m.pop(), // what an object says of itself beside its data
};
