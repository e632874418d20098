// What all caches of rows have in common.
import {
  type CacheShape,
  type ComingRows,
  ConfigError,
  type KeyValueCache,
  type KeyValuePart,
  type Mask,
  type NewRows,
  type ReservedRows,
  type RowMatrix,
  type Span,
  type StoredKeyValue,
} from '@polyhead/core';
import { hasWasmHeap } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { CacheLife } from './cache-life';
import { checkEntries, checkLengths, checkRows, checkShape } from './check-rows';
import {
  copyParts,
  inTidy,
  packRows,
  rowsOfHeads,
  selectTokens,
  type TokenRows,
  type TokenSpans,
  tensorsOf,
  valuesInKeys,
} from './row-storage';
import {
  appendTokens,
  entriesOf,
  noTokens,
  selectFrom,
  storedRows,
  type Tokens,
  tokensAt,
} from './stored-rows';
import { nextNumber } from './token-runs';

/** Rows of a cache where new tokens shall be. */
export interface FreeRows {
  /** All rows, once the new ones are written. */
  readonly parts: readonly KeyValuePart[];
  /** The new ones: what is written there shows only once they are kept. */
  readonly free: KeyValuePart;
}

/**
 * A cache of rows of keys and values. It knows what may be done when, and what is known of the tokens. A subclass says how
 * rows are kept, by overriding `checkSpace`, `checkCrop`, `append`, `freeRows`, `selectRows`, `arrange`, `retained`, `mask`,
 * `floatsOf` or `valueColumn`: what it leaves is as in a `GrowingCache`. Its `static readonly kind` is its name in errors and JSON.
 */
export abstract class RowCache implements KeyValueCache {
  /** Sizes of the rows, frozen. */
  readonly shape: CacheShape;
  /** The `kind` of the class, for errors. */
  protected readonly name: string;
  /** What is held: parts in token order, whose tensors outlive any tidy. */
  protected held: readonly KeyValuePart[] = [];
  private readonly life: CacheLife;
  private tokens: Tokens;

  /**
   * @param options what `toJSON` writes beside the shape
   * @throws ConfigError for sizes that cannot be
   */
  protected constructor(
    shape: CacheShape,
    private readonly options: object = {},
  ) {
    this.name = (new.target as unknown as { readonly kind?: string }).kind ?? 'RowCache';
    this.shape = Object.freeze(checkShape(this.name, shape));
    this.life = new CacheLife(this.name);
    this.tokens = noTokens(this.shape.batch);
  }

  /**
   * @param _counts new tokens of each batch entry: [B]
   * @throws ShapeError where there is no space for so many tokens more
   */
  protected checkSpace(_counts: readonly number[]): void {}

  /**
   * @param _lengths tokens of each batch entry that shall stay, of those held: [B]
   * @throws UnsupportedError where what goes on from there would lack tokens that it should see
   */
  protected checkCrop(_lengths: readonly number[]): void {}

  /**
   * The rows held, and the new ones behind them in each batch entry. What `held` shows must not change: the new rows may
   * never be kept. Tensors made here live as long as the tidy around the call, or are kept.
   *
   * @param rows the new ones, in the layer's own tensors
   */
  protected append(rows: TokenRows): readonly KeyValuePart[] {
    return packRows(this.shape, [...this.held, rows]);
  }

  /** All rows of `parts` as they are held once they are kept. Default: as they are. */
  protected settle?(parts: readonly KeyValuePart[]): readonly KeyValuePart[];

  /**
   * Where rows of floats can be written where they lie: the rows behind those held, and all of them. undefined where these
   * tokens have none. Default: never.
   *
   * @param counts new tokens of each batch entry, which `checkSpace` has let pass: [B]
   */
  protected freeRows?(counts: readonly number[]): FreeRows | undefined;

  /** The rows of those tokens of `parts` that are inside the spans. */
  protected selectRows(parts: readonly KeyValuePart[], spans: TokenSpans): readonly KeyValuePart[] {
    return packRows(this.shape, selectTokens(parts, spans));
  }

  /** The same rows where batch entries have changed places: several may show the same rows of `parts` before. */
  protected arrange(parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
    return packRows(this.shape, parts);
  }

  /** The rows held, for a cache that shares nothing with this one. */
  protected copyRows(): readonly KeyValuePart[] {
    return copyParts(this.held);
  }

  /** The numbers of rows that are kept as words, as floats. Default: all are floats. */
  protected floatsOf?(matrix: RowMatrix): RowMatrix;

  /** Spans of those of an entry's `length` tokens that stay once new ones are kept, sorted and disjoint. */
  protected retained(length: number): readonly Span[] {
    return [[0, length]];
  }

  /** One object for all calls, so that its plan is remembered. */
  protected get mask(): Mask | undefined {
    return undefined;
  }

