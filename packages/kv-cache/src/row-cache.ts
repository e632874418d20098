// What both caches have in common: what may be done when, and what is known of the tokens.
import {
  type CacheShape,
  ConfigError,
  type KeyValueCache,
  ShapeError,
  type StoredKeyValue,
  UnsupportedError,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { KeyValueRows, KeyValueSource } from './assemble-rows';
import { checkLengths, checkRows, checkShape, type GivenRows, givenRows } from './check-rows';
import { appendRuns, cropRuns, nextPosition, type PositionRuns, runsOf } from './position-runs';
import { equalRoom } from './row-layout';
import { storedRows, type Tokens } from './stored-rows';

export abstract class RowCache implements KeyValueCache {
  readonly shape: CacheShape;
  /** Kept; undefined where no row has a place. */
  protected rows: KeyValueRows | undefined;
  private tokens: Tokens;
  private isSealed = false;
  private isDisposed = false;
  private changes = 0;

  /** @param name the cache's, for errors */
  protected constructor(
    protected readonly name: string,
    shape: CacheShape,
  ) {
    this.shape = Object.freeze(checkShape(name, shape));
    this.tokens = noTokens(this.shape.batch);
  }

  /** @throws ShapeError where there is no room for so many tokens more */
  protected abstract checkRoom(counts: readonly number[]): void;

  /** The rows of the cache, the new ones behind them; what the cache shows does not change. Called inside a tidy. */
  protected abstract extended(newRows: KeyValueSource): KeyValueRows | undefined;

  /** The rows of the first `lengths[b]` tokens. Called inside a tidy. */
  protected abstract cropped(lengths: readonly number[]): KeyValueRows | undefined;

  get lengths(): readonly number[] {
    return this.tokens.lengths;
  }

  get nextOrder(): readonly number[] {
    return this.tokens.lengths;
  }

  get nextPosition(): readonly number[] {
    return this.tokens.positions.map(nextPosition);
  }

  get byteSize(): number {
    return this.rows ? (this.rows.key.size + this.rows.value.size) * 4 : 0;
  }

  get sealed(): boolean {
    return this.isSealed;
  }

  /**
   * Nothing can be added or cropped any more, until `reset`.
   *
   * @throws ConfigError where the cache is empty
   */
  seal(): void {
    this.checkAlive('seal');
    if (Math.max(...this.lengths) === 0)
      throw new ConfigError(`${this.name}.seal`, 'there must be rows to seal');
    this.changes++;
    this.isSealed = true;
  }

  /**
   * New rows beside the old. Without `commit` nothing has happened; it is called inside the same tidy.
   *
   * @param rows key [B, Hkv, S, D] and value [B, Hkv, S, Dv]; of a right-padded chunk the first `lengths[b]` tokens
   *   count; positions are counted on from `nextPosition` unless they are given
   * @returns what a kernel reads, until the cache changes or stages again
   * @throws ShapeError, ConfigError, UnsupportedError; then nothing has changed
   */
  stage(rows: GivenRows): { readonly stored: StoredKeyValue; commit(): void } {
    this.checkOpen('stage');
    this.checkUntaped('stage');
    const where = `${this.name}.stage`;
    const given = givenRows(where, rows);
    const counts = checkRows(where, this.shape, given);
    this.checkRoom(counts);
    this.changes++; // rows staged earlier may be written over
    const S = given.key.shape[2];
    const tokens = this.tokensWith(counts, (b) => this.newPositions(given, b, { count: counts[b]!, S }));
    const { key, value } = given;
    const extended = this.extended({ key, value, counts, layout: equalRoom(this.shape, S) });
    const check = this.whileUnchanged('stage');
    return {
      stored: storedRows(this.shape, tokens, { rows: extended, check }),
      commit: () => {
        check();
        this.hold(extended);
        this.tokens = tokens;
        this.changes++;
      },
    };
  }

  /**
   * @returns what a kernel reads, until the cache changes or stages
   * @throws ConfigError, UnsupportedError
   */
  read(): StoredKeyValue {
    this.checkAlive('read');
    this.checkUntaped('read');
    return storedRows(this.shape, this.tokens, { rows: this.rows, check: this.whileUnchanged('read') });
  }

  /**
   * Forgets all but the first `lengths[b]` tokens of each batch entry.
   *
   * @throws ShapeError, ConfigError; then nothing has changed
   */
  crop(lengths: readonly number[]): void {
    this.checkOpen('crop');
    checkLengths(`${this.name}.crop`, lengths, this.lengths);
    this.keepFirst(lengths);
  }

  /** Forgets all tokens, and that it was sealed. */
  reset(): void {
    this.checkAlive('reset');
    this.keepFirst(this.lengths.map(() => 0));
    this.isSealed = false;
  }

  /** Frees all memory. A second time does nothing; any later use throws. */
  dispose(): void {
    if (this.isDisposed) return;
    this.hold(undefined);
    this.tokens = noTokens(this.shape.batch);
    this.changes++;
    this.isDisposed = true;
  }

  /** Takes these rows for those of the cache, which are disposed unless they are the same. */
  protected hold(rows: KeyValueRows | undefined): void {
    if (rows === this.rows) return;
    if (rows?.key.isDisposed) {
      throw new ShapeError(this.name, 'rows must be committed inside the tidy that staged them', {
        key: rows.key,
      });
    }
    const { rows: before } = this;
    if (rows) for (const tensor of [rows.key, rows.value]) tf.keep(tensor);
    if (before) tf.dispose([before.key, before.value]);
    this.rows = rows;
  }

  private keepFirst(lengths: readonly number[]): void {
    this.hold(this.cropped(lengths));
    const positions = this.tokens.positions.map((runs, b) => cropRuns(runs, lengths[b]!));
    this.tokens = { lengths: [...lengths], positions };
    this.changes++;
  }

  private tokensWith(counts: readonly number[], positions: (b: number) => PositionRuns): Tokens {
    return {
      lengths: this.lengths.map((length, b) => length + counts[b]!),
      positions: this.tokens.positions.map((runs, b) => appendRuns(runs, positions(b))),
    };
  }

  private newPositions(
    { positions = { start: this.nextPosition } }: GivenRows,
    b: number,
    size: { readonly count: number; readonly S: number },
  ): PositionRuns {
    return runsOf(positions, b, size);
  }

  /** A check that throws once the cache has changed. */
  private whileUnchanged(method: string): () => void {
    const { changes } = this;
    return () => {
      if (changes === this.changes) return;
      throw new ConfigError(`${this.name}.${method}`, `the cache has changed since: ${method} again`);
    };
  }

  private checkAlive(method: string): void {
    if (this.isDisposed) throw new ConfigError(`${this.name}.${method}`, 'the cache must not be disposed');
  }

  private checkOpen(method: string): void {
    this.checkAlive(method);
    if (!this.isSealed) return;
    throw new ConfigError(`${this.name}.${method}`, 'the cache is sealed: `reset` opens it', {
      lengths: this.lengths,
    });
  }

  private checkUntaped(method: string): void {
    if (tf.engine().state.gradientDepth === 0) return;
    throw new UnsupportedError(`${this.name}.${method}`, 'a cache cannot stand in a gradient', [
      'its rows are copies, so gradients through them would be silently zero',
    ]);
  }
}

function noTokens(batch: number): Tokens {
  return { lengths: Array<number>(batch).fill(0), positions: Array<PositionRuns>(batch).fill([]) };
}