  /** The column of a row of keys where its value begins. */
  protected get valueColumn(): number {
    return 0;
  }

  /** Tokens held, of each batch entry, frozen: [B]. */
  get lengths(): readonly number[] {
    return this.tokens.lengths;
  }

  /** Token order of the next token of each batch entry: [B]. */
  get nextOrder(): readonly number[] {
    return this.tokens.orders.map(nextNumber);
  }

  /** Position of the next token of each batch entry, where none is given: [B]. */
  get nextPosition(): readonly number[] {
    return this.tokens.positions.map(nextNumber);
  }

  /** Bytes held, as `tf.memory()` counts them. */
  get byteSize(): number {
    const bytes = [...tensorsOf(this.held)].map(({ size, dtype }) => size * tf.util.bytesPerElement(dtype));
    return bytes.reduce((sum, n) => sum + n, 0);
  }

  /** True from `seal` to `reset`. */
  get sealed(): boolean {
    return this.life.sealed;
  }

  /**
   * Nothing can be added or cropped any more, until `reset`.
   *
   * @throws ConfigError where the cache is empty
   */
  seal(): void {
    this.life.checkAlive('seal');
    if (this.isEmpty) throw new ConfigError(`${this.name}.seal`, 'there must be rows to seal');
    this.life.seal();
  }

  /**
   * New rows beside the old. Without `commit` nothing has happened; call it inside the tidy that staged them.
   *
   * @param rows key [B, Hkv, S, D] and value [B, Hkv, S, Dv]; of a right-padded chunk the first `lengths[b]` tokens
   *   count; positions are counted on from `nextPosition` unless they are given; the `layer` whose rows are committed
   *   first is the only one until `reset`
   * @returns what a kernel reads, until the cache changes or stages again
   * @throws ShapeError, ConfigError, UnsupportedError; then nothing has changed
   */
  stage(rows: NewRows): { readonly stored: StoredKeyValue; commit(): void } {
    const { shape } = this;
    const { key, value, newTokens, layer } = this.begin(rows);
    const heads = rowsOfHeads(key, value, newTokens.lengths);
    const newRows = shape.valueSize > 0 ? heads : valuesInKeys(`${this.name}.stage`, heads, this.valueColumn);
    this.life.change(); // rows staged earlier may be written over
    return this.staged(
      inTidy(() => this.append(newRows)),
      newTokens,
      layer,
    );
  }

  /**
   * As `stage`, but the caller writes the numbers before anything reads `stored`.
   *
   * @returns undefined where numbers cannot be written where they lie
   * @throws as `stage` does
   */
  reserve(rows: ComingRows): ReservedRows | undefined {
    if (!this.freeRows || this.shape.valueSize === 0 || !hasWasmHeap()) return undefined;
    const { newTokens, layer } = this.begin(rows, false);
    this.life.change();
    const reserved = this.freeRows(newTokens.lengths);
    return reserved && { ...this.staged(reserved.parts, newTokens, layer), rows: reserved.free };
  }

  /**
   * @returns what a kernel reads, until the cache changes or stages
   * @throws ConfigError, UnsupportedError
   */
  read(): StoredKeyValue {
    this.life.checkAlive('read');
    this.life.checkUntaped('read');
    return this.stored(this.held, this.tokens, this.life.whileUnchanged('read'));
  }

  /**
   * Forgets all but the first `lengths[b]` tokens of each batch entry.
   *
   * @throws ShapeError, ConfigError, UnsupportedError; then nothing has changed
   */
  crop(lengths: readonly number[]): void {
    this.life.checkOpen('crop');
    const kept = checkLengths(`${this.name}.crop`, lengths, this.lengths);
    this.checkCrop(kept);
    this.keep(
      this.held,
      this.tokens,
      kept.map((length) => [[0, length]]),
    );
  }

  /**
   * Each batch entry goes on with the tokens of another, as beams do: entry b with those of entry `entries[b]`. A sealed
   * cache stays sealed.
   *
   * @param entries numbers of batch entries, each any number of times: [B]
   * @throws ShapeError, ConfigError; then nothing has changed
   */
  select(entries: readonly number[]): void {
    this.life.checkAlive('select');
    const from = checkEntries(`${this.name}.select`, entries, this.shape.batch);
    this.life.change();
    if (from.every((entry, b) => entry === b)) return;
    const moved = this.held.map((part) => ({ ...part, runs: (b: number) => part.runs(from[b]!) }));
    this.hold(inTidy(() => this.arrange(moved)));
    this.tokens = entriesOf(this.tokens, from);
  }

  /**
   * Another cache with the same tokens: what is added to one is not in the other. It serves the same layer.
   *
   * @returns a cache of its own, to be disposed
   * @throws UnsupportedError where memory does not suffice; then nothing has changed
   */
  fork(): this {
    this.life.checkAlive('fork');
    const fork = Object.assign(Object.create(Object.getPrototypeOf(this)) as this, this);
    Object.assign(fork, { life: this.life.fork(), held: [] });
    fork.hold(inTidy(() => this.copyRows()));
    return fork;
  }

  /** Forgets all tokens, that the cache was sealed, and whose it was. */
  reset(): void {
    this.life.checkAlive('reset');
    this.keep(
      this.held,
      this.tokens,
      this.lengths.map(() => []),
    );
    this.life.reset();
  }

  /** Frees all memory. A second time does nothing; any later use throws. */
  dispose(): void {
    if (this.life.disposed) return;
    this.hold([]);
    this.tokens = noTokens(this.shape.batch);
    this.life.dispose();
  }

  /** What makes such a cache again, without its rows. */
  toJSON(): { readonly kind: string; readonly [parameter: string]: unknown } {
    return { kind: this.name, shape: this.shape, options: this.options };
  }

  /** Keeps the tensors of these parts, and disposes those held before that are not among them. */
  protected hold(parts: readonly KeyValuePart[]): void {
    if (lieAlike(parts, this.held)) {
      this.held = parts;
      return;
    }
    const [before, after] = [tensorsOf(this.held), tensorsOf(parts)];
    for (const tensor of after) if (!before.has(tensor)) tf.keep(tensor);
    for (const tensor of before) if (!after.has(tensor)) tensor.dispose();
    this.held = parts;
  }

  private get isEmpty(): boolean {
    return this.lengths.every((length) => length === 0);
  }

  /** New rows, judged: nothing has changed yet. */
  private begin<Rows extends ComingRows>(rows: Rows, areTensors = true) {
    const { life } = this;
    life.checkOpen('stage');
    life.checkUntaped('stage');
    const added = this.checked(rows, areTensors);
    life.checkLayer('stage', added.layer);
    this.checkSpace(added.newTokens.lengths);
    return added;
  }

  private stored(parts: readonly KeyValuePart[], tokens: Tokens, check: () => void): StoredKeyValue {
    const floatsOf = this.floatsOf?.bind(this);
    return storedRows(this.shape, tokens, { parts, mask: this.mask, check, floatsOf });
  }

  private staged(parts: readonly KeyValuePart[], newTokens: Tokens, layer: NewRows['layer']) {
    const { life } = this;
    const tokens = appendTokens(this.tokens, newTokens);
    const isUnchanged = life.whileUnchanged('stage');
    const isInside = life.insideThisTidy();
    return {
      stored: this.stored(parts, tokens, isUnchanged),
      commit: () => {
        isUnchanged();
        isInside();
        this.keep(
          parts,
          tokens,
          tokens.lengths.map((length) => this.retained(length)),
        );
        life.bindTo(layer);
      },
    };
  }

  private checked<Rows extends ComingRows>(rows: Rows, areTensors: boolean) {
    const { shape, held } = this;
    const where = `${this.name}.stage`;
    const valueSize = shape.valueSize || (this.isEmpty ? undefined : held[0]!.value.size);
    const checked = checkRows(where, shape, { rows, valueSize, areTensors });
    const { key, value, counts, layer, positions = { start: this.nextPosition } } = checked;
    const newTokens = tokensAt(counts, { order: { start: this.nextOrder }, positions, S: key.shape[2] });
    return { layer, key, value, newTokens };
  }

  /** Holds those tokens of the parts that are inside the spans. */
  private keep(parts: readonly KeyValuePart[], tokens: Tokens, spans: TokenSpans): void {
    const isAll = tokens.lengths.every((length, b) => covers(spans[b]!, length));
    if (isAll && !this.settle) this.hold(parts);
    else this.hold(inTidy(() => (isAll ? this.settle!(parts) : this.selectRows(parts, spans))));
    if (this.held !== parts) {
      const held = tensorsOf(this.held);
      for (const tensor of tensorsOf(parts)) if (!held.has(tensor) && !tensor.isDisposed) tensor.dispose();
    }
    this.tokens = isAll ? tokens : selectFrom(tokens, spans);
    this.life.change();
  }
}

/** Whether spans hold all of so many tokens. */
function covers(spans: readonly Span[], length: number): boolean {
  let covered = 0;
  for (const span of spans) covered += span[1] - span[0];
  return covered === length;
}

/** Whether parts lie in the same tensors, as those of a cache do that is written in place. */
function lieAlike(some: readonly KeyValuePart[], others: readonly KeyValuePart[]): boolean {
  const isSame = ({ key, value }: KeyValuePart, other: KeyValuePart) =>
    key.data === other.key.data && value.data === other.value.data; // words have their scales with them
  return some.length === others.length && some.every((part, n) => isSame(part, others[n]!));
}
